#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_f16.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
WF_GEMM_INSTANCES(, hopper::f16, hopper::f16)
}  // namespace warpfold::kernels::gemm
