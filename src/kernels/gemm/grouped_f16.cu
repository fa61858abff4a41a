#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_f16.h"

#include "grouped_instances.h"

namespace warpfold::kernels::gemm {
GroupedInstances grouped_f16_instances() {
  using hopper::f16;
  return grouped_instances<f16, f16, Fusion::none, Tile128x128, Tile128x192, Tile64x64>() +
         grouped_instances<f16, f16, Fusion::full, Tile128x128, Tile64x64, TileCopied>();
}
}  // namespace warpfold::kernels::gemm
