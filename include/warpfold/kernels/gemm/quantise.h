// Integers with zero points, and results of 8 bits.
//
//   sum_k (A (i,k) - row zero (i)) (B (j,k) - column zero (j))
//       = sum (i,j) - row zero (i) * (column sum (j) - K * column zero (j)) - column zero (j) * row sum (i)
//
// Every term is an integer, taken modulo 2^32: right wherever the result fits 32 bits, whatever the terms are. The sums
// over K of rows and columns are the caller's, since those of weights never change.
//
//   D (i,j) = saturate (round (y (i,j) / output scale) + output zero), ties to even; NaN gives the zero
#pragma once

#include "warpfold/hopper/hopper.h"
#include "warpfold/kernels/gemm/config.h"

namespace warpfold::kernels::gemm {

// Zero points and sums of the rows or of the columns of a product; null: zeros. step 0: one zero point for all.
struct Integers {
  const int32_t* zero;
  int step;
  const int32_t* sums;  // (batches, rows or columns)
  int batch_step;       // of the sums; 0: the same in all batches
};
// Rows and columns are the product's: those of D, or exchanged in a swapped tile.
struct Quantisation {
  Integers rows, columns;
  const float* output_scale;    // null: 1
  const int32_t* output_zero;   // null: 0
  float* row_amax;              // (batches, rows of D), or null
};

inline namespace WF_TARGET {

template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T x, y;
};

// Of row or column i. What is taken off the sum for each unit of the zero point: K of a column, 0 of a row.
WF_ATOM ZeroPoint zero_point(const Integers& v, int i, int size, int batch, int k) {
  if (i >= size) return {0, 0};
  const int32_t zero = v.zero != nullptr ? hopper::load_global(v.zero + int64_t{i} * v.step) : 0;
  const int32_t sum = v.sums != nullptr ? hopper::load_global(v.sums + int64_t{batch} * v.batch_step + i) : 0;
  return {zero, int32_t(uint32_t(sum) - uint32_t(k) * uint32_t(zero))};
}
WF_ATOM int32_t without_zero_points(int32_t sum, const ZeroPoint& row, const ZeroPoint& column) {
  return int32_t(uint32_t(sum) - uint32_t(row.zero) * uint32_t(column.sum) - uint32_t(column.zero) * uint32_t(row.sum));
}

// y / scale, rounded to an integer, and the zero point.
WF_ATOM int8_t quantise(float y, float inverse_scale, int32_t zero) {
  constexpr float far = 1024, whole = 12582912;  // 1.5 * 2^23: what is added to it becomes a whole number
  float x = y * inverse_scale;
  x = x > far ? far : x < -far ? -far : x == x ? x : 0;
  const int32_t q = int32_t((x + whole) - whole) + zero;
  return int8_t(q > 127 ? 127 : q < -128 ? -128 : q);
}

// Bits of |y|, which order like the numbers, with NaN above infinity.
WF_ATOM int32_t magnitude(float y) { return __builtin_bit_cast(int32_t, y) & 0x7FFFFFFF; }

// Raises the rows' largest |D| by a patch of 16 x 16, whose register 0 holds element (row, column) of D (m, n). A lane has
// elements of 2 rows, and 4 lanes have the others; in a swapped tile it has elements of 4 rows, and 8 lanes have the others.
template <class Config>
WF_ATOM void raise_row_amax(float* row_amax, const float (&y)[8], int row, int column, int m, int n) {
  constexpr int rows = Config::swapped ? 4 : 2, first_mask = Config::swapped ? 4 : 1, last_mask = Config::swapped ? 16 : 2;
  constexpr auto row_of = [](int i) { return Config::element_row(0, 0, 0, i); };
  constexpr auto column_of = [](int i) { return Config::element_column(0, 0, 0, i); };
  WF_UNROLL
  for (int h = 0; h < rows; ++h) {
    const int first = Config::swapped ? h / 2 * 4 + h % 2 : h * 2;  // register of the row
    int32_t most = 0;
    WF_UNROLL
    for (int i = 0; i < 8; ++i) {
      if (row_of(i) != row_of(first) || column + column_of(i) >= n) continue;
      const int32_t size = magnitude(y[i]);
      most = size > most ? size : most;
    }
    WF_UNROLL
    for (int mask = first_mask; mask <= last_mask; mask *= 2) {
      const int32_t other = hopper::shuffle_xor(most, mask);
      most = other > most ? other : most;
    }
    const bool mine = Config::swapped ? hopper::lane_id() < 4 : hopper::lane_id() % 4 == 0;
    if (mine && row + row_of(first) < m) hopper::atomic_max(reinterpret_cast<int*>(row_amax) + row + row_of(first), most);
  }
}
// The same of a patch of an epilogue's box, which lies at `at`, from column x on.
template <class Config, class Epilogue, class Value>
WF_ATOM void note_row_amax(const Epilogue& e, const Value (&y)[8], const typename Epilogue::Place& at, int x) {
  if constexpr (Config::quantised && !Config::exact)
    if (float* const row_amax = e.scaling.integers.row_amax; row_amax != nullptr)
      raise_row_amax<Config>(row_amax + int64_t{at.batch} * e.output.m, y, at.row + e.element_row(x, 0),
                             at.column + e.element_column(x, 0), e.output.m, e.output.n);
}

// Writes a patch of 8-bit results, two columns at a time; in a swapped tile they lie apart.
template <class Config, class Epilogue>
WF_ATOM void write_patch_of_bytes(const Epilogue& e, const float (&y)[8], typename Epilogue::Box box,
                                  const typename Epilogue::Place& at, int x, bool with_tail) {
  const Quantisation& q = e.scaling.integers;
  const float inverse_scale = q.output_scale != nullptr ? 1 / hopper::load_global(q.output_scale) : 1;
  const int32_t zero = q.output_zero != nullptr ? hopper::load_global(q.output_zero) : 0;
  int8_t d[8];
  WF_UNROLL
  for (int i = 0; i < 8; ++i) d[i] = quantise(y[i], inverse_scale, zero);
  WF_UNROLL
  for (int i = 0; i < 8; i += Config::swapped ? 1 : 2) {
    const uint32_t address = box.element(e.element_row(x, i), e.element_column(x, i));
    if constexpr (Config::swapped)
      hopper::store_shared(address, d[i]);
    else
      hopper::store_shared(address, Pair<int8_t>{d[i], d[i + 1]});
  }
  if (with_tail) e.store_tail(d, at, x);
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
