// Rows of logits against float64, on every instruction set that this machine runs.
#include "warpfold/ops/logits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "ops/logit_kernels.h"
#include "support/simd_levels.h"

namespace warpfold::ops {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> normals(std::int64_t n, float size, float mean) {
  std::mt19937 rng(static_cast<unsigned>(n));
  std::normal_distribution<float> normal(mean, size);
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& v : x) v = normal(rng);
  return x;
}

double log_total(const std::vector<float>& x) {
  const double largest = *std::max_element(x.begin(), x.end());
  double total = 0;
  for (const float v : x) total += std::exp(v - largest);
  return std::log(total);
}

void check(const std::vector<float>& x, Simd level) {
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<float> maxima(static_cast<std::size_t>(logit_blocks(n)) + 1, 55.0f);  // the last is a canary
  const LogitSummary s = logit_kernels(level).summarise(x.data(), n, maxima.data());
  ASSERT_TRUE(s.valid);
  EXPECT_EQ(s.largest, *std::max_element(x.begin(), x.end()));
  // The bound that the header derives.
  EXPECT_NEAR(s.log_total, log_total(x), (9 + std::log(static_cast<double>(n))) * 0x1p-24)
      << simd_name(level) << " n=" << n;
  for (std::int64_t b = 0; b < logit_blocks(n); ++b)
    EXPECT_EQ(maxima[static_cast<std::size_t>(b)],
              *std::max_element(x.begin() + b * kLogitBlock, x.begin() + std::min(n, (b + 1) * kLogitBlock)));
  EXPECT_EQ(maxima.back(), 55.0f);
}

TEST(Logits, SummaryEqualsFloat64) {
  for (const Simd level : test::simd_levels())
    for (const std::int64_t n : {1, 2, 7, 63, 64, 65, 130, 1000, 32000})
      for (const float size : {0.0f, 0.1f, 3.0f, 40.0f})
        for (const float mean : {0.0f, -300.0f, 5000.0f}) check(normals(n, size, mean), level);
}

TEST(Logits, ExcludedTokensWeighNothing) {
  for (const Simd level : test::simd_levels()) {
    auto x = normals(200, 2, 0);
    for (std::size_t i = 0; i < 100; ++i) x[i] = -kInf;
    check(x, level);
    x.assign(200, -kInf);
    x[131] = 3;
    check(x, level);
    x.assign(200, -kInf);
    std::vector<float> maxima(4);
    const LogitSummary s = logit_kernels(level).summarise(x.data(), 200, maxima.data());
    EXPECT_TRUE(s.valid);
    EXPECT_EQ(s.largest, -kInf);
    EXPECT_EQ(s.log_total, 0);
  }
}

TEST(Logits, NaNAndInfinityAreFoundWhereverTheyAre) {
  for (const Simd level : test::simd_levels())
    for (const float bad : {kInf, std::numeric_limits<float>::quiet_NaN()})
      for (const std::size_t n : {1u, 64u, 77u, 256u})
        for (std::size_t at = 0; at < n; ++at) {
          std::vector<float> x(n, 1.0f), maxima(4);
          x[at] = bad;
          EXPECT_FALSE(
              logit_kernels(level).summarise(x.data(), static_cast<std::int64_t>(n), maxima.data()).valid)
              << simd_name(level) << " " << bad << " at " << at << " of " << n;
        }
}

}  // namespace
}  // namespace warpfold::ops
