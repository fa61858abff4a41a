// Products of packed weight panels with activations.
//   quantised: y[t][r] = sum_g s[r][g] a[t][g] (sum_k q[r][k] x[t][k] - z sum_k x[t][k]) + m[r][g] a[t][g] sum_k x[t][k]
//   floating:  y[t][r] = sum_k w[r][k] x[t][k]
// A tile keeps 16 rows times kTile tokens of accumulators in registers; a group's weights are unpacked once a
// tile. Integer sums are exact; the fp32 accumulation runs over groups.
#include "ops/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul_kernels.cpp"
#include "hwy/foreach_target.h"
// After foreach_target, as Highway asks.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "ops/half-inl.h"
#include "ops/kernels.h"
#include "ops/panel_format.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3
#pragma GCC push_options
#pragma GCC target("avx512vnni")
#endif
namespace warpfold::ops {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::CappedTag<std::uint8_t, 64>;
using Ints = hn::Repartition<std::int32_t, Bytes>;
using Floats = hn::Repartition<float, Bytes>;
using VBytes = hn::Vec<Bytes>;
using VInts = hn::Vec<Ints>;
using VFloats = hn::Vec<Floats>;
constexpr std::size_t kLanes = hn::MaxLanes(Ints());  // rows a vector
constexpr std::size_t kVecs = 16 / kLanes;            // vectors a panel

// acc + the four products of each 4-byte lane, x signed. Weights of up to 7 bits may count as signed or unsigned;
// 8-bit weights are unsigned where the processor has such a product, else made signed (kSigned8).
#if HWY_TARGET == HWY_AVX3
constexpr bool kSigned8 = false;
template <int kBits>
HWY_INLINE VInts dot4(VInts acc, VBytes w, VInts x) {
  return VInts{_mm512_dpbusd_epi32(acc.raw, w.raw, x.raw)};
}
#elif HWY_TARGET == HWY_AVX2
constexpr bool kSigned8 = true;
template <int kBits>
HWY_INLINE VInts dot4(VInts acc, VBytes w, VInts x) {
  // The product of unsigned and signed bytes adds pairs in 16 bits: 2 * 63 * 127 fits; signed 8-bit weights give
  // their sign to x first, and 2 * 128 * 127 fits.
  const __m256i a = kBits == 8 ? _mm256_abs_epi8(w.raw) : w.raw;
  const __m256i b = kBits == 8 ? _mm256_sign_epi8(x.raw, w.raw) : x.raw;
  return VInts{_mm256_add_epi32(acc.raw, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1)))};
}
#else
// By 16-bit products of even and odd bytes: |pair sum| <= 2 * 128 * 127 < 2^15.
constexpr bool kSigned8 = true;
template <int kBits>
HWY_INLINE VInts dot4(VInts acc, VBytes w, VInts x) {
  const hn::Repartition<std::int16_t, Bytes> d16;
  const auto w16 = hn::BitCast(d16, w), x16 = hn::BitCast(d16, x);
  const auto even = hn::Mul(hn::ShiftRight<8>(hn::ShiftLeft<8>(w16)), hn::ShiftRight<8>(hn::ShiftLeft<8>(x16)));
  const auto odd = hn::Mul(hn::ShiftRight<8>(w16), hn::ShiftRight<8>(x16));
  const auto pairs = hn::BitCast(Ints(), hn::Add(even, odd));
  return hn::Add(acc, hn::Add(hn::ShiftRight<16>(hn::ShiftLeft<16>(pairs)), hn::ShiftRight<16>(pairs)));
}
#endif

