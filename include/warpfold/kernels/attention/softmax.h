// Online softmax of the two rows that a thread shares with the other three lanes of its quad.
//
//   m' = max (m, scores),  correction = 2^(c (m - m')),  p = 2^(c (score - m')),  sum' = sum * correction + sum of p
//
// with c = scale * log2 e, so that an element costs one multiply-add and one exponential. A thread keeps the sum of its
// own columns; the quad adds up at the end. Sums and outputs from before must be multiplied by `correction`.
#pragma once

#include <cmath>

#include "warpfold/hopper/hopper.h"

namespace warpfold::kernels::attention {
inline namespace WF_TARGET {

// 2^x for x <= 0, in ordinary arithmetic: relative error below 7.6e-5 (2^-13.6), a third of what rounding to fp16 makes.
// x = n + f with n an integer and |f| <= 1/2; the polynomial is the one of degree 3 that is nearest to 2^f.
WF_ATOM float exp2_polynomial(float x) {
  constexpr float integers = 12582912;  // 1.5 * 2^23: adding it rounds to integers, which are then the low bits
  x = fmaxf(x, -126);
  const float shifted = x + integers;
  const float f = x - (shifted - integers);
  const float p = ((0.05517167f * f + 0.24261112f) * f + 0.69326099f) * f + 0.99992807f;
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, p) + (__builtin_bit_cast(uint32_t, shifted) << 23));
}

// kPolynomial: one of so many exponentials is a polynomial, which of -inf is not quite 0; 0: none.
// kBits: probabilities and their sums are 2^kBits times as large.
template <int kPolynomial, int kBits = 0>
struct Softmax {
  float top[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0}, correction[2] = {};

  // Turns scores, register i of which belongs to row i / 2 % 2, into probabilities. kMayBeEmpty: a row may have seen
  // nothing but -inf so far, and -inf - -inf is no number.
  template <bool kMayBeEmpty, int kScores>
  WF_ATOM void update(float (&s)[kScores], float scale_log2) {
    float high[2][2];  // two chains a row
    WF_UNROLL
    for (int r = 0; r < 2; ++r) {
      high[r][0] = s[2 * r];
      high[r][1] = s[2 * r + 1];
    }
    WF_UNROLL
    for (int i = 4; i < kScores; ++i) high[i / 2 % 2][i % 2] = fmaxf(high[i / 2 % 2][i % 2], s[i]);
    float shift[2];
    WF_UNROLL
    for (int r = 0; r < 2; ++r) {
      float row = fmaxf(high[r][0], high[r][1]);
      row = fmaxf(row, hopper::shuffle_xor(row, 1));
      row = fmaxf(row, hopper::shuffle_xor(row, 2));
      row = fmaxf(row, top[r]);
      shift[r] = (kMayBeEmpty && row == -INFINITY ? 0.0f : row) * scale_log2;
      correction[r] = hopper::exp2_approx(top[r] * scale_log2 - shift[r]);
      if constexpr (kBits != 0) shift[r] -= kBits;
      top[r] = row;
      sum[r] *= correction[r];
    }
    WF_UNROLL
    for (int i = 0; i < kScores; ++i) {
      const int r = i / 2 % 2;
      const float x = s[i] * scale_log2 - shift[r];
      if (!kMayBeEmpty && kPolynomial > 0 && i / 2 % (kPolynomial > 0 ? kPolynomial : 1) == kPolynomial - 1)
        s[i] = exp2_polynomial(x);
      else
        s[i] = hopper::exp2_approx(x);
      sum[r] += s[i];
    }
  }

  // Adds up the quad; then each lane has the row's sum.
  WF_ATOM void finish() {
    WF_UNROLL
    for (int r = 0; r < 2; ++r) {
      sum[r] += hopper::shuffle_xor(sum[r], 1);
      sum[r] += hopper::shuffle_xor(sum[r], 2);
    }
  }
  // Natural logarithm of the sum of exp (scale * score); -inf for a row without keys.
  WF_ATOM float lse(int r, float scale_log2) const {
    const float lse = top[r] * scale_log2 * 0.6931471805599453f + logf(sum[r]);
    return kBits != 0 ? lse - kBits * 0.6931471805599453f : lse;
  }
  // Counts one more score, sink_log2 / scale_log2, which has no value. Returns the factor by which outputs
  // shrink.
  WF_ATOM float add_sink(int r, float sink_log2, float scale_log2) {
    const float before = top[r] * scale_log2, now = fmaxf(before, sink_log2);
    if (now == -INFINITY) return 1;
    const float factor = hopper::exp2_approx(before - now);
    sum[r] = sum[r] * factor + hopper::exp2_approx(sink_log2 - now + kBits);
    top[r] = now / scale_log2;
    return factor;
  }
};

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::attention
