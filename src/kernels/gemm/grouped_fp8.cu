#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_fp8.h"

#include "grouped_instances.h"

namespace warpfold::kernels::gemm {
GroupedInstances grouped_fp8_instances() {
  return grouped_instances<hopper::e4m3, hopper::bf16, Fusion::full, TilePromoted128, TileCopiedPromoted>();
}
}  // namespace warpfold::kernels::gemm
