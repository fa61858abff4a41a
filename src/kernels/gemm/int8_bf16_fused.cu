#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_int8.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// Scales and bias, an activation, zero points.
std::vector<Instance> int8_bf16_fused_instances() {
  std::vector<Instance> all = instances<int8_t, int8_t, hopper::bf16, Fusion::full>();
  for (const Instance& i : instances<int8_t, int8_t, hopper::bf16, Fusion::quantised>()) all.push_back(i);
  return all;
}
}  // namespace warpfold::kernels::gemm