// Reads quad pair (j, j + 4) of a group: lanes v * kLanes.. of the 16 rows.
template <int kBits>
HWY_INLINE void load_quads(const std::uint8_t* data, std::size_t j, std::size_t v, VBytes& low, VBytes& high) {
  const Bytes d;
  const std::size_t at = v * hn::MaxLanes(d);
  const auto u16 = [](VBytes x) { return hn::BitCast(hn::Repartition<std::uint16_t, Bytes>(), x); };
  const auto u8 = [](auto x) { return hn::BitCast(Bytes(), x); };
  if constexpr (kBits == 8) {
    low = hn::LoadU(d, data + j * 64 + at);
    high = hn::LoadU(d, data + (j + 4) * 64 + at);
    if constexpr (kSigned8) {
      low = hn::Xor(low, hn::Set(d, 0x80));
      high = hn::Xor(high, hn::Set(d, 0x80));
    }
  } else {
    const auto raw = hn::LoadU(d, data + j * 64 + at);
    low = hn::And(raw, hn::Set(d, 15));
    high = hn::And(u8(hn::ShiftRight<4>(u16(raw))), hn::Set(d, 15));
  }
  if constexpr (kBits == 5) {
    const auto bits = u16(hn::LoadU(d, data + 256 + at));
    const auto one = hn::Set(d, 16);
    // bit j -> bit 4 of the low quad, bit j + 4 -> bit 4 of the high quad
    low = hn::Or(low, hn::And(u8(hn::ShiftLeftSame(bits, static_cast<int>(4 - j))), one));
    high = hn::Or(high, hn::And(u8(hn::ShiftRightSame(bits, static_cast<int>(j))), one));
  } else if constexpr (kBits == 6) {
    const auto mask = hn::Set(d, 48);
    const auto move = [&](VBytes x) {  // bits 2j, 2j + 1 -> bits 4, 5
      const auto w = u16(x);
      return hn::And(u8(j <= 2 ? hn::ShiftLeftSame(w, static_cast<int>(4 - 2 * j)) : hn::ShiftRight<2>(w)), mask);
    };
    low = hn::Or(low, move(hn::LoadU(d, data + 256 + at)));
    high = hn::Or(high, move(hn::LoadU(d, data + 320 + at)));
  }
}

HWY_INLINE VFloats load_half(const std::uint8_t* p) {
  return load_f16(Floats(), p);
}
HWY_INLINE VFloats load_small_unsigned(const std::uint8_t* p) {
  const hn::Rebind<std::uint8_t, Ints> db;
  return hn::ConvertTo(Floats(), hn::PromoteTo(Ints(), hn::LoadU(db, p)));
}
HWY_INLINE VFloats load_small_signed(const std::uint8_t* p) {
  const hn::Rebind<std::int8_t, Ints> db;
  return hn::ConvertTo(Floats(), hn::PromoteTo(Ints(), hn::LoadU(db, reinterpret_cast<const std::int8_t*>(p))));
}

HWY_INLINE VInts broadcast_quad(const std::int8_t* x) {
  std::int32_t v;
  std::memcpy(&v, x, sizeof v);
  return hn::Set(Ints(), v);
}

// Stores or adds a tile row of 16 outputs, of which `rows` exist.
HWY_INLINE void store_row(const VFloats* f, float* y, int rows, bool accumulate) {
  const Floats d;
  if (rows == 16) {
    for (std::size_t v = 0; v < kVecs; ++v) {
      float* at = y + v * kLanes;
      hn::StoreU(accumulate ? hn::Add(hn::LoadU(d, at), f[v]) : f[v], d, at);
    }
    return;
  }
  HWY_ALIGN float tmp[16];
  for (std::size_t v = 0; v < kVecs; ++v) hn::Store(f[v], d, tmp + v * kLanes);
  for (int r = 0; r < rows; ++r) y[r] = accumulate ? y[r] + tmp[r] : tmp[r];
}

// How far ahead a memory-bound tile asks for data. Beyond the panel lies the next panel; beyond the matrix a
// prefetch does nothing.
constexpr std::int64_t kPrefetch = 8192;

