// Softmax attention of queries over a KV cache, with grouped heads: causal and windowed, or over all keys
// (encoders, cross-attention).
//
//   O[t][h] = sum_j softmax_j(s(scale q[t][h] K[j][h / group]) + bias[h][j - i]) V[j][h / group],    i = start + t,
// where s, the scores, may have a softcap, ALiBi and a sink (core/attention_rule.h), over the keys j <= i, and
// j > i - window where window > 0; or over given keys. The scores never exist as a whole: keys are visited in tiles with a
// running maximum and sum (online softmax, Milakov and Gimelshein 2018; FlashAttention).
#pragma once

#include <cstdint>
#include <vector>

#include "warpfold/core/thread_pool.h"
#include "warpfold/ops/kv_cache.h"

namespace warpfold::ops {

// What is added to a head's scores by the distance of key and query: T5's relative positions, ALiBi's slopes.
// at(h)[j - i] is defined for |j - i| < reach, and readable a panel of keys farther, since kernels load whole panels.
class RelativeBias {
 public:
  RelativeBias(std::int64_t heads, std::int64_t reach)
      : reach_(reach),
        stride_(2 * (reach + kKeyPanel)),
        values_(static_cast<std::size_t>(heads * stride_)) {}

  std::int64_t reach() const { return reach_; }
  float* at(std::int64_t head) { return values_.data() + head * stride_ + reach_ + kKeyPanel; }
  const float* at(std::int64_t head) const { return values_.data() + head * stride_ + reach_ + kKeyPanel; }

 private:
  std::int64_t reach_, stride_;
  std::vector<float> values_;  // (heads, 2 (reach + 16))
};

struct AttentionProblem {
  const float* q;            // (T, H, D)
  float* o;                  // (T, H, D)
  std::int64_t tokens;       // T; their keys are already in the cache at start..start + T - 1
  std::int64_t heads;        // H, a multiple of the cache's KV heads
  std::int64_t start;        // position of the first token
  std::int64_t window;       // keys a query sees, itself included; 0 = all before it
  float scale;
  // When keys_end > 0 every query sees the keys [keys_begin, keys_end), and window does not count; j is then counted from
  // keys_begin, which is a multiple of 16 where there is a bias.
  std::int64_t keys_begin = 0, keys_end = 0;
  const RelativeBias* bias = nullptr;
  float softcap = 0;             // 0: none
  const float* sink = nullptr;   // (H)
  const float* alibi = nullptr;  // (H) slopes
};

// Scratch memory of attention, reused from call to call.
struct AttentionWorkspace {
  std::vector<float> q, o, m, l;
};

void attention(const AttentionProblem& p, const KvLayer& cache, AttentionWorkspace& workspace, ThreadPool& pool);

// The weights themselves, softmax of the scores, one by one: to look at, not to compute with. weights (T, H, keys), over the
// keys [0, start + T) or the given ones; 0 where a query does not see a key. Not for int8 caches.
void attention_weights(const AttentionProblem& p, const KvLayer& cache, std::vector<float>& weights);

}  // namespace warpfold::ops
