#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include "warpfold/hopper/device/wgmma_tf32.h"

#include "instances.h"

namespace warpfold::kernels::gemm {
// fp32 rounded to tf32 by TMA; D in fp32.
std::vector<Instance> WF_UNIT() {
  return instances<hopper::tf32, hopper::tf32, float>();
}
}  // namespace warpfold::kernels::gemm
