#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_fp8.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// Scales by row, column or tensor.
template <>
std::vector<Instance> fp8_instances<WF_HALF>() {
  return instances<hopper::e4m3, hopper::e4m3, hopper::bf16, Fusion::linear>();
}
}  // namespace warpfold::kernels::gemm
