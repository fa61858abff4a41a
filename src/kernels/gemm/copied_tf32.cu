#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_tf32.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// Operands on any address, with any strides and majors.
std::vector<Instance> WF_UNIT() {
  return {copied_instance<TileCopied, hopper::tf32, hopper::tf32, float, Fusion::none>()};
}
}  // namespace warpfold::kernels::gemm
