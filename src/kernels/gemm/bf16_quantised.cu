#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_bf16.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// Results of 8 bits, the rows' largest values.
std::vector<Instance> WF_UNIT() {
  std::vector<Instance> all = instances<hopper::bf16, hopper::bf16, hopper::bf16, Fusion::quantised>();
  for (const Instance& i : instances<hopper::bf16, hopper::bf16, int8_t, Fusion::quantised>()) all.push_back(i);
  return all;
}
}  // namespace warpfold::kernels::gemm
