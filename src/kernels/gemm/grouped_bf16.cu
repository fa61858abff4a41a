#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_bf16.h"

#include "grouped_instances.h"

namespace warpfold::kernels::gemm {
GroupedInstances grouped_bf16_instances() { return grouped_instances<hopper::bf16, hopper::bf16>(); }
}  // namespace warpfold::kernels::gemm
