// Grouped matrix products on a Hopper GPU: each group of rows has a matrix B of its own (mixture of experts).
//
//   D (rows of group g) = alpha * A (rows of group g, K) B_g (N, K)^T,   g = 0 .. groups - 1
//
// The groups' rows are numbers in device memory, read when the product runs: nothing waits for the host, and a captured
// launch finds other sizes at each replay. A group may have no rows; K = 0 gives zeros; rows of D in no group are not
// written. Sums are in fp32 (int32 for I8), D is rounded once; results are the same in every run.
#pragma once

#include "warpfold/kernels/gemm/gemm.h"

namespace warpfold::kernels::gemm {

struct GroupedProblem {
  DType type = DType::kBF16;         // of A and B: BF16, F16 or I8
  DType output_type = DType::kBF16;  // of D: BF16 or F16 as A, I32 for I8
  int64_t rows = 0, n = 0, k = 0, groups = 0;
  Operand a;          // (rows, K)
  Operand b;          // (groups, N, K); batch stride 0: one matrix for all
  void* d = nullptr;  // (rows, N)
  int64_t d_stride = 0;
  float alpha = 1;
  // In device memory, one of two. Rows outside [0, rows) are left out; groups must not overlap.
  const int32_t* starts = nullptr;  // (groups + 1): group g has the rows from starts[g] to starts[g + 1]
  const int32_t* counts = nullptr;  // (groups): group g has counts[g] rows from g * row_step on
  int64_t row_step = 0;
};

// Can this product run on a Hopper GPU? If not, the error names the argument and the rule that it breaks.
Status can_run(const GroupedProblem& problem);

// Launches the product on `stream` of the current device, by the given tile if any; m128_n128, m128_n192 and m64_n64 are
// compiled. Errors: those of can_run; another tile; no CUDA in this build; a device that is no Hopper GPU; a failed launch.
Status run(const GroupedProblem& problem, void* stream, std::optional<TileId> tile = {});

}  // namespace warpfold::kernels::gemm
