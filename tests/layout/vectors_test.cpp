// Where two layouts first differ and what they share, against brute force.
#include <gtest/gtest.h>

#include "oracle.h"

namespace warpfold::layout {
namespace {

using oracle::flat;
using oracle::read;
using oracle::text;

Layout random_layout(std::mt19937_64& random, int64_t lowest_stride) {
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  std::vector<int64_t> shape, stride;
  for (int64_t rank = pick(1, 3); rank > 0; --rank)
    shape.push_back(pick(1, 5)), stride.push_back(pick(lowest_stride, 8));
  return flat(shape, stride);
}

int64_t common_by_hand(const Layout& a, const Layout& b) {
  const std::vector<int64_t> f = oracle::values(a), g = oracle::values(b);
  std::set<int64_t> shared;
  for (std::size_t x = 0; x < f.size() && x < g.size(); ++x)
    if (f[x] == g[x]) shared.insert(f[x]);
  int64_t n = 0;
  while (shared.count(n)) ++n;
  return n;
}

void expect_common(const Layout& a, const Layout& b) {
  const Verdict<int64_t> v = max_common_vector(a, b);
  ASSERT_TRUE(v.ok()) << text(a) << ' ' << text(b);
  ASSERT_EQ(*v, common_by_hand(a, b)) << text(a) << ' ' << text(b);
}

TEST(CommonVector, AllPairsOfRankTwo) {
  int64_t pairs = 0;
  for (int64_t m0 = 1; m0 <= 6; ++m0)
    for (int64_t m1 = 1; m1 <= 6; ++m1)
      for (int64_t s0 = 1; s0 <= 6; ++s0)
        for (int64_t strides = 0; m0 * m1 % s0 == 0 && strides < 7 * 7 * 7 * 7; ++strides, ++pairs)
          expect_common(flat({m0, m1}, {strides % 7, strides / 7 % 7}),
                        flat({s0, m0 * m1 / s0}, {strides / 49 % 7, strides / 343}));
  EXPECT_GE(pairs, 290'000);
}

TEST(CommonVector, RandomPairs) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 100'000; ++i) expect_common(random_layout(random, -3), random_layout(random, -3));
}

TEST(CommonVector, Rows) {
  EXPECT_EQ(*max_common_vector(read("(3,16):(1,5)"), read("(8,6):(1,16)")), 3);
  EXPECT_EQ(*max_common_vector(read("(2,2):(2,1)"), read("(2,2):(1,1)")), 2);
  EXPECT_EQ(*max_common_vector(read("(1048576,1048576):(1,1048576)"), read("1099511627776:1")),
            int64_t{1} << 40);
  EXPECT_EQ(*max_common_vector(read("(1073741824,4):(0,1)"), read("(1073741824,4):(1,1073741824)")), 1);
  EXPECT_EQ(
      max_common_vector(read("(1048576,1048576):(1,1)"), read("(1048576,1048576):(1,1)"), 1000).why.reason,
      Reason::undecided);
}

// A vector of w elements at steps of s indices, from every index whose digit there is a multiple of w.
bool is_vector(const Layout& a, const Layout& b, int64_t s, int64_t w) {
  if (a.size() % (s * w) != 0) return false;
  for (const Layout* l : {&a, &b})
    for (int64_t x = 0; x < a.size(); ++x)
      if (x / s % w == 0)
        for (int64_t j = 0; j < w; ++j)
          if ((*l)(x) % w != 0 || (*l)(x + j * s) != (*l)(x) + j) return false;
  return true;
}

TEST(VectorWidth, AgainstBruteForce) {
  std::mt19937_64 random(12);
  int wide = 0;
  for (int i = 0; i < 60'000; ++i) {
    std::vector<int64_t> shape, strides[2];
    for (int64_t rank = 1 + static_cast<int64_t>(random() % 3); rank > 0; --rank) {
      shape.push_back(int64_t{1} << random() % 4);
      for (std::vector<int64_t>& stride : strides)
        stride.push_back(std::vector<int64_t>{0, 1, 2, 3, 4, 8, 1, 6}[random() % 8]);
    }
    const Layout a = flat(shape, strides[0]), b = flat(shape, strides[1]);
    const int64_t width = vector_width(a, b, 8);
    int64_t widest = 1;
    for (const int64_t w : {2, 4, 8})
      for (int64_t s = 1; s < a.size(); s *= 2)
        if (is_vector(a, b, s, w)) widest = w;
    ASSERT_EQ(width, widest) << text(a) << ' ' << text(b);
    wide += width > 1;
  }
  EXPECT_GE(wide, 300);
  EXPECT_EQ(vector_width(read("(6,2):(1,8)"), read("(4,3):(1,8)"), 4), 2) << "4 does not divide 6";
}

TEST(FirstDifference, AgainstBruteForce) {
  std::mt19937_64 random(13);
  int found = 0, alike = 0;
  for (int i = 0; i < 100'000; ++i) {
    Layout a = random_layout(random, -1), b = random_layout(random, -1);
    if (i % 2 == 0) {  // long common starts
      b = a;
      int64_t* const numbers = i % 4 == 0 ? b.stride : b.shape;
      numbers[random() % static_cast<unsigned>(a.leaves())] += 1;
    }
    int64_t first = -1, extended = -1;
    for (int64_t x = 0; x < std::min(a.size(), b.size()) && first < 0; ++x)
      if (oracle::value(a, x) != oracle::value(b, x)) first = x;
    for (int64_t x = 0; x < 1000 && extended < 0; ++x)
      if (oracle::value(a, x) != oracle::value(b, x)) extended = x;
    ASSERT_EQ(first_difference(a, b), first) << text(a) << ' ' << text(b);
    ASSERT_EQ(first_extended_difference(a, b), extended) << text(a) << ' ' << text(b);
    (first < 0 ? alike : found) += 1;
  }
  EXPECT_GE(found, 10'000);
  EXPECT_GE(alike, 1'000);
  EXPECT_EQ(first_difference(read("(1073741824,4):(1,1073741824)"), read("(1073741824,4):(1,1073741825)")),
            1073741824);
}

}  // namespace
}  // namespace warpfold::layout
