// Matrix products on a Hopper GPU.
//
//   D (M, N) = alpha A (M, K) B (N, K)^T + beta C (M, N)
//
// A, B, C and D are row-major in device memory, of one type (bf16 or fp16); products are summed in fp32 and D
// is rounded once. beta = 0: C is never read; alpha = 0 or K = 0: A and B are never read; M or N = 0: nothing
// happens. C may be D. Nothing is allocated and nothing waits: a product is one launch on the caller's stream
// and may be captured in a graph.
#pragma once

#include <cstdint>
#include <optional>

#include "warpfold/core/dtype.h"
#include "warpfold/core/error.h"

namespace warpfold::kernels::gemm {

enum class TileId : uint8_t;

// A row-major matrix in device memory. Rows start on multiples of 16 bytes, since TMA takes no others.
struct Operand {
  const void* data = nullptr;
  int64_t stride = 0;  // elements from a row to the next; at least the row's length
};

struct Problem {
  DType type = DType::kBF16;         // of A and B: kBF16, kF16, kI8
  DType output_type = DType::kBF16;  // of C and D: the type of A and B; for kI8 kI32, kBF16, kF16
  int64_t m = 0, n = 0, k = 0;
  Operand a;          // (M, K)
  Operand b;          // (N, K)
  Operand c;          // (M, N); needed for beta != 0
  void* d = nullptr;  // (M, N)
  int64_t d_stride = 0;
  float alpha = 1, beta = 0;
  const float* row_scale = nullptr;     // (M), for int8 with a 16-bit result; null: ones
  const float* column_scale = nullptr;  // (N); null: ones; starts on 8 bytes
};

// What a product will do: a pure function of sizes and type, so a caller may keep it.
struct Plan {
  TileId tile{};
  int blocks = 0;               // of the launch; 0 where there is nothing to do
  int64_t workspace_bytes = 0;  // this kernel needs none
};

// Can this product run on a Hopper GPU? If not, the error names the argument and the rule that it breaks.
Status can_run(const Problem& problem);

// Chooses the tile, or takes the given one, for a GPU of `multiprocessors`. Errors: those of can_run.
Result<Plan> plan(const Problem& problem, int multiprocessors, std::optional<TileId> tile = {});

// Launches the product on `stream` (a cudaStream_t; null is the default stream) of the current device.
// Errors: those of can_run; no CUDA in this build; a device that is no Hopper GPU; a failed launch.
Status run(const Problem& problem, const Plan& plan, void* stream);
// The same with the plan for the current device, and the given tile if any.
Status run(const Problem& problem, void* stream, std::optional<TileId> tile = {});

}  // namespace warpfold::kernels::gemm
