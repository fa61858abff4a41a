#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_bf16.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// D of the operands' type, or fp32.
std::vector<Instance> WF_UNIT() {
  std::vector<Instance> all = instances<hopper::bf16, hopper::bf16, hopper::bf16>();
  for (const Instance& i : instances<hopper::bf16, hopper::bf16, float>()) all.push_back(i);
  return all;
}
}  // namespace warpfold::kernels::gemm
