// Matrix products on a Hopper GPU.
//
//   y = row_scale (M) * column_scale (N) * alpha * A (M, K) B (N, K)^T + row_bias (M) + bias (N)
//   D (M, N) = activation (y) + beta * C (M, N)
//
// and, with B (2N, K) made of a gate and an up projection (SwiGLU, GeGLU),
//
//   D (M, N) = activation (y of the gate) * (y of up) + beta * C (M, N)
//
// Operands of I8 may have zero points: A (i,k) - a_zero (i) and B (j,k) - b_zero (j) are multiplied, exactly,
//
//   sum_k (A - a_zero) (B - b_zero) = sum_k A B - a_zero b_sums - b_zero a_sums + K a_zero b_zero
//
// and results of I8 are D = saturate (round (y / output_scale) + output_zero), ties to even. row_amax (M) gets the largest
// |D (i,j)| of each row, before D is rounded or quantised: what the next product needs to choose its scales.
//
// for each of `batches` matrices in device memory. Sums are in fp32 (int32 for int8), D is rounded once. beta = 0: C
// is never read; alpha = 0 or K = 0: A and B are never read; M, N or batches = 0: nothing happens.
// D must not overlap A or B, nor C unless it is C, with its strides; can_run finds most overlaps, but not all between
// strided matrices of different strides.
// Nothing is allocated and nothing waits: a product is one launch on the caller's stream and may be captured in a
// graph. Results are the same in every run.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "warpfold/core/dtype.h"
#include "warpfold/core/error.h"

namespace warpfold::kernels::gemm {

enum class TileId : uint8_t;

// A matrix in device memory, on any multiple of an element. TMA, the fast way, takes rows (column-major: columns) and
// batches that start on multiples of 16 bytes, and of A and B that are column-major only 16-bit ones in products without
// fusion; threads copy and transpose all others, which takes longer (copy_reason).
struct Operand {
  const void* data = nullptr;
  int64_t stride = 0;        // elements from a row (column-major: column) to the next; at least its length
  int64_t batch_stride = 0;  // elements from a batch to the next; 0: all batches have the same matrix
  bool column_major = false;
};

enum class Activation : uint8_t { none, relu, silu, gelu_tanh, gelu_erf };

// How the rows of B (2N, K) of a gated product alternate.
enum class Gate : uint8_t {
  none,
  interleaved,  // row 2j is the gate of column j, row 2j + 1 its up
  concatenated  // row j is the gate of column j, row N + j its up
};

struct Problem {
  // A and B: BF16, F16, F32 (multiplied as TF32), F8_E4M3 and F8_E5M2 in any mix, I8.
  DType type = DType::kBF16;
  std::optional<DType> b_type;  // of B, where it is not that of A
  // C and D: BF16 and F16 as the operands, F32 and I8 for 16-bit operands; F32 for F32; BF16 for fp8; I32, I8, BF16, F16
  // and F32 for I8.
  DType output_type = DType::kBF16;
  int64_t m = 0, n = 0, k = 0, batches = 1;
  Operand a;          // (batches, M, K)
  Operand b;          // (batches, N, K); (batches, 2N, K) in a gated product
  Operand c;          // (batches, M, N), column-major like D; needed for beta != 0
  void* d = nullptr;  // (batches, M, N)
  int64_t d_stride = 0, d_batch_stride = 0;
  bool d_column_major = false;
  float alpha = 1, beta = 0;
  const float* row_scale = nullptr;     // (M), in device memory; null: ones
  const float* column_scale = nullptr;  // (N), or (2N) as the rows of B; null: ones
  bool one_row_scale = false;           // row_scale and column_scale are single numbers: scales of whole tensors
  bool one_column_scale = false;
  const float* bias = nullptr;      // (N), or (2N) as the rows of B; null: zeros
  const float* row_bias = nullptr;  // (M); null: zeros
  Activation activation = Activation::none;
  Gate gate = Gate::none;
  // I8, in device memory. Null zero points are zeros. b_zero needs a_sums, a_zero needs b_sums: see row_sums.h.
  const int32_t* a_zero = nullptr;  // (M)
  const int32_t* b_zero = nullptr;  // (N)
  bool one_a_zero = false, one_b_zero = false;  // a single number for all rows
  const int32_t* a_sums = nullptr;  // (batches, M): sums over K of the rows of A; (M) where its batch stride is 0
  const int32_t* b_sums = nullptr;  // (batches, N), or (N)
  // A result of I8: one number each, in device memory; null: 1 and 0. 1 / output_scale is rounded to fp32 and multiplied.
  const float* output_scale = nullptr;
  const int32_t* output_zero = nullptr;  // from -128 to 127
  // (batches, M), or null. Each row's element becomes the larger one of what it was and the row's |D|: set it to 0 first.
  float* row_amax = nullptr;
  // fp8: the tensor cores keep about 14 bits of a sum. By default each 128 of K are added up in fp32.
  bool fast_accumulation = false;
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

// Why threads have to copy matrices of a product that can_run accepts, instead of TMA: one sentence that names the matrix and
// the rule. Empty: TMA takes all of them.
std::string copy_reason(const Problem& problem);

// Chooses the tile, or takes the given one, for a GPU of `multiprocessors`, with at most `workspace_limit` bytes of
// workspace. Errors: those of can_run; a tile that is not compiled for such a product.
Result<Plan> plan(const Problem& problem, int multiprocessors, std::optional<TileId> tile = {},
                  int64_t workspace_limit = std::numeric_limits<int64_t>::max());

// Launches the product on `stream` (a cudaStream_t; null is the default stream) of the current device.
// Errors: those of can_run; a workspace that is too small; no CUDA in this build; a device that is no Hopper GPU, or on
// which an argument does not lie; a failed launch.
Status run(const Problem& problem, const Plan& plan, void* stream);
// The same with the plan for the current device and the problem's workspace, and the given tile if any.
Status run(const Problem& problem, void* stream, std::optional<TileId> tile = {});

}  // namespace warpfold::kernels::gemm
