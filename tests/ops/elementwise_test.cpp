// Row-wise operations against float64, on every instruction set that this machine runs.
#include "warpfold/ops/elementwise.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "ops/elementwise_kernels.h"
#include "support/simd_levels.h"

namespace warpfold::ops {
namespace {

constexpr std::int64_t kSizes[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 64, 576, 641};

std::vector<float> normals(std::int64_t n, unsigned seed, float size = 1) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0, size);
  std::vector<float> v(static_cast<std::size_t>(n) + 1, 55.0f);  // the last element is a canary
  for (std::size_t i = 0; i + 1 < v.size(); ++i) v[i] = normal(rng);
  return v;
}

TEST(Elementwise, RmsNorm) {
  for (Simd level : test::simd_levels())
    for (std::int64_t n : kSizes)
      for (float size : {1e-12f, 1.0f, 1e15f}) {
        const auto x = normals(n, 1, size), w = normals(n, 2);
        auto out = normals(n, 3);
        elementwise_kernels(level).rms_norm(x.data(), w.data(), n, 1e-6f, out.data());
        double squares = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) squares += double{x[i]} * x[i];
        const double factor = 1 / std::sqrt(squares / static_cast<double>(n) + double{1e-6f});
        // The fp32 sum of n squares errs by at most n 2^-24, its root by half of that, then three roundings.
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
          EXPECT_NEAR(out[i], x[i] * factor * w[i], std::abs(x[i] * factor * w[i]) * (static_cast<double>(n) / 2 + 4) * 0x1p-24);
        EXPECT_EQ(out[static_cast<std::size_t>(n)], 55.0f);
      }
}

TEST(Elementwise, AddAndScale) {
  for (Simd level : test::simd_levels())
    for (std::int64_t n : kSizes) {
      const auto x = normals(n, 1), y = normals(n, 2);
      auto sum = x, scaled = x;
      elementwise_kernels(level).add(sum.data(), y.data(), n);
      elementwise_kernels(level).scale(scaled.data(), 3.5f, n);
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        EXPECT_EQ(sum[i], x[i] + y[i]);
        EXPECT_EQ(scaled[i], x[i] * 3.5f);
      }
      EXPECT_EQ(sum.back(), 55.0f);
      EXPECT_EQ(scaled.back(), 55.0f);
    }
}

TEST(Elementwise, RotateTurnsPairsByTheirAngles) {
  for (Simd level : test::simd_levels())
    for (std::int64_t d : {2, 6, 16, 24, 64, 256})
      for (bool interleaved : {false, true}) {
        const auto x = normals(d, 1), angle = normals(d / 2, 2, 10);
        std::vector<float> c, s;
        for (float a : angle) {
          c.push_back(std::cos(a));
          s.push_back(std::sin(a));
        }
        auto y = x;
        elementwise_kernels(level).rotate(y.data(), c.data(), s.data(), d, interleaved);
        for (std::int64_t i = 0; i < d / 2; ++i) {
          const auto a = static_cast<std::size_t>(interleaved ? 2 * i : i);
          const auto b = static_cast<std::size_t>(interleaved ? 2 * i + 1 : i + d / 2);
          const auto k = static_cast<std::size_t>(i);
          EXPECT_NEAR(y[a], double{x[a]} * c[k] - double{x[b]} * s[k], 4 * 0x1p-24 * (std::abs(x[a]) + std::abs(x[b])));
          EXPECT_NEAR(y[b], double{x[a]} * s[k] + double{x[b]} * c[k], 4 * 0x1p-24 * (std::abs(x[a]) + std::abs(x[b])));
        }
        EXPECT_EQ(y.back(), 55.0f);
      }
}

TEST(Elementwise, GatedActivations) {
  for (Simd level : test::simd_levels())
    for (Activation a : {Activation::kSilu, Activation::kGeluTanh})
      for (std::int64_t n : kSizes) {
        auto gate = normals(n, 1, 4);
        const auto up = normals(n, 2);
        if (n > 7) {  // far ends
          gate[0] = -200;
          gate[1] = 200;
          gate[2] = -1e4f;
          gate[3] = 0;
        }
        auto out = normals(n, 3);
        elementwise_kernels(level).gated(a, gate.data(), up.data(), n, out.data());
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
          const double x = gate[i];
          // (1 + tanh(y)) / 2 = 1 / (1 + exp(-2 y)), which keeps its digits where tanh(y) is near -1.
          const double z = a == Activation::kSilu ? x : 2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
          const double act = x / (1 + std::exp(-z));
          // exp(-z) is good to a few units in the last place of z: relative error |z| 2^-24, |z| < 88 where it matters;
          // and values below 1e-30 are as good as zero.
          EXPECT_NEAR(out[i], act * up[i], std::abs(act * up[i]) * 100 * 0x1p-24 + 1e-30) << simd_name(level) << " x=" << x;
        }
        EXPECT_EQ(out.back(), 55.0f);
      }
}

}  // namespace
}  // namespace warpfold::ops
