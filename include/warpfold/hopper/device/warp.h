// Exchange inside a warp, all 32 lanes taking part, and conversions of numbers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "warpfold/hopper/types.h"

namespace warpfold::hopper {
inline namespace WF_TARGET {

template <class T>
WF_ATOM T shuffle(T value, int lane) {
  static_assert(sizeof(T) == 4);
  return __shfl_sync(0xFFFFFFFF, value, lane);
}
template <class T>
WF_ATOM T shuffle_xor(T value, int mask) {
  static_assert(sizeof(T) == 4);
  return __shfl_xor_sync(0xFFFFFFFF, value, mask);
}
// Lanes without a partner keep their own value.
template <class T>
WF_ATOM T shuffle_up(T value, int delta) {
  static_assert(sizeof(T) == 4);
  return __shfl_up_sync(0xFFFFFFFF, value, unsigned(delta));
}
template <class T>
WF_ATOM T shuffle_down(T value, int delta) {
  static_assert(sizeof(T) == 4);
  return __shfl_down_sync(0xFFFFFFFF, value, unsigned(delta));
}
WF_ATOM uint32_t warp_ballot(bool predicate) { return __ballot_sync(0xFFFFFFFF, predicate); }
WF_ATOM bool warp_any(bool predicate) { return __any_sync(0xFFFFFFFF, predicate); }
WF_ATOM bool warp_all(bool predicate) { return __all_sync(0xFFFFFFFF, predicate); }
// Byte i of the result is the byte of (b:a) that nibble i of the selector names; bit 3 replicates its sign.
WF_ATOM uint32_t byte_permute(uint32_t a, uint32_t b, uint32_t selector) {
  uint32_t r;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(selector));
  return r;
}
// a & mask | bits in one instruction: two constants make the compiler take two.
WF_ATOM uint32_t select_bits(uint32_t a, uint32_t mask, uint32_t bits) {
  uint32_t r;
  asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(r) : "r"(a), "r"(mask), "r"(bits));
  return r;
}

// ---- Numbers: round to nearest even; NaN stays NaN.
WF_ATOM float to_float(bf16 x) { return __uint_as_float(uint32_t(x.bits) << 16); }
WF_ATOM float to_float(f16 x) { return __half2float(__ushort_as_half(x.bits)); }
WF_ATOM float to_float(e4m3 x) { return __half2float(__half(__nv_cvt_fp8_to_halfraw(x.bits, __NV_E4M3))); }
WF_ATOM float to_float(e5m2 x) { return __half2float(__half(__nv_cvt_fp8_to_halfraw(x.bits, __NV_E5M2))); }
WF_ATOM bf16 to_bf16(float x) { return {__bfloat16_as_ushort(__float2bfloat16_rn(x))}; }
WF_ATOM f16 to_f16(float x) { return {__half_as_ushort(__float2half_rn(x))}; }
WF_ATOM uint32_t pack_bf16(float low, float high) {
  uint32_t r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
WF_ATOM uint32_t pack_f16(float low, float high) {
  uint32_t r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
// In the lower 16 bits; beyond 448 saturates.
WF_ATOM uint32_t pack_e4m3(float low, float high) {
  uint16_t r;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(high), "f"(low));
  return r;
}
// Both halves of a pair; each sum rounded once.
WF_ATOM uint32_t add_bf16x2(uint32_t a, uint32_t b) {
  uint32_t r;
  asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
// a / b within 2 units in the last place; 0 where |b| > 2^126.
WF_ATOM float divide_approx(float a, float b) { return __fdividef(a, b); }
// a b + c, rounded once.
WF_ATOM float multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
// 2^x within 2 units in the last place; subnormal results are 0.
WF_ATOM float exp2_approx(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

}  // namespace WF_TARGET
}  // namespace warpfold::hopper
