#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_bf16.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
WF_GEMM_INSTANCES(, hopper::bf16, hopper::bf16)
}  // namespace warpfold::kernels::gemm
