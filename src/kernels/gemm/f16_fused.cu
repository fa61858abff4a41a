#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_f16.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// Scales, bias, activation; gated.
std::vector<Instance> WF_UNIT() {
  std::vector<Instance> all = instances<hopper::f16, hopper::f16, hopper::f16, Fusion::full>();
  for (const Instance& i : instances<hopper::f16, hopper::f16, hopper::f16, Fusion::gated>()) all.push_back(i);
  return all;
}
}  // namespace warpfold::kernels::gemm
