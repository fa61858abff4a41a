// Attention of up to 32 query rows over one KV head, in key tiles of 128; see attention_kernels.h.
// Scores: one vector holds 16 keys' scores of a row, so keys are stored transposed in panels of 16.
// Values: one vector holds consecutive head dimensions, so values are stored row by row.
#include "ops/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention_kernels.cpp"
#include "hwy/foreach_target.h"
// After foreach_target, as Highway asks.
#include <algorithm>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "ops/attention_kernels.h"
#include "ops/half-inl.h"
#include "warpfold/core/half.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::ops {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using VFloats = hn::Vec<Floats>;
constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(Floats()));
constexpr std::int64_t kVecs = kKeyPanel / kLanes;  // vectors a panel of 16 keys
constexpr std::int64_t kKeyTile = 128;
constexpr int kScoreRows = kVecs == 1 ? 8 : kVecs == 2 ? 4 : 2;
constexpr int kValueRows = 4;
constexpr std::int64_t kValueVecs = kVecs == 1 ? 4 : 2;
constexpr float kNegInf = -std::numeric_limits<float>::infinity();

template <KvType kType>
HWY_INLINE VFloats load(const std::byte* base, std::int64_t element) {
  if constexpr (kType == KvType::kF16) {
    return load_f16(Floats(), base + 2 * element);
  } else if constexpr (kType == KvType::kF32) {
    return hn::LoadU(Floats(), reinterpret_cast<const float*>(base) + element);
  } else {
    const hn::Rebind<std::int8_t, Floats> db;
    const hn::Rebind<std::int32_t, Floats> di;
    return hn::ConvertTo(Floats(), hn::PromoteTo(di, hn::LoadU(db, reinterpret_cast<const std::int8_t*>(base) + element)));
  }
}

// s (kRows, kKeyTile) at column `column`: the scores of one key panel.
template <KvType kType, int kRows>
HWY_INLINE void score_panel(const QueryTile& t, int row, std::int64_t key, float* s) {
  const Floats d;
  VFloats acc[kRows][kVecs];
  for (int r = 0; r < kRows; ++r)
    for (std::int64_t v = 0; v < kVecs; ++v) acc[r][v] = hn::Zero(d);
  const float* q = t.q + row * t.head_dim;
  const std::int64_t base = key * t.head_dim;
  for (std::int64_t i = 0; i < t.head_dim; ++i)
    for (std::int64_t v = 0; v < kVecs; ++v) {
      const VFloats k = load<kType>(t.k, base + i * kKeyPanel + v * kLanes);
      for (int r = 0; r < kRows; ++r) acc[r][v] = hn::MulAdd(k, hn::Set(d, q[r * t.head_dim + i]), acc[r][v]);
    }
  for (int r = 0; r < kRows; ++r)
    for (std::int64_t v = 0; v < kVecs; ++v) {
      if constexpr (kType == KvType::kInt8) acc[r][v] = hn::Mul(acc[r][v], hn::LoadU(d, t.k_scale + key + v * kLanes));
      hn::StoreU(acc[r][v], d, s + r * kKeyTile + v * kLanes);
    }
}

// o (kRows, Dp) += p (kRows, keys) V (keys, Dp) for kValueVecs or one vector of columns.
template <KvType kType, int kRows, std::int64_t kColumns>
HWY_INLINE void value_block(const QueryTile& t, int row, std::int64_t column, std::int64_t key, std::int64_t keys,
                            const float* p) {
  const Floats d;
  VFloats acc[kRows][kColumns];
  float* o = t.o + row * t.v_stride + column;
  for (int r = 0; r < kRows; ++r)
    for (std::int64_t c = 0; c < kColumns; ++c) acc[r][c] = hn::LoadU(d, o + r * t.v_stride + c * kLanes);
  for (std::int64_t j = 0; j < keys; ++j)
    for (std::int64_t c = 0; c < kColumns; ++c) {
      const VFloats v = load<kType>(t.v, (key + j) * t.v_stride + column + c * kLanes);
      for (int r = 0; r < kRows; ++r) acc[r][c] = hn::MulAdd(v, hn::Set(d, p[r * kKeyTile + j]), acc[r][c]);
    }
  for (int r = 0; r < kRows; ++r)
    for (std::int64_t c = 0; c < kColumns; ++c) hn::StoreU(acc[r][c], d, o + r * t.v_stride + c * kLanes);
}

