#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_fp8.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// Operands on any address, with any strides and majors.
std::vector<Instance> WF_UNIT() {
  using hopper::bf16;
  using hopper::e4m3;
  using hopper::e5m2;
  return {copied_instance<TileCopiedPromoted, e4m3, e4m3, bf16, Fusion::linear>(),
          copied_instance<TileCopiedPromoted, e4m3, e5m2, bf16, Fusion::linear>(),
          copied_instance<TileCopiedPromoted, e5m2, e4m3, bf16, Fusion::linear>(),
          copied_instance<TileCopiedPromoted, e5m2, e5m2, bf16, Fusion::linear>(),
          copied_instance<TileCopiedPromoted, e4m3, e4m3, bf16, Fusion::quantised>()};
}
}  // namespace warpfold::kernels::gemm
