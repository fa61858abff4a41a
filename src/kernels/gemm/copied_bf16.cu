#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_bf16.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// Operands on any address, with any strides and majors.
std::vector<Instance> WF_UNIT() {
  using hopper::bf16;
  return {copied_instance<TileCopied, bf16, bf16, bf16, Fusion::full>(),      copied_instance<TileCopied, bf16, bf16, bf16, Fusion::gated>(),
          copied_instance<TileCopied, bf16, bf16, float, Fusion::none>(),     copied_instance<TileCopied, bf16, bf16, bf16, Fusion::quantised>(),
          copied_instance<TileCopied, bf16, bf16, int8_t, Fusion::quantised>()};
}
}  // namespace warpfold::kernels::gemm
