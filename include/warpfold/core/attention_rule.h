// What attention means, one query and one key at a time, in float64: the keys that a query sees and their
// scores. Kernels for the CPU and the GPU compute the same their own ways and are tested against this.
//
// Query i of seqlen_q stands at p = i + seqlen_k - seqlen_q of the keys: the last query at the last key. It
// sees keys p - left <= j <= p + right; causal is right = 0. The score of a key is
//
//   f (scale * q k) - slope |p - j| + bias (i, j),   f (y) = softcap * tanh (y / softcap), or y without
//   softcap
//
// A sink is one more score, without a value: it adds exp (sink) to the denominator, and to LSE.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace warpfold {

struct AttentionRule {
  double scale = 1;
  std::int64_t left = -1, right = -1;  // below 0: no limit
  double softcap = 0;                  // 0: none
  double slope = 0;                    // ALiBi

  struct Keys {
    std::int64_t begin, end;  // empty where begin >= end
  };
  // The keys that a query at p sees of seqlen_k.
  constexpr Keys visible(std::int64_t p, std::int64_t seqlen_k) const {
    return {left < 0 ? 0 : std::max<std::int64_t>(0, p - left),
            right < 0 ? seqlen_k : std::clamp<std::int64_t>(p + right + 1, 0, seqlen_k)};
  }
  double score(double product, std::int64_t distance, double bias = 0) const {
    const double y = scale * product;
    return (softcap > 0 ? softcap * std::tanh(y / softcap) : y) -
           slope * std::fabs(static_cast<double>(distance)) + bias;
  }
};

}  // namespace warpfold
