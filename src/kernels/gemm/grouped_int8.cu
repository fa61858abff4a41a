#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_int8.h"

#include "grouped_instances.h"

namespace warpfold::kernels::gemm {
GroupedInstances grouped_int8_instances() { return grouped_instances<int8_t, int32_t>(); }
}  // namespace warpfold::kernels::gemm
