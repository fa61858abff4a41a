// The laws of the algebra, exhaustively over small layouts: canonical form, complement (with the necessity of its
// condition), division against the multiset of offsets, inverses, injectivity, GF(2) linearity, permutations.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "oracle.h"

namespace warpfold::layout {
namespace {

using oracle::flat;
using oracle::text;
using oracle::values;

// Calls f for every layout of the given rank with the given sizes and strides.
template <class Function>
void for_each_layout(int rank, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, Function f) {
  std::vector<int64_t> shape, stride;
  const std::function<void()> extend = [&] {
    if (static_cast<int>(shape.size()) == rank) return f(flat(shape, stride));
    for (const int64_t n : sizes)
      for (const int64_t d : strides) {
        shape.push_back(n), stride.push_back(d);
        extend();
        shape.pop_back(), stride.pop_back();
      }
  };
  extend();
}

std::vector<int64_t> range(int64_t low, int64_t high) {
  std::vector<int64_t> r;
  for (int64_t i = low; i <= high; ++i) r.push_back(i);
  return r;
}

TEST(Laws, CanonicalFormIsTheFunction) {
  std::map<std::vector<int64_t>, std::string> form_of;
  std::map<std::string, std::vector<int64_t>> function_of;
  int64_t layouts = 0;
  for (int rank = 1; rank <= 3; ++rank)
    for_each_layout(rank, {1, 2, 3, 4}, rank < 3 ? range(-2, 9) : range(0, 4), [&](const Layout& l) {
      ++layouts;
      const std::string form = text(coalesce(l));
      const auto [entry, is_new] = form_of.try_emplace(values(l), form);
      ASSERT_EQ(entry->second, form) << "one function, two forms: " << text(l);
      ASSERT_EQ(values(coalesce(l)), entry->first) << text(l);
      ASSERT_EQ(function_of.try_emplace(form, values(l)).first->second, values(l)) << "one form, two functions";
      const std::vector<int64_t> table = values(l);
      const Verdict<Layout> back = recognise(table.data(), l.size());
      ASSERT_TRUE(back.ok()) << text(l) << ": " << text(back);
      ASSERT_EQ(text(back.value), form);
    });
  EXPECT_GE(layouts, 10'000);
}

TEST(Laws, RecogniseDecidesEveryTable) {
  int64_t tables = 0;
  for (const int size : {2, 3, 4, 6}) {
    std::vector<int64_t> f(size);
    const int64_t values_each = size == 6 ? 4 : 6;
    int64_t total = 1;
    for (int i = 1; i < size; ++i) total *= values_each;
    for (int64_t code = 0; code < total; ++code, ++tables) {
      int64_t rest = code;
      for (int i = 1; i < size; ++i, rest /= values_each) f[i] = rest % values_each;
      const Verdict<Layout> v = recognise(f.data(), size);
      ASSERT_EQ(v.ok(), oracle::is_layout(f));
      if (v.ok()) {
        ASSERT_EQ(values(v.value), f);
      }
    }
  }
  EXPECT_GE(tables, 1'000);
}

TEST(Laws, ExtendedEquality) {
  std::vector<Layout> layouts;
  for_each_layout(2, {1, 2, 4}, {0, 1, 2, 4}, [&](const Layout& l) { layouts.push_back(l); });
  for (const Layout& a : layouts)
    for (const Layout& b : layouts) {
      bool same = true;
      for (int64_t x = -20; x < 60 && same; ++x) same = oracle::value(a, x) == oracle::value(b, x);
      ASSERT_EQ(equal_extended(a, b), same) << text(a) << ' ' << text(b);
    }
}

// Is some set of shifts T = image of a layout with A + T = [0, m), every value once? The shifts are forced: the
// smallest value not yet covered must be one.
bool complement_exists(const Layout& a, int64_t m) {
  std::vector<int> covered(m, 0);
  std::vector<int64_t> shifts;
  const std::vector<int64_t> tile = values(a);
  for (int64_t x = 0; x < m; ++x) {
    if (covered[x]) continue;
    shifts.push_back(x);
    for (const int64_t offset : tile)
      if (offset < 0 || x + offset >= m || covered[x + offset]++) return false;
  }
  // Any layout with this image has positive strides, so its modes in order of stride list it in ascending order.
  return oracle::is_layout(shifts);
}

TEST(Laws, ComplementExistsExactlyOnItsChain) {
  int64_t pairs = 0, found = 0;
  for (int rank = 1; rank <= 2; ++rank)
    for_each_layout(rank, {1, 2, 3, 4}, rank == 1 ? range(0, 12) : range(0, 8), [&](const Layout& a) {
      for (int64_t m = 1; m <= 36; m += rank == 1 ? 1 : 1 + (a.stride[0] + a.stride[1]) % 2, ++pairs) {
        const Verdict<Layout> v = complement(a, m);
        ASSERT_EQ(v.ok(), complement_exists(a, m)) << text(a) << " in " << m << ": " << text(v);
        if (!v.ok()) continue;
        ++found;
        std::vector<int64_t> both;
        for (const int64_t x : values(v.value))
          for (const int64_t y : values(a)) both.push_back(x + y);
        std::sort(both.begin(), both.end());
        ASSERT_EQ(both, range(0, m - 1)) << text(a) << " in " << m;
        ASSERT_EQ(v->size() * a.size(), m);
        ASSERT_EQ(a.cosize() + v->cosize(), m + 1);
      }
    });
  EXPECT_GE(pairs, 16'464);
  EXPECT_GE(found, 322);
}

TEST(Laws, DivisionKeepsTheOffsets) {
  int64_t exact = 0, padded = 0, refused = 0;
  std::vector<Layout> tiles;
  for_each_layout(1, {1, 2, 3, 4, 6}, {0, 1, 2, 3, 4}, [&](const Layout& l) { tiles.push_back(l); });
  for_each_layout(2, {2, 3, 4}, {1, 2, 3, 6}, [&](const Layout& l) { tiles.push_back(l); });
  for_each_layout(2, {1, 3, 4, 6}, {0, 1, 3, 4, 6, 7}, [&](const Layout& a) {
    for (const Layout& b : tiles) {
      const Verdict<Layout> v = divide(a, b);
      if (!v.ok()) {
        ++refused;
        continue;
      }
      ASSERT_EQ(v->rank(), 2);
      for (int64_t x = 0; x < b.size(); ++x) ASSERT_EQ(v->mode(0)(x), oracle::value(a, b(x))) << text(a) << " / " << text(b);
      std::vector<int64_t> got = values(v.value), whole = values(a);
      std::sort(got.begin(), got.end());
      std::sort(whole.begin(), whole.end());
      if (v.grade == Grade::exact) {
        ++exact;
        ASSERT_EQ(got, whole) << text(a) << " / " << text(b);
      } else {
        ++padded;
        ASSERT_GT(v->size(), a.size());
        ASSERT_TRUE(std::includes(got.begin(), got.end(), whole.begin(), whole.end())) << text(a) << " / " << text(b);
      }
    }
  });
  EXPECT_GE(exact, 3'000);
  EXPECT_GE(padded, 3'000);
  EXPECT_GE(refused, 3'000);
}

// Lays the tile's modes, each after as many copies of what is there as fit below its stride, and counts by hand.
std::vector<int> times_met(const Layout& sorted, int64_t limit) {
  std::vector<int64_t> offsets = {0};
  int64_t extent = 1;
  const auto repeat = [&](int64_t n, int64_t d) {
    const std::vector<int64_t> block = offsets;
    for (int64_t j = 1; j < n; ++j)
      for (const int64_t y : block) offsets.push_back(y + j * d);
  };
  for (int i = 0; i < sorted.leaves(); ++i) {
    const int64_t n = sorted.shape[i], d = sorted.stride[i];
    repeat(d / extent, extent);
    repeat(n, d);
    const bool broken = d % extent != 0, overlaps = d < extent;
    extent = n * d;
    if (!broken) continue;
    if (!overlaps) repeat((limit + extent - 1) / extent, extent);
    break;
  }
  std::vector<int> met(limit, 0);
  for (const int64_t y : offsets)
    if (y < limit) ++met[y];
  return met;
}

// The first mode N:d whose stride no extent divides, and the stride of the mode after it, or m.
struct Broken {
  int64_t size = 0, stride = 0, next = 0;
  bool last = false;
};
Broken broken_mode(const Layout& sorted, int64_t m) {
  int64_t extent = 1;
  int i = 0;
  for (; sorted.stride[i] % extent == 0; ++i) extent = sorted.shape[i] * sorted.stride[i];
  const bool last = i + 1 == sorted.leaves();
  return {sorted.shape[i], sorted.stride[i], last ? m : sorted.stride[i + 1], last};
}

TEST(Laws, LossyDivisionNamesEveryIndex) {
  int64_t missed = 0, repeated = 0;
  const auto decide = [&](const Layout& tile) {
    const Verdict<Layout> v = divide(make_layout(48, 1), tile);
    if (v.why.reason != Reason::lossy) return;
    const LostIndices lost = lost_indices(v.why);
    // The broken mode decides in whole blocks below the next mode; the last one everywhere, and for one block at least.
    const Broken b = broken_mode(sort_modes(tile), 48);
    const int64_t block = b.size * b.stride;
    const int64_t limit = b.last ? std::max(b.next, block) : block <= b.next ? b.next - b.next % block : b.next;
    ASSERT_EQ(lost.limit, std::max(limit, lost.first() + 1)) << text(tile);
    std::vector<int64_t> expected, named;
    const std::vector<int> met = times_met(sort_modes(tile), lost.limit);
    for (int64_t y = 0; y < lost.limit; ++y)
      if (lost.repeated() ? met[y] > 1 : met[y] == 0) expected.push_back(y);
    for (int64_t y = lost.first(); y >= 0; y = lost.next(y)) named.push_back(y);
    ASSERT_EQ(named, expected) << text(tile) << ": " << text(v);
    ASSERT_EQ(static_cast<int64_t>(named.size()), v.why.n[4]) << text(tile);
    ASSERT_EQ(named.back(), lost.last()) << text(tile);
    (lost.repeated() ? repeated : missed) += 1;
  };
  for_each_layout(2, {2, 3, 4}, range(1, 12), decide);
  for_each_layout(3, {2, 3}, range(1, 9), decide);
  EXPECT_GE(missed, 200);
  EXPECT_GE(repeated, 200);
}

// The strides that a lossy refusal proposes divide exactly, and no stride between them does.
TEST(Laws, LossyDivisionProposesTheNearestStridesThatTile) {
  int64_t below = 0, above = 0;
  for_each_layout(2, {2, 3, 4}, range(1, 9), [&](const Layout& tile) {
    const Verdict<Layout> v = divide(make_layout(48, 1), tile);
    if (v.why.reason != Reason::lossy) return;
    const Broken broken = broken_mode(sort_modes(tile), 48);
    const auto tiles = [&](int64_t stride) {
      Layout fixed = sort_modes(tile);
      int offender = fixed.leaves() - 1;  // of equal modes the last
      while (fixed.stride[offender] != v.why.n[2] || fixed.shape[offender] != v.why.n[1]) --offender;
      fixed.stride[offender] = stride;
      const Verdict<Layout> division = divide(make_layout(48, 1), fixed);
      return division.ok() && division.grade == Grade::exact;
    };
    int64_t nearest = 0;
    for (int64_t stride = 1; stride < broken.stride; ++stride)
      if (stride >= lost_indices(v.why).extent && tiles(stride)) nearest = stride;
    ASSERT_EQ(v.why.n[5], nearest) << text(tile);
    nearest = 0;
    for (int64_t stride = broken.next; stride > broken.stride; --stride)
      if (stride >= lost_indices(v.why).extent && tiles(stride)) nearest = stride;
    ASSERT_EQ(v.why.n[6], nearest) << text(tile);
    below += v.why.n[5] > 0;
    above += v.why.n[6] > 0;
  });
  EXPECT_GE(below, 100);
  EXPECT_GE(above, 100);
}

TEST(Laws, ProductRepeatsWithoutOverlap) {
  int64_t products = 0;
  for_each_layout(2, {1, 2, 3}, range(0, 6), [&](const Layout& a) {
    for (const Layout& b : {oracle::read("4:1"), oracle::read("(2,3):(3,1)"), oracle::read("3:2"), oracle::read("(2,2):(1,4)")}) {
      const Verdict<Layout> v = product(a, b);
      if (!v.ok()) continue;
      ++products;
      ASSERT_EQ(v->mode(0), a);
      ASSERT_EQ(v->mode(1).size(), b.size());
      const std::vector<int64_t> tile = values(a), shifts = values(v->mode(1));
      const std::set<int64_t> block(tile.begin(), tile.end());
      std::set<int64_t> all;
      for (const int64_t shift : shifts)
        for (const int64_t offset : block) ASSERT_TRUE(all.insert(shift + offset).second) << text(v.value);
    }
  });
  EXPECT_GE(products, 500);
}

TEST(Laws, Inverses) {
  for (int rank = 1; rank <= 3; ++rank)
    for_each_layout(rank, {1, 2, 4}, rank < 3 ? range(-1, 9) : std::vector<int64_t>{0, 1, 2, 4, 8}, [&](const Layout& l) {
      const Layout right = right_inverse(l);
      for (int64_t i = 0; i < right.size(); ++i) ASSERT_EQ(oracle::value(l, right(i)), i) << text(l);
      const Verdict<Layout> left = left_inverse(l);
      for (int64_t i = 0; left.ok() && i < l.size(); ++i) ASSERT_EQ(oracle::value(left.value, l(i)), i) << text(l);
      const Layout kernel = nullspace(l);
      for (int64_t i = 0; i < kernel.size(); ++i) ASSERT_EQ(l(kernel(i)), 0) << text(l);
    });
}

TEST(Laws, InjectivityIsExact) {
  int64_t layouts = 0;
  for (int rank = 1; rank <= 3; ++rank)
    for_each_layout(rank, {1, 2, 3, 4}, rank < 3 ? range(-7, 9) : range(0, 7), [&](const Layout& l) {
      ++layouts;
      const std::vector<int64_t> all = values(l);
      const Verdict<Layout> v = injective(l);
      ASSERT_EQ(v.ok(), std::set<int64_t>(all.begin(), all.end()).size() == all.size()) << text(l);
      if (v.ok()) return;
      ASSERT_EQ(v.why.reason, Reason::not_injective);
      ASSERT_LT(v.why.n[0], v.why.n[1]) << text(l);
      ASSERT_EQ(l(v.why.n[0]), v.why.n[2]) << text(l);
      ASSERT_EQ(l(v.why.n[1]), v.why.n[2]) << text(l);
    });
  EXPECT_GE(layouts, 30'000);
}

TEST(Laws, ImageIsExact) {
  int64_t inside = 0, outside = 0;
  for_each_layout(3, {1, 2, 3}, range(-3, 5), [&](const Layout& l) {
    const std::vector<int64_t> f = values(l);
    for (int64_t offset = l.lowest() - 2; offset <= l.highest() + 2; ++offset) {
      const Verdict<int64_t> index = index_of(l, offset);
      const bool exists = std::find(f.begin(), f.end(), offset) != f.end();
      ASSERT_EQ(index.ok(), exists) << text(l) << " at " << offset << ": " << text(index.reason());
      (exists ? inside : outside) += 1;
      if (exists) {
        ASSERT_EQ(oracle::value(l, *index), offset) << text(l);
        ASSERT_TRUE(*index >= 0 && *index < l.size());
      }
    }
  });
  EXPECT_GE(inside, 10'000);
  EXPECT_GE(outside, 10'000);
  EXPECT_EQ(text(index_of(oracle::read("(4,2):(2,16)"), 3).reason()),
            "no index has offset 3, which is a gap in the offsets from 0 to 22");
  EXPECT_EQ(index_of(oracle::read("(2,2,2,2,2,2,2,2):(2,4,6,8,10,12,14,16)"), 71, 3).why.reason, Reason::undecided);
}

TEST(Laws, Gf2LinearityIsExact) {
  int64_t linear = 0, other = 0;
  for (int rank = 1; rank <= 3; ++rank)
    for_each_layout(rank, {1, 2, 4, 8}, rank < 3 ? range(0, 16) : range(0, 5), [&](const Layout& l) {
      const std::vector<int64_t> f = values(l);
      bool is_linear = true;
      for (std::size_t x = 0; x < f.size() && is_linear; ++x)
        for (std::size_t y = 0; y < f.size() && is_linear; ++y) is_linear = f[x ^ y] == (f[x] ^ f[y]);
      const Verdict<Gf2Matrix> m = to_gf2(l);
      ASSERT_EQ(m.ok(), is_linear) << text(l) << ' ' << text(m.reason());
      (is_linear ? linear : other) += 1;
      for (std::size_t x = 0; m.ok() && x < f.size(); ++x) ASSERT_EQ(static_cast<int64_t>(m.value(x)), f[x]) << text(l);
    });
  EXPECT_GE(linear, 474);
  EXPECT_GE(other, 2'178);
}

TEST(Laws, SwizzlesAreLinearAndRecast) {
  for (int b = 0; b <= 3; ++b)
    for (int m = 0; m <= 4; ++m)
      for (int s = -4; s <= 4; ++s) {
        const Verdict<Swizzle> v = make_swizzle(b, m, s);
        ASSERT_EQ(v.ok(), std::abs(s) >= b);
        if (!v.ok()) continue;
        const Gf2Matrix matrix = to_gf2(v.value, 12);
        ASSERT_EQ(multiply(matrix, matrix).value, to_gf2(Swizzle{}, 12)) << "its own inverse";
        ASSERT_TRUE(equal(*to_swizzle(matrix), v.value));
        const Verdict<Swizzle> wide = recast(v.value, 8, 16);
        ASSERT_EQ(wide.ok(), b == 0 || m >= 1);
        for (int64_t x = 0; x < 4096; ++x) {
          ASSERT_EQ(static_cast<int64_t>(matrix(x)), v.value(x));
          ASSERT_TRUE(!wide.ok() || x % 2 != 0 || (*wide)(x / 2) * 2 == v.value(x));
        }
      }
}

TEST(Laws, PermutationsAreClosedUnderInverse) {
  for (int64_t n = 1; n <= 24; ++n) {
    std::set<std::vector<int64_t>> all;
    for_each_permutation(n, [&](const Layout& l) {
      ASSERT_TRUE(is_permutation(l));
      ASSERT_TRUE(all.insert(values(l)).second) << text(l) << " twice";
    });
    for (const std::vector<int64_t>& f : all) {
      std::vector<int64_t> inverse(n);
      for (int64_t i = 0; i < n; ++i) inverse[f[i]] = i;
      ASSERT_TRUE(all.count(inverse));
      ASSERT_EQ(values(right_inverse(*recognise(f.data(), n))), inverse);
    }
    std::vector<int64_t> f = range(0, n - 1);  // are these all? by trying every permutation
    int64_t count = 0;
    if (n > 8) continue;
    do count += oracle::is_layout(f);
    while (std::next_permutation(f.begin(), f.end()));
    ASSERT_EQ(count, static_cast<int64_t>(all.size())) << n;
    ASSERT_EQ(count, count_permutations(n));
  }
}

TEST(Laws, RecastKeepsTheMemory) {
  int64_t done = 0;
  for_each_layout(2, {1, 2, 4, 8}, {0, 1, 2, 4, 8, 16}, [&](const Layout& l) {
    const Verdict<Layout> wide = upcast(l, 4);
    const std::vector<int64_t> bytes = values(l);
    std::multiset<int64_t> groups;
    if (!wide.ok()) return;
    ++done;
    for (const int64_t x : values(wide.value))
      for (int64_t i = 0; i < 4; ++i) groups.insert(4 * x + i);
    ASSERT_EQ(groups, std::multiset<int64_t>(bytes.begin(), bytes.end())) << text(l) << " -> " << text(wide.value);
    const Verdict<Layout> back = downcast(wide.value, 4);
    std::multiset<int64_t> again;
    for (const int64_t x : values(*back)) again.insert(x);
    ASSERT_EQ(again, groups) << text(l);
  });
  EXPECT_GE(done, 20);
}

}  // namespace
}  // namespace warpfold::layout
