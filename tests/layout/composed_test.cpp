// Composed layouts against their values, and the grade of products.
#include <gtest/gtest.h>

#include <algorithm>

#include "oracle.h"

namespace warpfold::layout {
namespace {

using oracle::flat;
using oracle::text;

int64_t value(const ComposedLayout& c, int64_t x) { return c.swizzle(c.offset + oracle::value(c.layout, x)); }

ComposedLayout random_composed(std::mt19937_64& random) {
  std::vector<int64_t> shape, stride;
  const auto pick = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  int64_t extent = 1;
  for (int64_t rank = 1 + pick(3); rank > 0; --rank) {
    shape.push_back(pick(4) == 0 ? 1 + pick(6) : int64_t{1} << pick(4));
    stride.push_back(pick(3) == 0 ? pick(9) : extent);
    extent *= shape.back();
  }
  const int bits = static_cast<int>(pick(3)), shift = bits + static_cast<int>(pick(3));
  return {*make_swizzle(bits, pick(3), pick(2) ? shift : -shift), pick(3) == 0 ? pick(20) : 0,
          flat(shape, stride)};
}

TEST(Composed, OperationsOnTheRightKeepTheFunction) {
  std::mt19937_64 random(21);
  int composed = 0, divided = 0;
  for (int i = 0; i < 20'000; ++i) {
    const ComposedLayout c = random_composed(random);
    const Layout b = random_composed(random).layout;
    const Verdict<ComposedLayout> v = compose(c, b), d = divide(c, b);
    for (int64_t x = 0; v.ok() && x < b.size(); ++x) ASSERT_EQ(value(*v, x), value(c, oracle::value(b, x)));
    for (int64_t x = 0; d.ok() && x < b.size(); ++x) ASSERT_EQ(value(*d, x), value(c, oracle::value(b, x)));
    for (int64_t x = 0; x < c.size(); ++x) ASSERT_EQ(value(coalesce(c), x), value(c, x));
    const int64_t at = static_cast<int64_t>(random() % static_cast<uint64_t>(c.layout.mode(0).size()));
    if (c.layout.rank() == 2) {
      const Verdict<ComposedLayout> s = slice(c, ints(at, all));
      for (int64_t x = 0; x < c.layout.mode(1).size(); ++x) ASSERT_EQ(value(*s, x), c(ints(at, x)));
    }
    composed += v.ok();
    divided += d.ok();
  }
  EXPECT_GE(composed, 5'000);
  EXPECT_GE(divided, 3'000);
}

TEST(Composed, FirstDifferenceAgainstTheValues) {
  std::mt19937_64 random(22);
  int alike = 0;
  for (int i = 0; i < 40'000; ++i) {
    const ComposedLayout a = random_composed(random);
    ComposedLayout b = random_composed(random);
    if (i % 2 == 0) b.layout = a.layout;
    if (i % 4 == 0) b.offset = a.offset;
    int64_t first = -1;
    for (int64_t x = 0; x < std::min(a.size(), b.size()) && first < 0; ++x)
      if (value(a, x) != value(b, x)) first = x;
    const Verdict<int64_t> v = first_difference(a, b);
    ASSERT_TRUE(v.ok());
    ASSERT_EQ(*v, first) << to_text(a).view() << "   " << to_text(b).view();
    alike += first < 0;
  }
  EXPECT_GE(alike, 2'000);
  // Sizes past enumeration: linear ones are decided, others are not.
  const ComposedLayout large{{3, 4, 3}, 0, oracle::read("(1073741824,1024):(1024,1)")};
  EXPECT_EQ(*first_difference(large, {{2, 4, 3}, 0, large.layout}), int64_t{1} << 39)
      << "the index of offset 2^9";
  EXPECT_EQ(first_difference(large, {{3, 4, 3}, 1, large.layout}, 0).why.reason, Reason::undecided);
}

TEST(Composed, InversesAreTwoSided) {
  std::mt19937_64 random(23);
  int found = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const ComposedLayout c = random_composed(random);
    const Verdict<ComposedLayout> v = inverse(c);
    std::set<int64_t> image;
    for (int64_t x = 0; x < c.size(); ++x) image.insert(value(c, x));
    const bool bijection = static_cast<int64_t>(image.size()) == c.size() && *image.begin() == 0 &&
                           *image.rbegin() == c.size() - 1;
    ASSERT_TRUE(bijection || !v.ok()) << to_text(c).view();
    for (int64_t x = 0; v.ok() && x < c.size(); ++x) {
      ASSERT_EQ(value(*v, value(c, x)), x) << to_text(c).view();
      ASSERT_EQ(value(c, value(*v, x)), x) << to_text(c).view();
    }
    (v.ok() ? found : refused) += bijection;
  }
  EXPECT_GE(found, 1'000);
  EXPECT_EQ(text(inverse({{1, 0, 1}, 0, oracle::read("6:1")}).reason()),
            "not linear over GF(2): mode 0 has size 6, which is no power of two");
}

// A product is `overlapping` exactly when two indices that differ in a moving mode share an offset.
TEST(Products, OverlapIsGraded) {
  std::mt19937_64 random(24);
  int overlapping = 0, apart = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<int64_t> n(2), d(2), m(2), e(2);
    for (int k = 0; k < 2; ++k)
      n[k] = 1 + static_cast<int64_t>(random() % 4), d[k] = static_cast<int64_t>(random() % 7),
      m[k] = 1 + static_cast<int64_t>(random() % 3), e[k] = static_cast<int64_t>(random() % 4);
    const Layout a = flat(n, d), b = flat(m, e);
    const Verdict<Layout> v = i % 2 == 0   ? product_modes(a, b)
                              : i % 3 == 0 ? blocked_product(a, b)
                                           : product(a, b);
    if (!v.ok()) continue;
    Layout moving = *v;
    for (int k = 0; k < moving.leaves(); ++k)
      if (moving.stride[k] == 0) moving.shape[k] = 1;
    const std::vector<int64_t> offsets = oracle::values(moving);
    const bool shared = std::set<int64_t>(offsets.begin(), offsets.end()).size() != offsets.size();
    ASSERT_EQ(v.grade == Grade::overlapping, shared) << text(*v);
    (shared ? overlapping : apart) += 1;
    if (!shared) continue;
    const Why why = overlap(*v).why;
    ASSERT_NE(why.n[0], why.n[1]);
    ASSERT_EQ(oracle::value(*v, why.n[0]), why.n[2]) << text(*v);
    ASSERT_EQ(oracle::value(*v, why.n[1]), why.n[2]) << text(*v);
  }
  EXPECT_GE(overlapping, 500);
  EXPECT_GE(apart, 3'000);
}

}  // namespace
}  // namespace warpfold::layout
