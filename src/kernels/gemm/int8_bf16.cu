#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_int8.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// Scales and bias.
std::vector<Instance> WF_UNIT() {
  return instances<int8_t, int8_t, hopper::bf16, Fusion::linear>();
}
}  // namespace warpfold::kernels::gemm
