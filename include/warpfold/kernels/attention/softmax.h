// Online softmax of the two rows that a thread shares with the other three lanes of its quad.
//
//   m' = max (m, scores),  correction = 2^(c (m - m')),  p = 2^(c (score - m') + b)
//   sum' = sum * correction + sum of p
//
// with c = scale * log2 e, so that an element costs one multiply-add and one exponential. A thread keeps the sum of
// its own columns; the quad adds up at the end. Sums and outputs from before must be multiplied by `correction`.
//
// Eagerly, m stays: p = 2^(c (score - m) + b) needs no maximum of these scores first, and nothing is corrected. The
// quotient of outputs and sum is the same whatever m is. What m must still do is to keep numbers in range, so if in
// some row of the warp a thread's sum of its p exceeds L, or is no number, nothing of this counts and the rule above
// is applied instead:
//
//   - Each p is at most L = 2^10, which fp16 holds; L = 448 for e4m3, its largest number, and b = 5 leaves 2^3.8
//     to rise.
//   - A rise beyond fp32 gives a sum of inf; a row that saw no key, with m = -inf, inf or, where a score is -inf, NaN.
//   - The warp decides as one, since four lanes share a row and must have the same m.
//   - m is a score of the row, so sum >= 2^b, and it is no more than the row's maximum, so that small p are no smaller
//     than by the rule above: what rounds to a multiple of 2^-24 (fp16), 2^-9 (e4m3) is off by as little against the
//     sum as there.
//   - Exponents c score and c m are rounded as there; p is off by 2^-23 |c m| more at most, and by an exponential of
//     2^-22.
//   - sum <= 4 L (keys / keys of a tile), so outputs stay finite for |V| < 2^116 / (tiles); by the rule above for
//     2^128 / keys.
#pragma once

#include <cmath>

#include "warpfold/hopper/hopper.h"
#include "warpfold/kernels/attention/values.h"

namespace warpfold::kernels::attention {
inline namespace WF_TARGET {

// kBits: b, so that probabilities and their sums are 2^b times as large. kEager: is update_eagerly() used?
template <int kBits, bool kEager>
struct Softmax {
  float top[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0}, correction[2] = {};
  bool changed = false;

  // Must outputs from before be multiplied by `correction`? The same for a warp.
  WF_ATOM bool corrects() const { return !kEager || changed; }

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
    if constexpr (kEager) changed = hopper::warp_any(correction[0] != 1 || correction[1] != 1);
    WF_UNROLL
    for (int i = 0; i < kScores; ++i) {
      const int r = i / 2 % 2;
      s[i] = hopper::exp2_approx(s[i] * scale_log2 - shift[r]);
      sum[r] += s[i];
    }
  }

  // The same eagerly, into operand A. False for all lanes of a warp: update() must be called instead.
  template <class Element, int kFragments, int kScores>
  WF_ATOM bool update_eagerly(uint32_t (&p)[kFragments][4], const float (&s)[kScores], float scale_log2) {
    constexpr float limit = sizeof(Element) == 1 ? 448 : 1024;
    constexpr int some = kScores / kFragments;  // scores of a fragment
    const float shift[2] = {kBits - top[0] * scale_log2, kBits - top[1] * scale_log2};
    float more[2] = {0, 0};
    WF_UNROLL
    for (int f = 0; f < kFragments; ++f) {
      float e[some];
      WF_UNROLL
      for (int i = 0; i < some; ++i) {
        const int r = i / 2 % 2;
        e[i] = hopper::exp2_approx(hopper::multiply_add(s[f * some + i], scale_log2, shift[r]));
        more[r] += e[i];
      }
      to_fragment<Element>(p[f], e);
    }
    const bool fits = more[0] <= limit && more[1] <= limit;
    if (hopper::warp_any(!fits)) return false;
    sum[0] += more[0];
    sum[1] += more[1];
    changed = false;
    return true;
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
