#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_fp8.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// Types that differ, or are both E5M2. Scales by row, column or tensor.
std::vector<Instance> WF_UNIT() {
  std::vector<Instance> all = instances<hopper::e4m3, hopper::e5m2, hopper::bf16, Fusion::linear>();
  for (const Instance& i : instances<hopper::e5m2, hopper::e4m3, hopper::bf16, Fusion::linear>()) all.push_back(i);
  for (const Instance& i : instances<hopper::e5m2, hopper::e5m2, hopper::bf16, Fusion::linear>()) all.push_back(i);
  return all;
}
}  // namespace warpfold::kernels::gemm
