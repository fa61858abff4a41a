// What the sums of a product are scaled by, and where the result lies, as the kernels see it.
#pragma once

#include "warpfold/kernels/gemm/quantise.h"

namespace warpfold::kernels::gemm {

// A vector of floats, one for each row or column of the product; null: a constant. step 0: one for all.
struct Vector {
  const float* data;
  int step;
};

// beta = 0: C is never read. Rows and columns are the product's: those of D, or exchanged in a swapped tile.
struct Scaling {
  float alpha, beta;
  Vector row_scale, column_scale, row_bias, column_bias;
  Activation activation;
  // Gated: column j of up lies `up` columns behind that of the gate, and gates `gate_step` columns apart.
  int gate_step, up;
};

struct QuantisedScaling : Scaling {
  Quantisation integers;
};
template <class Config>
using ScalingOf = std::conditional_t<Config::quantised, QuantisedScaling, Scaling>;

// A matrix (batches, rows, K) that threads copy; steps in elements.
struct Source {
  const void* data;
  int64_t row_step, k_step, batch_stride;  // batch stride 0: the same matrix in all batches
  int copy_bytes;                          // of one asynchronous copy: 16, 8 or 4; 0: element by element
};

// D (batches, m, n) in global memory, rows `stride` elements apart. Its tensor map covers columns [0, tail).
template <class Element>
struct Output {
  Element* d;
  int64_t stride, batch_stride;
  int m, n;
  constexpr int tail() const { return n / (16 / int(sizeof(Element))) * (16 / int(sizeof(Element))); }
};

inline namespace WF_TARGET {

WF_ATOM float element_or(const Vector& v, int i, int size, float otherwise) {
  return v.data != nullptr && i < size ? hopper::load_global(v.data + int64_t{i} * v.step) : otherwise;
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
