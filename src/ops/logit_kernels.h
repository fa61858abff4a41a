// One target's passes over logits; the public functions in ops/logits.h call the best target's.
#pragma once

#include "ops/simd_level.h"
#include "warpfold/ops/logits.h"

namespace warpfold::ops {

struct LogitKernels {
  decltype(&ops::summarise_logits) summarise;
};

const LogitKernels& logit_kernels(Simd level = simd_level());

}  // namespace warpfold::ops
