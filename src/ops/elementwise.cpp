// Vectorised row-wise operations; see the header for the formulas.
#include "ops/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise.cpp"
#include "hwy/foreach_target.h"
// After foreach_target, as Highway asks.
#include <cmath>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "ops/elementwise_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::ops {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using VFloats = hn::Vec<Floats>;
constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(Floats()));

// Calls body(i, lanes) over [0, n): whole vectors, then one partial.
template <class Body>
HWY_INLINE void for_lanes(std::int64_t n, Body body) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, static_cast<std::size_t>(kLanes));
  if (i < n) body(i, static_cast<std::size_t>(n - i));
}

HWY_INLINE VFloats load(const float* p, std::size_t lanes) {
  if (lanes == static_cast<std::size_t>(kLanes)) return hn::LoadU(Floats(), p);
  HWY_ALIGN float tmp[16] = {};
  for (std::size_t i = 0; i < lanes; ++i) tmp[i] = p[i];
  return hn::Load(Floats(), tmp);
}
HWY_INLINE void store(VFloats v, float* p, std::size_t lanes) {
  if (lanes == static_cast<std::size_t>(kLanes)) {
    hn::StoreU(v, Floats(), p);
    return;
  }
  HWY_ALIGN float tmp[16];
  hn::Store(v, Floats(), tmp);
  for (std::size_t i = 0; i < lanes; ++i) p[i] = tmp[i];
}

void rms_norm(const float* x, const float* weight, std::int64_t n, float epsilon, float* out) {
  const Floats d;
  VFloats squares = hn::Zero(d);
  for_lanes(n, [&](std::int64_t i, std::size_t lanes) {
    const auto v = load(x + i, lanes);
    squares = hn::MulAdd(v, v, squares);
  });
  const float mean = hn::GetLane(hn::SumOfLanes(d, squares)) / static_cast<float>(n);
  const auto factor = hn::Set(d, 1.0f / std::sqrt(mean + epsilon));
  for_lanes(n, [&](std::int64_t i, std::size_t lanes) {
    store(hn::Mul(hn::Mul(load(x + i, lanes), factor), load(weight + i, lanes)), out + i, lanes);
  });
}

void layer_norm(const float* x, const float* weight, const float* bias, std::int64_t n, float epsilon, float* out) {
  const Floats d;
  VFloats sum = hn::Zero(d);
  for_lanes(n, [&](std::int64_t i, std::size_t lanes) { sum = hn::Add(sum, load(x + i, lanes)); });
  const auto mean = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, sum)) / static_cast<float>(n));
  VFloats squares = hn::Zero(d);
  for_lanes(n, [&](std::int64_t i, std::size_t lanes) {
    const auto v = hn::IfThenElseZero(hn::FirstN(d, lanes), hn::Sub(load(x + i, lanes), mean));
    squares = hn::MulAdd(v, v, squares);
  });
  const float variance = hn::GetLane(hn::SumOfLanes(d, squares)) / static_cast<float>(n);
  const auto factor = hn::Set(d, 1.0f / std::sqrt(variance + epsilon));
  for_lanes(n, [&](std::int64_t i, std::size_t lanes) {
    const auto v = hn::Mul(hn::Sub(load(x + i, lanes), mean), factor);
    store(hn::MulAdd(v, load(weight + i, lanes), load(bias + i, lanes)), out + i, lanes);
  });
}

void add(float* x, const float* y, std::int64_t n) {
  for_lanes(n, [&](std::int64_t i, std::size_t lanes) { store(hn::Add(load(x + i, lanes), load(y + i, lanes)), x + i, lanes); });
}

void scale(float* x, float factor, std::int64_t n) {
  const auto f = hn::Set(Floats(), factor);
  for_lanes(n, [&](std::int64_t i, std::size_t lanes) { store(hn::Mul(load(x + i, lanes), f), x + i, lanes); });
}

void rotate(float* x, const float* cosine, const float* sine, std::int64_t head_dim, bool interleaved) {
  const std::int64_t half = head_dim / 2;
  if (interleaved) {
    for (std::int64_t i = 0; i < half; ++i) {
      const float a = x[2 * i], b = x[2 * i + 1];
      x[2 * i] = a * cosine[i] - b * sine[i];
      x[2 * i + 1] = a * sine[i] + b * cosine[i];
    }
    return;
  }
  for_lanes(half, [&](std::int64_t i, std::size_t lanes) {
    const auto a = load(x + i, lanes), b = load(x + half + i, lanes);
    const auto c = load(cosine + i, lanes), s = load(sine + i, lanes);
    store(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), x + i, lanes);
    store(hn::MulAdd(a, s, hn::Mul(b, c)), x + half + i, lanes);
  });
}

