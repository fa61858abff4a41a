#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_f16.h"

#include "instances.h"

namespace warpfold::kernels::attention {
std::vector<Instance> f16_128_instances() { return instances<hopper::f16, 128>(); }
}  // namespace warpfold::kernels::attention
