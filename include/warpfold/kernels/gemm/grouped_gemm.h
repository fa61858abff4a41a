// Grouped matrix products on a Hopper GPU: each group of rows has a matrix B of its own (mixture of experts).
//
//   y = row_scale (rows) * column_scale_g (N) * alpha * A (rows of group g, K) B_g (N, K)^T + bias_g (N)
//   D (rows of group g) = activation (y),   g = 0 .. groups - 1
//
// The groups' rows are numbers in device memory, read when the product runs: nothing waits for the host, and a captured
// launch finds other sizes at each replay. A group may have no rows; K = 0 gives zeros; rows of D in no group are not
// written. Sums are in fp32 (int32 for I8), D is rounded once; results are the same in every run.
#pragma once

#include "warpfold/kernels/gemm/gemm.h"

namespace warpfold::kernels::gemm {

struct GroupedProblem {
  DType type = DType::kBF16;         // of A and B: BF16, F16, I8 or F8_E4M3 (each 128 of K summed in fp32)
  DType output_type = DType::kBF16;  // of D: BF16 or F16 as A; I32 or BF16 for I8; BF16 for F8_E4M3
  int64_t rows = 0, n = 0, k = 0, groups = 0;
  Operand a;          // (rows, K)
  Operand b;          // (groups, N, K); batch stride 0: one matrix for all; data: not used with b_pointers
  // The matrices one by one: (groups) pointers to (N, K) in device memory, read when the product runs, on multiples of
  // 16 bytes. Then, and where TMA cannot take A, B or D, threads copy (copied tiles).
  const void* const* b_pointers = nullptr;
  void* d = nullptr;  // (rows, N)
  int64_t d_stride = 0;
  float alpha = 1;
  // In device memory, null: ones and zeros. Not with results of I32.
  const float* row_scale = nullptr;     // (rows)
  const float* column_scale = nullptr;  // (groups, N), or (groups): one number for each matrix
  bool one_column_scale = false;
  const float* bias = nullptr;  // (groups, N)
  Activation activation = Activation::none;
  // In device memory, one of two. Rows outside [0, rows) are left out; groups must not overlap.
  const int32_t* starts = nullptr;  // (groups + 1): group g has the rows from starts[g] to starts[g + 1]
  const int32_t* counts = nullptr;  // (groups): group g has counts[g] rows from g * row_step on
  int64_t row_step = 0;
};

// Can this product run on a Hopper GPU? If not, the error names the argument and the rule that it breaks.
Status can_run(const GroupedProblem& problem);

// Launches the product on `stream` of the current device, by the given tile if any; m128_n128, m128_n192 and m64_n64 are
// compiled, the first and last with scales, bias and activation, promoted_m128_n128 of F8_E4M3; copied ones of all. Errors: those
// of can_run; another tile; no CUDA in this build; a device that is no Hopper GPU, or on which an argument does not lie; a
// failed launch.
Status run(const GroupedProblem& problem, void* stream, std::optional<TileId> tile = {});

}  // namespace warpfold::kernels::gemm
