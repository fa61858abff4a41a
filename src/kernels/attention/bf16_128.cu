#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_bf16.h"

#include "instances.h"

namespace warpfold::kernels::attention {
std::vector<Instance> bf16_128_instances() { return instances<hopper::bf16, 128>(); }
}  // namespace warpfold::kernels::attention
