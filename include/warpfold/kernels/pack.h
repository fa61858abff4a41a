// Two results of 16 bits in a register.
#pragma once

#include "warpfold/hopper/hopper.h"

namespace warpfold::kernels {
inline namespace WF_TARGET {

template <class Element>
WF_ATOM uint32_t pack(float low, float high) {
  if constexpr (__is_same(Element, hopper::bf16))
    return hopper::pack_bf16(low, high);
  else
    return hopper::pack_f16(low, high);
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels
