#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_bf16.h"

#include "instances.h"

namespace warpfold::kernels::attention {
std::vector<Instance> bf16_64_instances() { return instances<hopper::bf16, 64>(); }
}  // namespace warpfold::kernels::attention