template <DType kType, int kTile>
HWY_NOINLINE void quantised_tile(const PanelProduct& p, const QuantisedRows& x, std::int64_t t0) {
  constexpr PanelFormat kF = panel_format(kType);
  constexpr bool kHalves = kF.scales == ScaleKind::kSuper16;
  constexpr bool kMinimum = kF.scales == ScaleKind::kScaleMin || kF.scales == ScaleKind::kSuper;
  constexpr int kZero = kF.bits == 8 && kSigned8 ? 0 : kF.zero_point;
  const Floats df;
  const Ints di;
  const std::int64_t groups = p.columns / kGroup;
  const auto* data = reinterpret_cast<const std::uint8_t*>(p.panel);
  const std::uint8_t* scales = data + groups * kF.data_bytes();
  const std::uint8_t* supers = scales + groups * kF.scale_bytes();
  const std::int8_t* q = x.q + t0 * p.columns;
  const float* a = x.scale + t0 * groups;
  const float* sum = x.sum + t0 * groups;
  const std::int32_t* half_sum = x.half_sum + t0 * groups * 2;

  VFloats f[kTile][kVecs];
  for (int t = 0; t < kTile; ++t)
    for (std::size_t v = 0; v < kVecs; ++v) f[t][v] = hn::Zero(df);

  for (std::int64_t g = 0; g < groups; ++g) {
    VInts acc[kHalves ? 2 : 1][kTile][kVecs];
    for (int t = 0; t < kTile; ++t)
      for (std::size_t v = 0; v < kVecs; ++v) {
        const std::int32_t* h = half_sum + (t * groups + g) * 2;
        if constexpr (kHalves) {
          acc[0][t][v] = hn::Set(di, -kZero * h[0]);
          acc[1][t][v] = hn::Set(di, -kZero * h[1]);
        } else {
          acc[0][t][v] = kZero == 0 ? hn::Zero(di) : hn::Set(di, -kZero * (h[0] + h[1]));
        }
      }
    const std::uint8_t* group = data + g * kF.data_bytes();
    if constexpr (kTile <= 2)  // bound by memory: ask for the lines of some groups ahead
      for (std::int64_t line = 0; line < kF.data_bytes(); line += 64) hwy::Prefetch(group + kPrefetch + line);
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t v = 0; v < kVecs; ++v) {
        VBytes low, high;
        load_quads<kF.bits>(group, j, v, low, high);
        for (int t = 0; t < kTile; ++t) {
          const std::int8_t* xt = q + t * p.columns + g * kGroup + static_cast<std::int64_t>(j) * 4;
          acc[0][t][v] = dot4<kF.bits>(acc[0][t][v], low, broadcast_quad(xt));
          VInts& second = acc[kHalves ? 1 : 0][t][v];
          second = dot4<kF.bits>(second, high, broadcast_quad(xt + 16));
        }
      }
    const std::uint8_t* s = scales + g * kF.scale_bytes();
    const std::uint8_t* u = supers + g / 8 * kF.super_bytes();
    for (std::size_t v = 0; v < kVecs; ++v) {
      const std::size_t at = v * kLanes;
      VFloats scale, second = hn::Zero(df), minimum = hn::Zero(df);
      if constexpr (kF.super_bytes() == 0) {
        scale = load_half(s + at * 2);
        if constexpr (kMinimum) minimum = load_half(s + 32 + at * 2);
      } else {
        const auto factor = load_half(u + at * 2);
        if constexpr (kHalves) {
          scale = hn::Mul(factor, load_small_signed(s + at));
          second = hn::Mul(factor, load_small_signed(s + 16 + at));
        } else {
          scale = hn::Mul(factor, load_small_unsigned(s + at));
          minimum = hn::Neg(hn::Mul(load_half(u + 32 + at * 2), load_small_unsigned(s + 16 + at)));
        }
      }
      for (int t = 0; t < kTile; ++t) {
        const auto at_scale = hn::Set(df, a[t * groups + g]);
        VFloats sums = hn::Mul(hn::ConvertTo(df, acc[0][t][v]), scale);
        if constexpr (kHalves) sums = hn::MulAdd(hn::ConvertTo(df, acc[kHalves ? 1 : 0][t][v]), second, sums);
        f[t][v] = hn::MulAdd(sums, at_scale, f[t][v]);
        if constexpr (kMinimum) f[t][v] = hn::MulAdd(minimum, hn::Set(df, sum[t * groups + g]), f[t][v]);
      }
    }
  }
  for (int t = 0; t < kTile; ++t) store_row(f[t], p.y + (t0 + t) * p.y_stride, p.rows, p.accumulate);
}

