// Attention on a Hopper GPU.
//
//   O (seqlen_q, v_head_dim) = softmax (S) V (seqlen_k, v_head_dim),
//   S = f (scale * Q (seqlen_q, head_dim) K (seqlen_k, head_dim)^T) - slope |p - j| + bias,  f (y) = softcap
//   tanh (y / softcap)
//
// for each query head of each sequence; query head h reads KV head h / (heads / kv_heads); query i stands at
// p = i + seqlen_k - seqlen_q of the keys j; softcap, slope, bias and a mask are optional. Scores,
// probabilities' sums and O are in fp32, O is rounded once; probabilities enter the second product in the
// type of V. A row that sees no key has O = 0 and LSE = -inf. What lies past a sequence's length is never
// used, NaN included. Nothing is allocated and nothing waits: one launch on the caller's stream, which may be
// captured in a graph. Results are the same in every run.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "warpfold/core/dtype.h"
#include "warpfold/core/error.h"

namespace warpfold::kernels::attention {

enum class TileId : uint8_t;

// Which keys j a query at p sees: all; j <= p; p - window_left <= j <= p + window_right.
enum class Mask : uint8_t { none, causal, window };

// Added to the scores, (batches, heads, seqlen_q, seqlen_k) in device memory; strides in elements, 0 repeats.
// BF16, F16 and F32 are added as they are, -inf hides a key; BOOL hides the keys where it is 0. Any strides
// are served, by loads of single elements, so a bias costs more than all else here.
struct Bias {
  const void* data = nullptr;
  DType type = DType::kF32;
  int64_t batch_stride = 0, head_stride = 0, row_stride = 0, key_stride = 0;
};

// A tensor (batches, rows, heads, head dim) in device memory, head dim contiguous; strides in elements. Packed
// sequences (cu_seqlens) lie one behind another as (all rows, heads, head dim), and the batch stride is not used.
struct Tensor {
  const void* data = nullptr;
  int64_t row_stride = 0, head_stride = 0, batch_stride = 0;
};

// How long the sequences are and where they start; in device memory, all optional.
//   none               batch b has all of seqlen rows
//   used (batches)     batch b has its first used[b] rows
//   starts (batches+1) packed: sequence b has rows [starts[b], starts[b+1]), of which the first used[b] count
struct Lengths {
  const int32_t* starts = nullptr;  // cu_seqlens
  const int32_t* used = nullptr;    // seqused
};
constexpr bool is_ragged(const Lengths& l) { return l.starts != nullptr || l.used != nullptr; }

// What the elements of an 8-bit tensor are to be multiplied with, (batches, KV heads) in device memory, above
// 0; strides 0 repeat. Null: 1.
struct Descale {
  const float* data = nullptr;
  int64_t batch_stride = 0, head_stride = 0;
};

struct Problem {
  DType type = DType::kBF16;         // of Q, K and V: BF16, F16, F8_E4M3
  DType output_type = DType::kBF16;  // of O: that of Q, of F8_E4M3 BF16; or F32
  int64_t batches = 1, heads = 1, kv_heads = 1;
  int64_t seqlen_q = 0, seqlen_k = 0;      // of all sequences, or the longest
  int64_t head_dim = 0,
          v_head_dim =
              0;  // multiples of 8 (8-bit: 16) up to 256; compiled: 64, 96, 128, 192, 256 and (192, 128)
  Tensor q, k, v;                          // (batches, seqlen, heads, head dim)
  Tensor o;                                // written
  float* lse = nullptr;                    // (batches, heads, seqlen_q), natural logarithm; null: not wanted
  int64_t lse_head_stride = 0, lse_batch_stride = 0;  // elements; packed: (heads, all rows)
  Lengths q_lengths, k_lengths;
  float scale = 1;  // of the scores; above 0
  Mask mask = Mask::none;
  int64_t window_left = -1, window_right = -1;  // of Mask::window: keys before and after p; below 0: all
  float softcap = 0;                            // 0: none
  const float* sink = nullptr;   // (heads): a score without a value, which O's denominator and LSE count
  const float* alibi = nullptr;  // (batches, heads): slopes
  int64_t alibi_batch_stride = 0;
  Bias bias;
  Descale q_descale, k_descale, v_descale;  // of F8_E4M3
  // As workspace_bytes() asks for, or none: then tiles are dealt in a fixed order. Its bytes must be 0 before the
  // first launch, and each launch leaves them so. One workspace serves one stream.
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;
};

// Can this problem run on a Hopper GPU? If not, the error names the argument and the rule that it breaks.
Status can_run(const Problem& problem);

// Bytes of workspace with which the problem runs fastest; a function of its sizes and types.
Result<int64_t> workspace_bytes(const Problem& problem);

// Launches the problem on `stream` (a cudaStream_t; null is the default stream) of the current device, with the tile
// that the table names for it or with the given one.
// Errors: those of can_run; a tile that is not compiled for such a problem; no CUDA in this build; a device that is no
// Hopper GPU, or on which an argument does not lie; a failed launch.
Status run(const Problem& problem, void* stream, std::optional<TileId> tile = {});

}  // namespace warpfold::kernels::attention
