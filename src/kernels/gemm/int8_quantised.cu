#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_int8.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// Zero points, results of 8 bits, the rows' largest values; fp32 results.
std::vector<Instance> WF_UNIT() {
  std::vector<Instance> all = instances<int8_t, int8_t, int8_t, Fusion::quantised>();
  for (const Instance& i : instances<int8_t, int8_t, int32_t, Fusion::quantised>()) all.push_back(i);
  for (const Instance& i : instances<int8_t, int8_t, float, Fusion::quantised>()) all.push_back(i);
  return all;
}
}  // namespace warpfold::kernels::gemm