// Registers: kTile * kVecs accumulators, as many integer ones, and the weights.
constexpr int kTile = kVecs == 1 ? 8 : kVecs == 2 ? 3 : 1;

template <DType kType>
void quantised_panel(const PanelProduct& p, const QuantisedRows& x) {
  std::int64_t t = 0;
  for (; t + kTile <= p.tokens; t += kTile) quantised_tile<kType, kTile>(p, x, t);
  if constexpr (kTile > 4)
    for (; t + 4 <= p.tokens; t += 4) quantised_tile<kType, 4>(p, x, t);
  if constexpr (kTile > 2)
    for (; t + 2 <= p.tokens; t += 2) quantised_tile<kType, 2>(p, x, t);
  for (; t < p.tokens; ++t) quantised_tile<kType, 1>(p, x, t);
}

void quantised(DType type, const PanelProduct& p, const QuantisedRows& x) {
  switch (type) {
    case DType::kQ4_0: return quantised_panel<DType::kQ4_0>(p, x);
    case DType::kQ4_1: return quantised_panel<DType::kQ4_1>(p, x);
    case DType::kQ5_0: return quantised_panel<DType::kQ5_0>(p, x);
    case DType::kQ5_1: return quantised_panel<DType::kQ5_1>(p, x);
    case DType::kQ8_0: return quantised_panel<DType::kQ8_0>(p, x);
    case DType::kQ4_K: return quantised_panel<DType::kQ4_K>(p, x);
    case DType::kQ5_K: return quantised_panel<DType::kQ5_K>(p, x);
    case DType::kQ6_K: return quantised_panel<DType::kQ6_K>(p, x);
    default: return;
  }
}

template <DType kType>
HWY_INLINE VFloats load_weights(const std::byte* p) {
  if constexpr (kType == DType::kF32) return hn::LoadU(Floats(), reinterpret_cast<const float*>(p));
  else if constexpr (kType == DType::kF16) return load_half(reinterpret_cast<const std::uint8_t*>(p));
  else {
    const hn::Rebind<hwy::bfloat16_t, Floats> db;
    return hn::PromoteTo(Floats(), hn::LoadU(db, reinterpret_cast<const hwy::bfloat16_t*>(p)));
  }
}

template <DType kType, int kRows>
HWY_NOINLINE void floating_tile(const PanelProduct& p, const float* x, std::int64_t t0) {
  constexpr std::int64_t kBytes = kType == DType::kF32 ? 4 : 2;
  const Floats d;
  VFloats f[kRows][kVecs];
  for (int t = 0; t < kRows; ++t)
    for (std::size_t v = 0; v < kVecs; ++v) f[t][v] = hn::Zero(d);
  const float* xt = x + t0 * p.columns;
  for (std::int64_t k = 0; k < p.columns; ++k)
    for (std::size_t v = 0; v < kVecs; ++v) {
      const auto w = load_weights<kType>(p.panel + (k * kPanelRows + static_cast<std::int64_t>(v * kLanes)) * kBytes);
      for (int t = 0; t < kRows; ++t) f[t][v] = hn::MulAdd(w, hn::Set(d, xt[t * p.columns + k]), f[t][v]);
    }
  for (int t = 0; t < kRows; ++t) store_row(f[t], p.y + (t0 + t) * p.y_stride, p.rows, p.accumulate);
}

constexpr int kFloatTile = kVecs == 1 ? 12 : kVecs == 2 ? 6 : 2;

