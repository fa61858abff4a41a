#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_bf16.h"

#include "instances.h"

namespace warpfold::kernels::weight_only {
std::vector<Instance> q4_0_instances() { return instances<DType::kQ4_0>(); }
}  // namespace warpfold::kernels::weight_only
