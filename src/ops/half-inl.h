// Loads of fp16 as fp32 vectors, exact for every code, NaN and infinities included. Included once for each target.
#if defined(WARPFOLD_OPS_HALF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WARPFOLD_OPS_HALF_INL_H_
#undef WARPFOLD_OPS_HALF_INL_H_
#else
#define WARPFOLD_OPS_HALF_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::ops {
namespace HWY_NAMESPACE {

// Lanes(d) values from `half`; d is a tag of fp32.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_f16(D d, const void* half) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_SSE4  // Highway's emulation takes NaN and infinities for large numbers
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::Rebind<std::uint32_t, D> d32;
  const auto bits = hn::PromoteTo(d32, hn::LoadU(d16, static_cast<const std::uint16_t*>(half)));
  const auto magnitude = hn::And(bits, hn::Set(d32, 0x7fff));
  const auto sign = hn::ShiftLeft<16>(hn::Sub(bits, magnitude));
  // The exponent's bias grows from 15 to 127: times 2^112, which is exact, for subnormal codes too.
  const auto value = hn::Mul(hn::BitCast(d, hn::ShiftLeft<13>(magnitude)), hn::Set(d, 0x1p112f));
  const auto special = hn::Gt(hn::BitCast(hn::Rebind<std::int32_t, D>(), magnitude), hn::Set(hn::Rebind<std::int32_t, D>(), 0x7bff));
  const auto exponent = hn::IfThenElseZero(hn::RebindMask(d, special), hn::BitCast(d, hn::Set(d32, 0x7f800000)));
  return hn::Or(hn::Or(value, exponent), hn::BitCast(d, sign));
#else
  const hn::Rebind<hwy::float16_t, D> d16;
  return hn::PromoteTo(d, hn::LoadU(d16, static_cast<const hwy::float16_t*>(half)));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace warpfold::ops
HWY_AFTER_NAMESPACE();
#endif
