#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_int8.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// Operands on any address, with any strides and majors.
std::vector<Instance> WF_UNIT() {
  return {copied_instance<TileCopied, int8_t, int8_t, int32_t, Fusion::quantised>(),
          copied_instance<TileCopied, int8_t, int8_t, int8_t, Fusion::quantised>(),
          copied_instance<TileCopied, int8_t, int8_t, float, Fusion::quantised>(),
          copied_instance<TileCopied, int8_t, int8_t, hopper::bf16, Fusion::quantised>(),
          copied_instance<TileCopied, int8_t, int8_t, hopper::f16, Fusion::quantised>()};
}
}  // namespace warpfold::kernels::gemm
