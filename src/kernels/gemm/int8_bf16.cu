#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_int8.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
WF_GEMM_INSTANCES(, int8_t, hopper::bf16)
}  // namespace warpfold::kernels::gemm
