// Synthesis: known tiles get their known swizzle, the counts are those of the arrangement, and no candidate
// is better.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "warpfold/layout/hardware/synthesis.h"

namespace warpfold::layout::hardware {
namespace {

TilePattern pattern(SharedAccess access, std::string_view lanes) { return {access, *parse_layout(lanes), 1}; }

TEST(Synthesis, RowsOf128BytesGetTheWidestTmaSwizzle) {
  // Written row by row with 128-bit stores, read by ldmatrix as 16 x 16 pieces.
  const TilePattern patterns[] = {pattern(SharedAccess::b128, "(8,4,16):(16,128,512)"),
                                  pattern(SharedAccess::matrix_x4, "(16,2,4,4):(128,16,2048,32)")};
  const auto s = synthesise(64, 128, patterns, 2);
  ASSERT_TRUE(s) << s.reason().view();
  EXPECT_EQ(s->best, (Arrangement{{3, 4, 3}, 0, true}));
  EXPECT_EQ(s->wavefronts, 128);
  EXPECT_EQ(s->ideal, 128);
  EXPECT_EQ(s->plain, 64 + 512);
  EXPECT_EQ(s->plain_of[0], 64);
  EXPECT_EQ(s->plain_of[1], 512);
  EXPECT_EQ(s->best_of[1], 64);
}

TEST(Synthesis, ShorterRowsGetTheNarrowerSwizzles) {
  const TilePattern rows64[] = {pattern(SharedAccess::matrix_x4, "(16,2):(64,16)")};
  EXPECT_EQ(synthesise(16, 64, rows64, 1)->best, (Arrangement{{2, 4, 3}, 0, true}));
  const TilePattern rows32[] = {pattern(SharedAccess::matrix_x4, "(16,2):(32,16)")};
  EXPECT_EQ(synthesise(16, 32, rows32, 1)->best, (Arrangement{{1, 4, 3}, 0, true}));
  const TilePattern rows16[] = {pattern(SharedAccess::matrix_x1, "8:16")};
  EXPECT_EQ(synthesise(8, 16, rows16, 1)->best, (Arrangement{{}, 0, true})) << "nothing to do";
}

// Two rows of 128 bytes, every other unit of 16: Sw<1,4,3> would do, but TMA writes 128-byte rows under Sw<3,4,3> only.
TEST(Synthesis, WhatTmaWritesComesFirst) {
  const TilePattern patterns[] = {pattern(SharedAccess::matrix_x1, "(2,4):(128,32)")};
  const auto s = synthesise(8, 128, patterns, 1);
  EXPECT_EQ(s->plain, 2);
  EXPECT_EQ(s->best, (Arrangement{{3, 4, 3}, 0, true}));
  EXPECT_EQ(s->wavefronts, 1);
}

TEST(Synthesis, TransposeOfWordsNeedsFiveBits) {
  const TilePattern patterns[] = {pattern(SharedAccess::b32, "(32,32):(4,128)"),
                                  pattern(SharedAccess::b32, "(32,32):(128,4)")};
  const auto s = synthesise(32, 128, patterns, 2);
  EXPECT_EQ(s->best, (Arrangement{{5, 2, 5}, 0, false}));
  EXPECT_EQ(s->wavefronts, s->ideal);
}

TEST(Synthesis, TilesThatNoSwizzlePermutesArePadded) {
  // 36 rows of 192 bytes: no power of two beyond 2^8 divides the tile.
  const TilePattern patterns[] = {pattern(SharedAccess::matrix_x4, "(16,2):(192,16)"),
                                  pattern(SharedAccess::b128, "(4,8):(16,192)")};
  const auto s = synthesise(36, 192, patterns, 2);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->wavefronts, s->ideal);
  // 30 x 30 words, columns read: pitch 30 words is 2-way.
  const TilePattern columns[] = {pattern(SharedAccess::b32, "32:116")};
  const auto odd = synthesise(33, 116, columns, 1);
  EXPECT_EQ(odd->best.padding, 0) << "29 is odd: plain is free";
  const TilePattern even[] = {pattern(SharedAccess::b32, "32:120")};
  const auto two = synthesise(33, 120, even, 1);
  EXPECT_EQ(two->plain, 2);
  EXPECT_EQ(two->wavefronts, 1);
}

// The winner's count is real, the swizzle permutes the tile, and no swizzle of the whole family does better.
TEST(Synthesis, ExhaustsTheFamily) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 60; ++round) {
    const int64_t row_bytes = int64_t{16} << random() % 5, rows = int64_t{8} << random() % 4;
    const int64_t bytes = rows * row_bytes;
    const SharedAccess access = random() % 2 == 0 ? SharedAccess::b128 : SharedAccess::matrix_x4;
    LayoutBuilder b;
    b.begin();
    for (int i = 0; i < 5; ++i)
      b.add(2, static_cast<int64_t>(random() % 5 == 0 ? 0 : int64_t{16} << random() % 5));
    b.end();
    if (b.layout().highest() + 16 > bytes) continue;
    const TilePattern p{access, b.layout(), 1};
    const auto s = synthesise(rows, row_bytes, &p, 1);
    ASSERT_TRUE(s) << s.reason().view();
    const auto count = [&](const Swizzle& w) {
      return bank_conflicts(access, [&](int lane) { return w(p.lanes(lane)); })->total;
    };
    if (s->best.padding == 0) {
      ASSERT_EQ(count(s->best.swizzle), s->wavefronts);
      std::set<int64_t> image;
      for (int64_t x = 0; x < bytes; ++x) image.insert(s->best.swizzle(x));
      ASSERT_EQ(static_cast<int64_t>(image.size()), bytes);
      ASSERT_EQ(*image.rbegin(), bytes - 1);
    }
    ASSERT_EQ(count({}), s->plain);
    for (int bits = 1; bits <= 6; ++bits)
      for (int base = 4; base <= 10; ++base)
        for (int shift = bits; shift <= 8; ++shift)
          if (bytes % (int64_t{1} << (base + bits)) == 0) {
            ASSERT_GE(count({bits, base, shift}), s->wavefronts);
          }
  }
}

TEST(Synthesis, Refusals) {
  const TilePattern p = pattern(SharedAccess::b128, "32:16");
  EXPECT_EQ(std::string(synthesise(4, 64, &p, 1).reason().view()),
            "pattern 0 accesses 16 bytes at byte 496, outside the tile of 256 bytes");
  EXPECT_EQ(std::string(synthesise(4, 64, &p, 0).reason().view()), "0 access patterns; allowed are 1 to 8");
  EXPECT_EQ(std::string(synthesise(0, 64, &p, 1).reason().view()),
            "a tile of 0 rows of 64 bytes is none; it has 1 to 262144 bytes");
  const TilePattern endless = pattern(SharedAccess::b128, "(4,1000000000):(16,0)");
  EXPECT_EQ(std::string(synthesise(4, 64, &endless, 1).reason().view()),
            "pattern 0 has 4000000000 lanes; all patterns together have at most 262144, and one that occurs "
            "often is given "
            "a weight");
  TilePattern heavy = pattern(SharedAccess::b128, "(4,8):(16,0)");
  heavy.weight = int64_t{1} << 62;
  EXPECT_EQ(std::string(synthesise(4, 64, &heavy, 1).reason().view()),
            "pattern 0 has weight 4611686018427387904; allowed are 0 to 4294967296");
}

}  // namespace
}  // namespace warpfold::layout::hardware