// The tile of `rows` tokens, rows <= kRows.
template <DType kType, int kRows>
HWY_INLINE void floating_rows(const PanelProduct& p, const float* x, std::int64_t t0, std::int64_t rows) {
  if (rows == kRows) return floating_tile<kType, kRows>(p, x, t0);
  if constexpr (kRows > 1) floating_rows<kType, kRows - 1>(p, x, t0, rows);
}

// Tiles of equal size, or nearly: a small one at the end would wait for its few sums.
template <DType kType>
void floating_panel(const PanelProduct& p, const float* x) {
  std::int64_t tiles = (p.tokens + kFloatTile - 1) / kFloatTile;
  for (std::int64_t t = 0; t < p.tokens; --tiles) {
    const std::int64_t rows = (p.tokens - t + tiles - 1) / tiles;
    floating_rows<kType, kFloatTile>(p, x, t, rows);
    t += rows;
  }
}

void floating(DType type, const PanelProduct& p, const float* x) {
  switch (type) {
    case DType::kF32: return floating_panel<DType::kF32>(p, x);
    case DType::kF16: return floating_panel<DType::kF16>(p, x);
    case DType::kBF16: return floating_panel<DType::kBF16>(p, x);
    default: return;
  }
}

void quantise_row(const float* x, std::int64_t columns, std::int8_t* q, float* scale, float* sum,
                  std::int32_t* half_sum) {
  const Floats d;
  const Ints di;
  const hn::Rebind<std::int8_t, Ints> db;
  for (std::int64_t g = 0; g < columns / kGroup; ++g) {
    const float* xg = x + g * kGroup;
    auto largest = hn::Zero(d), poison = hn::Zero(d);
    for (std::size_t i = 0; i < 32; i += kLanes) {
      const auto v = hn::LoadU(d, xg + i);
      largest = hn::Max(largest, hn::Abs(v));
      poison = hn::MulAdd(v, hn::Zero(d), poison);  // 0, or NaN when a value is NaN or infinite
    }
    const float amax = hn::GetLane(hn::MaxOfLanes(d, largest));
    const float s = amax / 127.0f + hn::GetLane(hn::SumOfLanes(d, poison));
    if (!(s >= 0)) {  // such a group makes every product NaN, and must not look like numbers
      scale[g] = sum[g] = s;
      std::fill(q + g * kGroup, q + (g + 1) * kGroup, std::int8_t{0});
      half_sum[2 * g] = half_sum[2 * g + 1] = 0;
      continue;
    }
    // An all-zero group gets scale 0 and q = 0. 127 / amax overflows for subnormal amax: such a group is 0 too.
    const float inverse = s >= 1e-38f ? 127.0f / amax : 0.0f;
    const auto vinverse = hn::Set(d, inverse);
    std::int32_t halves[2] = {0, 0};
    for (std::size_t h = 0; h < 2; ++h) {
      auto total = hn::Zero(di);
      for (std::size_t i = 0; i < 16; i += kLanes) {
        const std::size_t at = h * 16 + i;
        const auto n = hn::NearestInt(hn::Mul(hn::LoadU(d, xg + at), vinverse));
        total = hn::Add(total, n);
        hn::StoreU(hn::DemoteTo(db, n), db, q + g * kGroup + static_cast<std::int64_t>(at));
      }
      halves[h] = hn::GetLane(hn::SumOfLanes(di, total));
    }
    scale[g] = s;
    sum[g] = s * static_cast<float>(halves[0] + halves[1]);
    half_sum[2 * g] = halves[0];
    half_sum[2 * g + 1] = halves[1];
  }
}

extern const MatmulKernels kMatmulKernels;
const MatmulKernels kMatmulKernels{quantised, floating, quantise_row};

}  // namespace HWY_NAMESPACE
}  // namespace warpfold::ops
#if HWY_TARGET == HWY_AVX3
#pragma GCC pop_options
#endif
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::ops {
const MatmulKernels& matmul_kernels(Simd level) { return *WARPFOLD_PICK(kMatmulKernels, level); }
}  // namespace warpfold::ops
#endif
