// Sums over K of the rows of matrices of I8, which products with zero points need.
//
//   sums (b, i) = sum_k A (b, i, k)
#pragma once

#include <cstdint>

#include "warpfold/core/error.h"

namespace warpfold::kernels::gemm {

struct RowSums {
  const int8_t* matrix = nullptr;  // (batches, rows, K), in device memory, on any address
  int64_t rows = 0, k = 0, batches = 1;
  int64_t stride = 0, batch_stride = 0;  // elements from a row, a batch to the next
  int32_t* sums = nullptr;               // (batches, rows)
};

// One launch on `stream` of the current device. Errors: sizes or strides that are negative, null pointers, K above 2^24
// (its sums might not fit 32 bits); no CUDA in this build; a device that is no Hopper GPU, or on which an argument does not lie; a
// failed launch.
Status row_sums(const RowSums& problem, void* stream);

}  // namespace warpfold::kernels::gemm
