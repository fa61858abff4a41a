#include "warpfold/core/half.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace warpfold {
namespace {

// The value of a finite fp16 code by its definition: (-1)^s 2^(e-15) 1.m, or 2^-14 0.m when e = 0.
double by_definition(std::uint16_t h) {
  const int e = (h >> 10) & 31, m = h & 1023;
  const double v = e == 0 ? std::ldexp(m, -24) : std::ldexp(1024 + m, e - 25);
  return h & 0x8000 ? -v : v;
}

TEST(Half, EveryCodeConvertsExactlyAndRoundTrips) {
  for (int i = 0; i < 65536; ++i) {
    const auto h = static_cast<std::uint16_t>(i);
    if (((h >> 10) & 31) == 31) {
      const float f = f16_to_f32(h);
      EXPECT_EQ(std::isnan(f), (h & 1023) != 0);
      if (std::isnan(f)) {
        EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(f))));
      }
      continue;
    }
    EXPECT_EQ(f16_to_f32(h), by_definition(h)) << i;
    EXPECT_EQ(f32_to_f16(f16_to_f32(h)), h) << i;
  }
}

TEST(Half, RoundsTiesToEvenBetweenEveryTwoNeighbours) {
  for (int i = 0; i < 0x7bff; ++i) {
    const auto lo = static_cast<std::uint16_t>(i), hi = static_cast<std::uint16_t>(i + 1);
    const float middle = 0.5f * (f16_to_f32(lo) + f16_to_f32(hi));
    EXPECT_EQ(f32_to_f16(middle), i % 2 ? hi : lo) << i;
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), lo) << i;
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, 1e9f)), hi) << i;
  }
  EXPECT_EQ(f32_to_f16(65519.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
}

TEST(Half, BFloat16RoundsToNearestEven) {
  EXPECT_EQ(f32_to_bf16(1.0f), 0x3f80);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);  // tie, even below
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);  // tie, even above
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_EQ(bf16_to_f32(f32_to_bf16(std::numeric_limits<float>::max())), std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace warpfold
