// The vectorised inner loops of the CPU back end: one table of functions a target, see simd_targets.h.
// All pointers are valid, all shapes checked by the callers in ops.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/simd_level.h"
#include "warpfold/core/dtype.h"

namespace warpfold::ops {

// Activations of T tokens, quantised symmetrically by groups of 32: x = scale * q, q in [-127, 127].
struct QuantisedRows {
  const std::int8_t* q;          // (T, K)
  const float* scale;            // (T, K / 32)
  const float* sum;              // (T, K / 32)     scale times the group's sum of q
  const std::int32_t* half_sum;  // (T, K / 32, 2)  sums of q over columns 0..15 and 16..31 of the group
};

// One panel of 16 weight rows times T tokens.
struct PanelProduct {
  const std::byte* panel;
  std::int64_t columns;   // K
  std::int64_t tokens;    // T
  float* y;               // (T, 16) with stride y_stride
  std::int64_t y_stride;
  int rows;               // rows of the panel that exist, 1..16
  bool accumulate;        // y += instead of y =
};

struct MatmulKernels {
  void (*quantised)(DType type, const PanelProduct& p, const QuantisedRows& x);
  void (*floating)(DType type, const PanelProduct& p, const float* x);  // x (T, K)
  // Quantises one row x (K); K a multiple of 32.
  void (*quantise_row)(const float* x, std::int64_t columns, std::int8_t* q, float* scale, float* sum,
                       std::int32_t* half_sum);
};

const MatmulKernels& matmul_kernels(Simd level = simd_level());

}  // namespace warpfold::ops
