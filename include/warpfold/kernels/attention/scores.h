// Scores as exponents of 2, where more than a factor lies between a product and its exponent:
//
//   x = log2 e * (f (scale * s) - slope |p - j| + bias (i, j)),   f (y) = softcap * tanh (y / softcap), or y
//
// with p = i + seqlen_k - seqlen_q. tanh z = 1 - 2 / (1 + e^2z) by the chip's approximate exponential and
// quotient is within 2^-20 of tanh, so a score is off by 2^-20 softcap: the chip's tanh, 2^-11, would be seen
// in P.
//
// Bias and boolean masks may have any strides, so each thread reads what it needs from global memory, an
// element at a time. That is the slow path: it reads 64 keys of a row for every head that has a bias of its
// own.
#pragma once

#include "warpfold/kernels/attention/attention.h"
#include "warpfold/kernels/attention/view.h"

namespace warpfold::kernels::attention {

enum class BiasType : uint8_t { none, f32, bf16, f16, visible };  // visible: bytes, 0 hides the key

struct ScoreRules {
  float scale_log2;           // scale * log2 e
  float cap_log2, cap_scale;  // softcap * log2 e, 2 scale / softcap * log2 e; 0: no softcap
  const float* slopes;        // (batches, heads), or null
  int64_t slopes_batch_stride;
  const void* bias;  // (batches, heads, rows, keys)
  BiasType bias_type;
  int64_t bias_batch_stride, bias_head_stride, bias_row_stride, bias_key_stride;
  Descale q, k, v;
};

inline namespace WF_TARGET {

WF_ATOM float factor_of(const Descale& d, int batch, int kv_head) {
  return d.data == nullptr ? 1
                           : hopper::load_global(d.data + batch * d.batch_stride + kv_head * d.head_stride);
}

WF_ATOM float bias_log2(float x) { return x * 1.4426950408889634f; }
WF_ATOM float bias_log2(hopper::bf16 x) { return bias_log2(hopper::to_float(x)); }
WF_ATOM float bias_log2(hopper::f16 x) { return bias_log2(hopper::to_float(x)); }
WF_ATOM float bias_log2(uint8_t visible) { return visible != 0 ? 0 : -INFINITY; }

// The rules for the two rows of a thread.
template <bool kBias>
struct RowRules {
  float slope;     // times log2 e
  int position;    // p of the first row; the second one is 8 below
  int64_t bias;    // element of the first row and the thread's first column
  int rows, keys;  // that the sequence has from the thread's first row and column on

  WF_ATOM RowRules(const ScoreRules& rules, const Extent& e, int batch, int head, int first_row) {
    const int row = first_row + hopper::accumulator_row(hopper::thread_id() % 128, 0),
              column = hopper::lane_id() % 4 * 2;
    slope = rules.slopes == nullptr
                ? 0
                : 1.4426950408889634f *
                      hopper::load_global(rules.slopes + batch * rules.slopes_batch_stride + head);
    position = row + e.seqlen_k - e.seqlen_q - column;
    if constexpr (kBias) {
      bias = batch * rules.bias_batch_stride + head * rules.bias_head_stride + row * rules.bias_row_stride +
             column * rules.bias_key_stride;
      rows = e.seqlen_q - row;
      keys = e.seqlen_k - column;
    }
  }

  template <class T, int kScores>
  WF_ATOM void add_bias(float (&s)[kScores], const ScoreRules& rules, int first_key) const {
    const T* at[2] = {static_cast<const T*>(rules.bias) + bias + first_key * rules.bias_key_stride};
    at[1] = at[0] + 8 * rules.bias_row_stride;
    WF_UNROLL
    for (int i = 0; i < kScores; i += 4) {  // 8 columns
      WF_UNROLL
      for (int j = 0; j < 4; ++j)
        if (j / 2 * 8 < rows && hopper::accumulator_column(0, i + j) < keys - first_key)
          s[i + j] += bias_log2(hopper::load_global(at[j / 2] + j % 2 * rules.bias_key_stride));
      at[0] += 8 * rules.bias_key_stride;
      at[1] += 8 * rules.bias_key_stride;
    }
  }

  // Turns the products of the keys from `first_key` on into exponents.
  template <int kScores>
  WF_ATOM void apply(float (&s)[kScores], const ScoreRules& rules, int first_key) const {
    if (rules.cap_log2 != 0) {
      WF_UNROLL
      for (int i = 0; i < kScores; ++i)
        s[i] = rules.cap_log2 -
               hopper::divide_approx(2 * rules.cap_log2, 1 + hopper::exp2_approx(s[i] * rules.cap_scale));
    } else {
      WF_UNROLL
      for (int i = 0; i < kScores; ++i) s[i] *= rules.scale_log2;
    }
    if (slope != 0) {
      const float distance = float(position - first_key);
      WF_UNROLL
      for (int i = 0; i < kScores; ++i)
        s[i] -= slope * fabsf(distance + float(i / 2 % 2 * 8 - hopper::accumulator_column(0, i)));
    }
    if constexpr (kBias) {
      if (rules.bias_type == BiasType::f32) add_bias<float>(s, rules, first_key);
      if (rules.bias_type == BiasType::bf16) add_bias<hopper::bf16>(s, rules, first_key);
      if (rules.bias_type == BiasType::f16) add_bias<hopper::f16>(s, rules, first_key);
      if (rules.bias_type == BiasType::visible) add_bias<uint8_t>(s, rules, first_key);
    }
  }
};

// Of tiles without rules: products are scores.
struct NoRules {
  WF_ATOM NoRules(const ScoreRules&, const Extent&, int, int, int) {}
  template <int kScores>
  WF_ATOM void apply(float (&)[kScores], const ScoreRules&, int) const {}
};

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::attention