template <KvType kType, int kRows>
HWY_INLINE void value_rows(const QueryTile& t, int row, std::int64_t key, std::int64_t keys, const float* p) {
  std::int64_t column = 0;
  for (; column + kValueVecs * kLanes <= t.v_stride; column += kValueVecs * kLanes)
    value_block<kType, kRows, kValueVecs>(t, row, column, key, keys, p);
  for (; column < t.v_stride; column += kLanes) value_block<kType, kRows, 1>(t, row, column, key, keys, p);
}

// What a row's products of keys from `key` on are before softmax takes them.
HWY_INLINE void shape_scores(const QueryTile& t, int r, std::int64_t key, std::int64_t padded, float* s) {
  const Floats d;
  if (t.softcap > 0) {
    const VFloats cap = hn::Set(d, t.softcap), inverse = hn::Set(d, 1 / t.softcap);
    for (std::int64_t j = 0; j < padded; j += kLanes)
      hn::StoreU(hn::Mul(cap, hn::Tanh(d, hn::Mul(hn::LoadU(d, s + j), inverse))), d, s + j);
  }
  if (t.slope != nullptr && t.slope[r] != 0) {
    const VFloats slope = hn::Set(d, t.slope[r]);
    for (std::int64_t j = 0; j < padded; j += kLanes) {
      const VFloats distance =
          hn::Sub(hn::Set(d, static_cast<float>(t.position[r] - key - j)), hn::Iota(d, 0));
      hn::StoreU(hn::NegMulAdd(slope, hn::Abs(distance), hn::LoadU(d, s + j)), d, s + j);
    }
  }
}

// Masks one row's scores of keys [key, key + keys), updates its maximum and sum, turns scores into p, scales o.
template <KvType kType>
HWY_INLINE void softmax_row(const QueryTile& t, int r, std::int64_t key, std::int64_t keys, float* s) {
  const Floats d;
  const hn::Rebind<std::int32_t, Floats> di;
  const std::int64_t visible_begin = std::clamp<std::int64_t>(t.begin[r] - key, 0, keys);
  const std::int64_t visible_end = std::clamp<std::int64_t>(t.end[r] - key, 0, keys);
  const std::int64_t padded = (keys + kKeyPanel - 1) / kKeyPanel * kKeyPanel;
  if (visible_begin >= visible_end) {  // nothing to see in this tile
    std::fill(s, s + padded, 0.0f);
    return;
  }
  shape_scores(t, r, key, padded, s);
  VFloats largest = hn::Set(d, kNegInf);
  const bool masked = visible_begin > 0 || visible_end < padded;
  for (std::int64_t j = 0; j < padded; j += kLanes) {
    VFloats x = hn::LoadU(d, s + j);
    if (t.bias) {
      x = hn::Add(x, hn::LoadU(d, t.bias[r] + key + j));
      hn::StoreU(x, d, s + j);
    }
    if (masked) {
      const auto index = hn::Iota(di, static_cast<std::int32_t>(j));
      const auto hidden = hn::Or(hn::Lt(index, hn::Set(di, static_cast<std::int32_t>(visible_begin))),
                                 hn::Gt(index, hn::Set(di, static_cast<std::int32_t>(visible_end - 1))));
      x = hn::IfThenElse(hn::RebindMask(d, hidden), hn::Set(d, kNegInf), x);
      hn::StoreU(x, d, s + j);
    }
    largest = hn::Max(largest, x);
  }
  const float tile_max = hn::GetLane(hn::MaxOfLanes(d, largest));
  const float m = std::max(t.m[r], tile_max);
  VFloats total = hn::Zero(d);
  const VFloats vm = hn::Set(d, m);
  for (std::int64_t j = 0; j < padded; j += kLanes) {
    const VFloats below = hn::Sub(hn::LoadU(d, s + j), vm);
    VFloats p = hn::IfThenElse(hn::IsNaN(below), below, hn::Exp(d, below));  // Exp alone turns NaN into 0
    total = hn::Add(total, p);
    if constexpr (kType == KvType::kInt8)  // the value's scale goes into p, after the sum
      p = hn::IfThenElse(hn::Eq(p, hn::Zero(d)), p, hn::Mul(p, hn::LoadU(d, t.v_scale + key + j)));
    hn::StoreU(p, d, s + j);
  }
  const float sum = hn::GetLane(hn::SumOfLanes(d, total));
  if (m > t.m[r]) {
    const VFloats shrink = hn::Exp(d, hn::Set(d, t.m[r] - m));  // 0 when nothing was seen before
    float* o = t.o + r * t.v_stride;
    for (std::int64_t i = 0; i < t.v_stride; i += kLanes) hn::StoreU(hn::Mul(hn::LoadU(d, o + i), shrink), d, o + i);
    t.l[r] = t.l[r] * hn::GetLane(shrink) + sum;
    t.m[r] = m;
  } else {
    t.l[r] += sum;
  }
}

