#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_f16.h"

#include "grouped_instances.h"

namespace warpfold::kernels::gemm {
GroupedInstances grouped_f16_instances() { return grouped_instances<hopper::f16, hopper::f16>(); }
}  // namespace warpfold::kernels::gemm
