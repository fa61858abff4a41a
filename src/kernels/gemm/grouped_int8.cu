#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_int8.h"

#include "grouped_instances.h"

namespace warpfold::kernels::gemm {
GroupedInstances grouped_int8_instances() {
  return grouped_instances<int8_t, int32_t, Fusion::none, Tile128x128, Tile128x192, Tile64x64, TileCopied>() +
         grouped_instances<int8_t, hopper::bf16, Fusion::full, Tile128x128, Tile64x64, TileCopied>();
}
}  // namespace warpfold::kernels::gemm
