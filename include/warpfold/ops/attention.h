// Softmax attention of queries over a KV cache, with grouped heads: causal and windowed, or over all keys
// (encoders, cross-attention).
//
//   O[t][h] = sum_j softmax_j(s(q[t][h] K[j][h / group])) V[j][h / group],
// where s, the scores, may have a softcap, ALiBi and a sink (core/attention_rule.h),
// over the keys j <= i, and j > i - window where window > 0, i = start + t; or over given keys. The scores
// never exist as a whole: keys are visited in tiles with a running maximum and sum (online softmax, Milakov
// and Gimelshein 2018; FlashAttention).
#pragma once

#include <cstdint>
#include <vector>

#include "warpfold/core/thread_pool.h"
#include "warpfold/ops/kv_cache.h"

namespace warpfold::ops {

struct AttentionProblem {
  const float* q;            // (T, H, D)
  float* o;                  // (T, H, D)
  std::int64_t tokens;       // T; their keys are already in the cache at start..start + T - 1
  std::int64_t heads;        // H, a multiple of the cache's KV heads
  std::int64_t start;        // position of the first token
  std::int64_t window;       // keys a query sees, itself included; 0 = all before it
  float scale;
  // When keys_end > 0 every query sees the keys [keys_begin, keys_end), and start and window do not count.
  std::int64_t keys_begin = 0, keys_end = 0;
  float softcap = 0;             // 0: none
  const float* sink = nullptr;   // (H)
  const float* alibi = nullptr;  // (H) slopes
};

// Scratch memory of attention, reused from call to call.
struct AttentionWorkspace {
  std::vector<float> q, o, m, l;
};

void attention(const AttentionProblem& p, const KvLayer& cache, AttentionWorkspace& workspace, ThreadPool& pool);

}  // namespace warpfold::ops
