// One target's row-wise operations; the public functions in ops/elementwise.h call the best target's.
#pragma once

#include "ops/simd_level.h"
#include "warpfold/ops/elementwise.h"

namespace warpfold::ops {

struct ElementwiseKernels {
  decltype(&ops::rms_norm) rms_norm;
  decltype(&ops::layer_norm) layer_norm;
  decltype(&ops::add) add;
  decltype(&ops::scale) scale;
  decltype(&ops::rotate) rotate;
  decltype(&ops::activate) activate;
  decltype(&ops::gated) gated;
};

const ElementwiseKernels& elementwise_kernels(Simd level = simd_level());

}  // namespace warpfold::ops