// 1 + erf(x / sqrt(2)), by 7.1.26 of Abramowitz and Stegun: with y = |x| / sqrt(2) and t = 1 / (1 + 0.3275911 y),
// erfc(y) = t (a1 + t (a2 + t (a3 + t (a4 + t a5)))) exp(-y^2) for y >= 0, and erf(-y) = -erf(y).
HWY_INLINE VFloats one_plus_erf(VFloats x) {
  const Floats d;
  const auto y = hn::Mul(hn::Abs(x), hn::Set(d, 0.70710678118654752f)), one = hn::Set(d, 1.0f);
  const auto t = hn::Div(one, hn::MulAdd(y, hn::Set(d, 0.3275911f), one));
  auto p = hn::MulAdd(t, hn::Set(d, 1.061405429f), hn::Set(d, -1.453152027f));
  p = hn::MulAdd(t, p, hn::Set(d, 1.421413741f));
  p = hn::MulAdd(t, p, hn::Set(d, -0.284496736f));
  p = hn::Mul(t, hn::MulAdd(t, p, hn::Set(d, 0.254829592f)));
  const auto complement = hn::Mul(p, hn::Exp(d, hn::Max(hn::Neg(hn::Mul(y, y)), hn::Set(d, -87.0f))));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), complement, hn::Sub(hn::Set(d, 2.0f), complement));
}

HWY_INLINE VFloats act(Activation activation, VFloats x) {
  const Floats d;
  if (activation == Activation::kRelu) return hn::Max(x, hn::Zero(d));
  if (activation == Activation::kGelu) return hn::Mul(hn::Mul(x, hn::Set(d, 0.5f)), one_plus_erf(x));
  // Both are x * sigmoid(z): z = x, or z = 2 sqrt(2 / pi) (x + 0.044715 x^3), since 1 + tanh(y) = 2 sigmoid(2 y).
  const auto linear = hn::Set(d, 1.5957691216057308f), cubic = hn::Set(d, 0.07135481282052f);
  const auto z = activation == Activation::kSilu ? x : hn::Mul(x, hn::MulAdd(cubic, hn::Mul(x, x), linear));
  // exp(-z) up to 2^126 is enough: beyond, the sigmoid is 0 in fp32 next to any x.
  const auto e = hn::Exp(d, hn::Min(hn::Neg(z), hn::Set(d, 87.0f)));
  return hn::Div(x, hn::Add(hn::Set(d, 1.0f), e));
}

void activate(Activation activation, const float* bias, std::int64_t n, float* x) {
  for_lanes(n, [&](std::int64_t i, std::size_t lanes) {
    const auto v = load(x + i, lanes);
    store(act(activation, bias ? hn::Add(v, load(bias + i, lanes)) : v), x + i, lanes);
  });
}

void gated(Activation activation, const float* gate, const float* up, std::int64_t n, float* out) {
  for_lanes(n, [&](std::int64_t i, std::size_t lanes) {
    store(hn::Mul(act(activation, load(gate + i, lanes)), load(up + i, lanes)), out + i, lanes);
  });
}

extern const ElementwiseKernels kElementwise;
const ElementwiseKernels kElementwise{rms_norm, layer_norm, add, scale, rotate, activate, gated};

}  // namespace HWY_NAMESPACE
}  // namespace warpfold::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::ops {

const ElementwiseKernels& elementwise_kernels(Simd level) { return *WARPFOLD_PICK(kElementwise, level); }

void rms_norm(const float* x, const float* weight, std::int64_t n, float epsilon, float* out) {
  elementwise_kernels().rms_norm(x, weight, n, epsilon, out);
}
void layer_norm(const float* x, const float* weight, const float* bias, std::int64_t n, float epsilon, float* out) {
  elementwise_kernels().layer_norm(x, weight, bias, n, epsilon, out);
}
void activate(Activation activation, const float* bias, std::int64_t n, float* x) {
  elementwise_kernels().activate(activation, bias, n, x);
}
void add(float* x, const float* y, std::int64_t n) { elementwise_kernels().add(x, y, n); }
void scale(float* x, float factor, std::int64_t n) { elementwise_kernels().scale(x, factor, n); }
void rotate(float* x, const float* cosine, const float* sine, std::int64_t head_dim, bool interleaved) {
  elementwise_kernels().rotate(x, cosine, sine, head_dim, interleaved);
}
void gated(Activation activation, const float* gate, const float* up, std::int64_t n, float* out) {
  elementwise_kernels().gated(activation, gate, up, n, out);
}

}  // namespace warpfold::ops
#endif
