// How much memory an operand takes.
#pragma once

#include "warpfold/kernels/gemm/gemm.h"

namespace warpfold::kernels::gemm {

// Elements from the first of a matrix (batches, rows, width) to behind its last one. The strides of a single row or
// batch have no meaning.
template <class Int = int64_t>
constexpr Int extent(const Operand& o, int64_t rows, int64_t width, int64_t batches) {
  const int64_t lines = o.column_major ? width : rows, length = o.column_major ? rows : width;
  return (lines > 1 ? (Int{lines} - 1) * o.stride : 0) + (batches > 1 ? (Int{batches} - 1) * o.batch_stride : 0) +
         length;
}

}  // namespace warpfold::kernels::gemm
