#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_f16.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// A or B column-major.
std::vector<Instance> WF_UNIT() {
  std::vector<Instance> all = instances<hopper::f16, hopper::f16, hopper::f16, Fusion::none, hopper::Major::k, hopper::Major::mn>();
  for (const Instance& i : instances<hopper::f16, hopper::f16, hopper::f16, Fusion::none, hopper::Major::mn, hopper::Major::k>()) all.push_back(i);
  for (const Instance& i : instances<hopper::f16, hopper::f16, hopper::f16, Fusion::none, hopper::Major::mn, hopper::Major::mn>()) all.push_back(i);
  return all;
}
}  // namespace warpfold::kernels::gemm
