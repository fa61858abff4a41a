// Thread-value layouts against the element positions that the PTX instruction set documents, written as
// formulas.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "warpfold/layout/hardware/fragments.h"

namespace warpfold::layout::hardware {
namespace {

// Checks every thread and value against row(group, in_group, i) and column(...), and that the fragment is a
// bijection on its tile. Warp w of a warpgroup holds rows 16 w and up.
template <class Row, class Column>
void expect_positions(const Layout& fragment, int64_t rows, int64_t columns, Row row, Column column) {
  ASSERT_EQ(fragment.rank(), 2);
  ASSERT_EQ(fragment.size(), rows * columns);
  std::set<int64_t> seen;
  for (int t = 0; t < fragment.mode(0).size(); ++t)
    for (int i = 0; i < fragment.mode(1).size(); ++i) {
      const int group = t % 32 / 4, in_group = t % 4;
      const int64_t at = 16 * (t / 32) + row(group, in_group, i) + rows * column(group, in_group, i);
      ASSERT_EQ(fragment(t, i), at) << "thread " << t << " value " << i;
      seen.insert(at);
    }
  EXPECT_EQ(static_cast<int64_t>(seen.size()), rows * columns);
}

static_assert((*accumulator_fragment(128))(5, 7) == 1 + 8 + 64 * (8 + 2 + 1));

TEST(Fragments, AccumulatorOfEveryN) {
  for (int64_t n = 8; n <= 256; n += 8) {
    const auto f = accumulator_fragment(n);
    ASSERT_TRUE(f) << n;
    expect_positions(
        *f, 64, n, [](int g, int, int i) { return i % 4 < 2 ? g : g + 8; },
        [](int, int q, int i) { return 8 * (i / 4) + 2 * q + (i & 1); });
  }
  EXPECT_EQ(std::string(to_text(*accumulator_fragment(8)).view()),
            "((4,8,4),(2,2,1)):((128,1,16),(64,8,512))");
  EXPECT_EQ(std::string(accumulator_fragment(12).reason().view()), "no fragment has the shape 64 x 12");
  EXPECT_FALSE(accumulator_fragment(264));
}

TEST(Fragments, AInRegisters) {
  // m64nNk16: a0..a7.
  expect_positions(
      *a_fragment(2), 64, 16, [](int g, int, int i) { return i < 2 || (i >= 4 && i < 6) ? g : g + 8; },
      [](int, int q, int i) { return i < 4 ? 2 * q + (i & 1) : 2 * q + (i & 1) + 8; });
  // m64nNk32: a0..a15.
  expect_positions(
      *a_fragment(1), 64, 32, [](int g, int, int i) { return i < 4 || (i >= 8 && i < 12) ? g : g + 8; },
      [](int, int q, int i) { return i < 8 ? 4 * q + (i & 3) : 4 * q + (i & 3) + 16; });
  // m64nNk8: a0..a3.
  expect_positions(
      *a_fragment(4), 64, 8, [](int g, int, int i) { return i == 0 || i == 2 ? g : g + 8; },
      [](int, int q, int i) { return i < 2 ? q : q + 4; });
  EXPECT_FALSE(a_fragment(8));
}

TEST(Fragments, Matrices) {
  for (const int count : {1, 2, 4}) {
    // Register j of a thread holds two neighbours of row `group` of matrix j; transposed, of column `group`.
    expect_positions(
        *matrix_fragment(count, false), 8, 8 * count, [](int g, int, int) { return g; },
        [](int, int q, int i) { return 2 * q + (i & 1) + 8 * (i / 2); });
    expect_positions(
        *matrix_fragment(count, true), 8, 8 * count, [](int, int q, int i) { return 2 * q + (i & 1); },
        [](int g, int, int i) { return g + 8 * (i / 2); });
    for (int lane = 0; lane < 8 * count; ++lane)
      EXPECT_EQ(matrix_row_lanes(count)(lane), lane % 8 + 64 * (lane / 8));
  }
  EXPECT_FALSE(matrix_fragment(3, false));
}

TEST(Fragments, QuartersOfSixteen) {
  // The registers of an x4 load of a 16 x 16 tile are the first 16 rows of A's fragment.
  for (int lane = 0; lane < 32; ++lane)
    for (int v = 0; v < 8; ++v) {
      const int64_t a = (*a_fragment(2))(lane, v);
      EXPECT_EQ(quarter_fragment()(lane, v), a % 64 + 16 * (a / 64));
    }
  // Lane l addresses the row that ends up in matrix l / 8.
  for (int lane = 0; lane < 32; ++lane) {
    const int matrix = lane / 8;
    EXPECT_EQ(quarter_row_lanes()(lane), lane % 8 + 8 * (matrix % 2) + 16 * (8 * (matrix / 2)));
    for (int q = 0; q < 4; ++q)  // thread 4 (lane % 8) + q holds columns 2q, 2q + 1 of that row
      EXPECT_EQ(quarter_fragment()(4 * (lane % 8) + q, 2 * matrix), quarter_row_lanes()(lane) + 16 * 2 * q);
  }
}

}  // namespace
}  // namespace warpfold::layout::hardware
