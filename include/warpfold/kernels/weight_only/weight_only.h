// Products with quantised weights on a Hopper GPU.
//
//   y = row_scale (M) * column_scale (N) * alpha * A (M, K) W (N, K)^T + bias (N)
//   D (M, N) = activation (y) + beta * C (M, N)
//
// W has 8- or 4-bit codes with a scale for each 32 of K, packed by pack() (packed.h); A is bf16, sums are fp32, D is
// rounded once. With up to 32 rows in a tile the codes enter the tensor cores as exact integers and the sum over each 32
// of K is scaled in fp32, so no weight is rounded; with more, each weight is the exact product of scale and code (plus
// minimum) rounded once to bf16. beta = 0: C is never read; alpha = 0 or K = 0: A and W are never read; M or N = 0:
// nothing happens. C may be D. Nothing is allocated and nothing waits: a product is one launch on the caller's stream and
// may be captured in a graph. Results are the same in every run.
//
// The packed weights must not be written by the kernel launched just before on the same stream: the product reads them
// while that kernel may still run (A, C, D, biases and scales wait for it).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "warpfold/core/dtype.h"
#include "warpfold/core/error.h"
#include "warpfold/kernels/gemm/gemm.h"

namespace warpfold::kernels::weight_only {

using gemm::Activation;
using gemm::Operand;

enum class TileId : uint8_t;

struct Problem {
  DType weight_type = DType::kQ4_0;   // Q8_0, Q4_0 or Q4_1
  DType type = DType::kBF16;          // of A: BF16
  DType output_type = DType::kBF16;   // of C and D: BF16 or F32
  int64_t m = 0, n = 0, k = 0;
  Operand a;                      // (M, K), rows on multiples of 16 bytes
  const void* weights = nullptr;  // packed, packed_bytes(weight_type, n, k) of them, on a multiple of 16 bytes
  Operand c;                      // (M, N); needed for beta != 0
  void* d = nullptr;              // (M, N)
  int64_t d_stride = 0;
  float alpha = 1, beta = 0;
  const float* row_scale = nullptr;     // (M), in device memory; null: ones
  const float* column_scale = nullptr;  // (N); null: ones
  const float* bias = nullptr;          // (N); null: zeros
  Activation activation = Activation::none;
  // As plan() asks for; its first bytes must be 0 before the first launch, and each launch leaves them so. One
  // workspace serves one stream.
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;
};

// What a product will do: a pure function of sizes, types and the workspace allowed, so a caller may keep it.
struct Plan {
  TileId tile{};
  int blocks = 0;               // of the launch; 0 where there is nothing to do
  int64_t workspace_bytes = 0;  // to be given with the problem
  double microseconds = 0;      // what the cost model expects
};

// Can this product run on a Hopper GPU? If not, the error names the argument and the rule that it breaks.
Status can_run(const Problem& problem);

// Chooses the tile, or takes the given one, for a GPU of `multiprocessors`, with at most `workspace_limit` bytes of
// workspace. Errors: those of can_run; a tile that is not compiled for such a product.
Result<Plan> plan(const Problem& problem, int multiprocessors, std::optional<TileId> tile = {},
                  int64_t workspace_limit = std::numeric_limits<int64_t>::max());

// Launches the product on `stream` (a cudaStream_t; null is the default stream) of the current device.
// Errors: those of can_run; a workspace that is too small; no CUDA in this build; a device that is no Hopper GPU, or on which an argument does not lie; a
// failed launch.
Status run(const Problem& problem, const Plan& plan, void* stream);
// The same with the plan for the current device and the problem's workspace, and the given tile if any.
Status run(const Problem& problem, void* stream, std::optional<TileId> tile = {});

}  // namespace warpfold::kernels::weight_only
