// Conversions of numbers as the chip does them: round to nearest even, NaN stays NaN.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "warpfold/hopper/types.h"

namespace warpfold::hopper {

// Value of a small float with `exponent_bits` and `mantissa_bits`, by its definition. `infinities`: the
// largest exponent means infinity and NaN, as in IEEE 754; otherwise only all ones are NaN (e4m3).
constexpr float small_float(uint32_t bits, int exponent_bits, int mantissa_bits, bool infinities) {
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const uint32_t exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1),
                 top = (1u << exponent_bits) - 1;
  const uint32_t sign = bits >> (exponent_bits + mantissa_bits) << 31;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == top && infinities)
    return std::bit_cast<float>(sign | 0x7F800000u | mantissa << (23 - mantissa_bits));
  if (exponent == top && mantissa == (1u << mantissa_bits) - 1)
    return std::bit_cast<float>(0x7FFFFFFFu);
  if (exponent == 0) {  // subnormal: mantissa * 2^(1 - bias - mantissa_bits)
    const float scale = std::bit_cast<float>(uint32_t(1 - bias - mantissa_bits + 127) << 23);
    return float(mantissa) * scale * (sign != 0 ? -1.0f : 1.0f);
  }
  return std::bit_cast<float>(sign | (exponent + 127 - uint32_t(bias)) << 23 |
                              mantissa << (23 - mantissa_bits));
}

inline namespace WF_TARGET {

inline float to_float(bf16 x) { return std::bit_cast<float>(uint32_t(x.bits) << 16); }
// The bits moved into place have an exponent that is too small by 127 - 15; only infinity and NaN need more.
// No branch: operands of products are widened by the thousand.
inline float to_float(f16 x) {
  const uint32_t magnitude = x.bits & 0x7FFFu, moved = magnitude << 13;
  const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(moved) * 0x1p112f);
  return std::bit_cast<float>((x.bits & 0x8000u) << 16 | (magnitude >= 0x7C00 ? moved | 0x7F800000 : finite));
}
inline float to_float(e4m3 x) { return small_float(x.bits, 4, 3, false); }
inline float to_float(e5m2 x) { return small_float(x.bits, 5, 2, true); }
inline bf16 to_bf16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return {0x7FFF};
  return {uint16_t((u + 0x7FFF + (u >> 16 & 1)) >> 16)};
}
inline f16 to_f16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x), sign = u >> 16 & 0x8000, magnitude = u & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return {0x7FFF};
  if (magnitude >= 0x477FF000) return {uint16_t(sign | 0x7C00)};  // 65520 and more round to infinity
  if (magnitude < 0x38800000) {                                   // subnormal: units of 2^-24
    const float units = std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24f);
    return {uint16_t(sign | uint32_t(units))};
  }
  const uint32_t rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
  return {uint16_t(sign | ((rounded >> 13) - (112u << 10)))};
}
inline uint32_t pack_bf16(float low, float high) {
  return to_bf16(low).bits | uint32_t(to_bf16(high).bits) << 16;
}
inline uint32_t pack_f16(float low, float high) {
  return to_f16(low).bits | uint32_t(to_f16(high).bits) << 16;
}
// Beyond 448 saturates; subnormals are multiples of 2^-9.
inline e4m3 to_e4m3(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x), sign = u >> 24 & 0x80, magnitude = u & 0x7FFFFFFF;
  if (std::isnan(x)) return {0x7F};
  if (magnitude >= 0x43E00000) return {uint8_t(sign | 0x7E)};  // 448
  if (magnitude < 0x3C800000)
    return {uint8_t(sign | uint32_t(std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p9f)))};
  const uint32_t rounded = magnitude + 0x7FFFF + (magnitude >> 20 & 1);
  return {uint8_t(sign | ((rounded >> 20) - (120u << 3)))};
}
inline uint32_t pack_e4m3(float low, float high) {
  return to_e4m3(low).bits | uint32_t(to_e4m3(high).bits) << 8;
}
// 24 bits are more than twice the 8 of bf16 plus 1: rounding to fp32 in between changes nothing.
inline uint32_t add_bf16x2(uint32_t a, uint32_t b) {
  const auto half = [](uint32_t pair, int i) { return to_float(bf16{uint16_t(pair >> 16 * i)}); };
  return pack_bf16(half(a, 0) + half(b, 0), half(a, 1) + half(b, 1));
}
// A finite divisor above 2^126 gives 0 (NaN for an infinite dividend).
inline float divide_approx(float a, float b) { return std::fabs(b) > 0x1p126f ? a * 0.0f : a / b; }
// In double, since a library's fmaf is slow: rounded once but for rare ties.
inline float multiply_add(float a, float b, float c) { return float(double(a) * double(b) + double(c)); }
inline float exp2_approx(float x) { return std::exp2(x); }

}  // namespace WF_TARGET
}  // namespace warpfold::hopper
