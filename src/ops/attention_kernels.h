// Attention of a few query rows over one KV head: the inner loop of ops/attention.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/simd_level.h"
#include "warpfold/ops/kv_cache.h"

namespace warpfold::ops {

inline constexpr int kMaxQueryRows = 32;

// For rows r: O[r] = sum_j p[r][j] V[j], with p = exp(S - max S) over the keys j in [first, last) that row r may
// see, S[r][j] = f(q[r] K[j]) + bias[r][j] - slope[r] |position[r] - j|, f(y) = softcap tanh(y / softcap), or y with
// softcap 0; l[r] = sum_j p[r][j], m[r] = max S. A row that sees no key gives O = 0, l = 0, m = -inf.
struct QueryTile {
  KvType type;
  const std::byte* k;      // (keys / 16, D, 16)
  const std::byte* v;      // (keys, Dp)
  const float* k_scale;    // (keys), int8 only
  const float* v_scale;    // (keys), int8 only
  std::int64_t head_dim;   // D
  std::int64_t v_stride;   // Dp: D rounded up to 16
  int rows;                // R <= kMaxQueryRows
  const float* q;          // (R, D), times the softmax scale
  const std::int64_t* begin;  // (R) first key a row may see
  const std::int64_t* end;    // (R) one past the last
  std::int64_t first, last;   // keys to visit
  const float* const* bias;   // (R) rows such that bias[r][j] is added to S[r][j]; null: nothing
  float* o;                // (R, Dp)
  float* m;                // (R)
  float* l;                // (R)
  float softcap = 0;       // 0: none
  const float* slope = nullptr;            // (R), or null
  const std::int64_t* position = nullptr;  // (R), where slopes are
};

struct AttentionKernels {
  void (*attend)(const QueryTile& tile);
  // Writes one token's key and value of one head (D each) into the cache at position `pos`.
  void (*append)(KvType type, const float* k, const float* v, std::int64_t head_dim, std::int64_t pos, std::byte* k_out,
                 std::byte* v_out, float* k_scale, float* v_scale);
};

const AttentionKernels& attention_kernels(Simd level = simd_level());

}  // namespace warpfold::ops