template <KvType kType>
void attend_typed(const QueryTile& t) {
  HWY_ALIGN float s[kMaxQueryRows * kKeyTile];
  std::fill(t.o, t.o + t.rows * t.v_stride, 0.0f);
  std::fill(t.m, t.m + t.rows, kNegInf);
  std::fill(t.l, t.l + t.rows, 0.0f);
  for (std::int64_t key = t.first / kKeyPanel * kKeyPanel; key < t.last; key += kKeyTile) {
    const std::int64_t keys = std::min(kKeyTile, t.last - key);
    for (std::int64_t panel = 0; panel < keys; panel += kKeyPanel) {
      int r = 0;
      for (; r + kScoreRows <= t.rows; r += kScoreRows)
        score_panel<kType, kScoreRows>(t, r, key + panel, s + r * kKeyTile + panel);
      for (; r + 3 <= t.rows; r += 3) score_panel<kType, 3>(t, r, key + panel, s + r * kKeyTile + panel);
      for (; r < t.rows; ++r) score_panel<kType, 1>(t, r, key + panel, s + r * kKeyTile + panel);
    }
    for (int r = 0; r < t.rows; ++r) softmax_row<kType>(t, r, key, keys, s + r * kKeyTile);
    int r = 0;
    for (; r + kValueRows <= t.rows; r += kValueRows) value_rows<kType, kValueRows>(t, r, key, keys, s + r * kKeyTile);
    for (; r + 3 <= t.rows; r += 3) value_rows<kType, 3>(t, r, key, keys, s + r * kKeyTile);
    for (; r < t.rows; ++r) value_rows<kType, 1>(t, r, key, keys, s + r * kKeyTile);
  }
}

void attend(const QueryTile& t) {
  if (t.type == KvType::kF16) attend_typed<KvType::kF16>(t);
  else if (t.type == KvType::kF32) attend_typed<KvType::kF32>(t);
  else attend_typed<KvType::kInt8>(t);
}

// x (n) as fp16, or as int8 with the returned scale; element i goes to out[i * stride].
template <class Out, class Convert>
HWY_INLINE void scatter(const float* x, std::int64_t n, std::int64_t stride, Out* out, Convert convert) {
  const Floats d;
  Out tmp[16] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    convert(hn::LoadU(d, x + i), tmp);
    for (std::int64_t j = 0; j < kLanes; ++j) out[(i + j) * stride] = tmp[j];
  }
  if (i < n) {
    HWY_ALIGN float rest[16] = {};
    std::copy(x + i, x + n, rest);
    convert(hn::Load(d, rest), tmp);
    for (std::int64_t j = 0; i + j < n; ++j) out[(i + j) * stride] = tmp[j];
  }
}

