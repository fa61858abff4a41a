#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_fp8.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// Scales by row, column or tensor; activations and the rows' largest values.
std::vector<Instance> WF_UNIT() {
  std::vector<Instance> all = instances<hopper::e4m3, hopper::e4m3, hopper::bf16, Fusion::linear>();
  for (const Instance& i : instances<hopper::e4m3, hopper::e4m3, hopper::bf16, Fusion::quantised>()) all.push_back(i);
  return all;
}
}  // namespace warpfold::kernels::gemm
