#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_int8.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// Scales and bias, and an activation.
std::vector<Instance> int8_bf16_instances() {
  std::vector<Instance> all = instances<int8_t, int8_t, hopper::bf16, Fusion::linear>();
  for (const Instance& i : instances<int8_t, int8_t, hopper::bf16, Fusion::full>()) all.push_back(i);
  return all;
}
}  // namespace warpfold::kernels::gemm
