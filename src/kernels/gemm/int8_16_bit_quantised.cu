#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_int8.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// Zero points, the rows' largest values.
std::vector<Instance> WF_UNIT() {
  std::vector<Instance> all = instances<int8_t, int8_t, hopper::bf16, Fusion::quantised>();
  for (const Instance& i : instances<int8_t, int8_t, hopper::f16, Fusion::quantised>()) all.push_back(i);
  return all;
}
}  // namespace warpfold::kernels::gemm