// Finite values beyond fp16 saturate: an infinite value would turn the rows that may not see it into 0 * inf = NaN.
void store_f16(const float* x, std::int64_t n, std::int64_t stride, std::byte* out) {
  constexpr float kLargest = 65504.0f;
#if HWY_TARGET == HWY_SSE4  // Highway's emulation truncates here
  auto* half = reinterpret_cast<std::uint16_t*>(out);
  for (std::int64_t i = 0; i < n; ++i) half[i * stride] = f32_to_f16(x[i] > kLargest ? kLargest : x[i] < -kLargest ? -kLargest : x[i]);
#else
  const hn::Rebind<hwy::float16_t, Floats> dh;
  scatter(x, n, stride, reinterpret_cast<hwy::float16_t*>(out),
          [&](VFloats v, hwy::float16_t* tmp) {
            const auto bounded = hn::Clamp(v, hn::Set(Floats(), -kLargest), hn::Set(Floats(), kLargest));
            hn::StoreU(hn::DemoteTo(dh, hn::IfThenElse(hn::IsNaN(v), v, bounded)), dh, tmp);
          });
#endif
}

float store_int8(const float* x, std::int64_t n, std::int64_t stride, std::byte* out) {
  const Floats d;
  const hn::Rebind<std::int8_t, Floats> db;
  float amax = 0;
  float poison = 0;  // 0, or NaN when a value is NaN or infinite
  for (std::int64_t i = 0; i < n; ++i) {
    amax = std::max(amax, x[i] < 0 ? -x[i] : x[i]);
    poison += x[i] * 0.0f;
  }
  const float scale = amax / 127.0f + poison;
  if (!(scale >= 0)) {  // the scale carries the NaN
    for (std::int64_t i = 0; i < n; ++i) out[i * stride] = std::byte{0};
    return scale;
  }
  const VFloats inverse = hn::Set(d, scale >= 1e-38f ? 127.0f / amax : 0.0f);
  scatter(x, n, stride, reinterpret_cast<std::int8_t*>(out), [&](VFloats v, std::int8_t* tmp) {
    hn::StoreU(hn::DemoteTo(db, hn::NearestInt(hn::Mul(v, inverse))), db, tmp);
  });
  return scale;
}

void append(KvType type, const float* k, const float* v, std::int64_t head_dim, std::int64_t pos, std::byte* k_out,
            std::byte* v_out, float* k_scale, float* v_scale) {
  const std::int64_t element = element_bytes(type);
  const std::int64_t v_stride = (head_dim + 15) / 16 * 16;
  std::byte* k_at = k_out + (pos / kKeyPanel * kKeyPanel * head_dim + pos % kKeyPanel) * element;
  std::byte* v_at = v_out + pos * v_stride * element;
  if (type == KvType::kF16) {
    store_f16(k, head_dim, kKeyPanel, k_at);
    store_f16(v, head_dim, 1, v_at);
  } else if (type == KvType::kF32) {
    auto* k_values = reinterpret_cast<float*>(k_at);
    for (std::int64_t i = 0; i < head_dim; ++i) k_values[i * kKeyPanel] = k[i];
    std::copy(v, v + head_dim, reinterpret_cast<float*>(v_at));
  } else {
    k_scale[pos] = store_int8(k, head_dim, kKeyPanel, k_at);
    v_scale[pos] = store_int8(v, head_dim, 1, v_at);
  }
}

extern const AttentionKernels kAttentionKernels;
const AttentionKernels kAttentionKernels{attend, append};

}  // namespace HWY_NAMESPACE
}  // namespace warpfold::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::ops {
const AttentionKernels& attention_kernels(Simd level) { return *WARPFOLD_PICK(kAttentionKernels, level); }
}  // namespace warpfold::ops
#endif
