// Activations, in fp32, from exp2 and a division.
//
//   ReLU       max (y, 0); NaN stays NaN
//   SiLU       y / (1 + e^-y)
//   GELU tanh  y / (1 + e^-2z), z = sqrt(2/pi) (y + 0.044715 y^3): the same as 0.5 y (1 + tanh z)
//   GELU erf   y * Phi (y); Phi (-|y|) = 0.5 e^(-y^2/2) P (t), t = 1 / (1 + 0.3275911 |y| / sqrt 2), by Abramowitz
//              and Stegun 7.1.26: Phi is off by at most 0.75e-7
//
// The quotients use the chip's approximate exp2 (2 units in the last place, results below 2^-126 are 0), so SiLU and
// GELU tanh are within 2^-20 of |y|, far below a unit of bf16 or fp16.
#pragma once

#include "warpfold/hopper/hopper.h"
#include "warpfold/kernels/gemm/gemm.h"

namespace warpfold::kernels::gemm {

inline namespace WF_TARGET {

// y / (1 + 2^x), where y / 2^x goes to 0: so does an infinite y.
WF_ATOM float over_one_plus_exp2(float y, float x) {
  const float below = 1 + hopper::exp2_approx(x);
  return below > 8e37f ? 0 : hopper::divide_approx(y, below);
}

WF_ATOM float activate(float y, Activation f) {
  constexpr float log2_e = 1.4426950408889634f;
  switch (f) {
    case Activation::none:
      return y;
    case Activation::relu:
      return y < 0 ? 0 : y;
    case Activation::silu:
      return over_one_plus_exp2(y, -log2_e * y);
    case Activation::gelu_tanh:
      return over_one_plus_exp2(y, (-2 * log2_e * 0.7978845608028654f) * (y + 0.044715f * y * y * y));
    case Activation::gelu_erf: {
      const float size = y < 0 ? -y : y;
      const float t = hopper::divide_approx(1, 1 + 0.3275911f * 0.7071067811865476f * size);
      const float p =
          t * (0.254829592f +
               t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
      const float below = 0.5f * p * hopper::exp2_approx(-0.5f * log2_e * y * y);  // Phi (-|y|)
      if (size > 3e38f) return y < 0 ? 0 : y;
      return y * (y < 0 ? below : 1 - below);
    }
  }
  return y;
}
WF_ATOM void activate(float (&y)[4], Activation f) {
  if (f == Activation::none) return;
  WF_UNROLL
  for (int i = 0; i < 4; ++i) y[i] = activate(y[i], f);
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
