// What choosing a token needs of a row of logits x (n): softmax's normaliser, and where the large ones are.
//
//   largest = max_i x_i,   log_total = log sum_i exp(x_i - largest),   log p_i = x_i - largest - log_total
//   maxima[b] = the largest of block b of kLogitBlock logits: who looks for the k largest skips most blocks
//
// The exponentials are fp32. With u = 2^-24 and z_i = largest - x_i: rounding z_i moves a term by the share
// z_i u, the exponential by 2 u, adding up a block, of at most 7 levels, by 7 u; blocks are added in fp64.
// The mean of z_i under softmax is its entropy less log_total, at most ln n. So
//   |error of log_total| <= (9 + ln n) u,   1.2e-6 for 32000 logits.
#pragma once

#include <cstdint>

namespace warpfold::ops {

inline constexpr std::int64_t kLogitBlock = 64;

constexpr std::int64_t logit_blocks(std::int64_t n) { return (n + kLogitBlock - 1) / kLogitBlock; }

struct LogitSummary {
  float largest;     // -inf when all are
  double log_total;  // 0 when all are -inf
  bool valid;        // no NaN, no +inf; otherwise nothing else here, nor maxima, means anything
};

// maxima (logit_blocks(n)); n >= 1.
LogitSummary summarise_logits(const float* x, std::int64_t n, float* maxima);

}  // namespace warpfold::ops
