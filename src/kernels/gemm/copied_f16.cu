#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_f16.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// Operands on any address, with any strides and majors.
std::vector<Instance> WF_UNIT() {
  using hopper::f16;
  return {copied_instance<TileCopied, f16, f16, f16, Fusion::full>(),      copied_instance<TileCopied, f16, f16, f16, Fusion::gated>(),
          copied_instance<TileCopied, f16, f16, float, Fusion::none>(),     copied_instance<TileCopied, f16, f16, f16, Fusion::quantised>(),
          copied_instance<TileCopied, f16, f16, int8_t, Fusion::quantised>()};
}
}  // namespace warpfold::kernels::gemm
