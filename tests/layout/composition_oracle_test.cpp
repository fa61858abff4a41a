// Composition against brute force: accepted exactly when a layout refining B's modes exists, and then right at every
// point. All pairs of small sizes, and random pairs with padded, permuted, broadcast and mixed-sign strides.
#include <gtest/gtest.h>

#include <iostream>

#include "oracle.h"

namespace warpfold::layout {
namespace {

struct Tally {
  int64_t pairs = 0, accepted = 0, mixed = 0, wrong_accepts = 0, wrong_rejects = 0, wrong_witnesses = 0;

  void check(const Layout& a, const Layout& b) {
    ++pairs;
    const Verdict<Layout> v = compose(a, b);
    const bool exists = oracle::composable(a, b);
    accepted += v.ok();
    mixed += is_mixed(a);
    if (v.ok() && !oracle::is_composition(v.value, a, b)) report(wrong_accepts, "wrong accept", a, b, v);
    if (!v.ok() && exists) report(wrong_rejects, "wrong reject", a, b, v);
    if (!v.ok() && !witness_holds(a, b, v.why)) report(wrong_witnesses, "wrong witness", a, b, v);
  }

  static bool is_mixed(const Layout& a) {
    const Layout c = coalesce_extended(a);
    bool up = false, down = false;
    for (int t = 0; t + 1 < c.leaves(); ++t) (c.shape[t] * c.stride[t] > c.stride[t + 1] ? up : down) = true;
    return up && down;
  }

  // The reason's coordinate must lie in B, have the value it claims, and differ from what the layout gives.
  static bool witness_holds(const Layout& a, const Layout& b, const Why& why) {
    if (why.reason != Reason::turns && why.reason != Reason::carries) return false;
    for (int k = 0; k < b.leaves(); ++k)
      if (why.witness.value[k] < 0 || why.witness.value[k] >= b.shape[k]) return false;
    return oracle::value(a, b(why.witness)) == why.n[3] && why.n[3] != why.n[4];
  }

  static void report(int64_t& count, const char* what, const Layout& a, const Layout& b, const Verdict<Layout>& v) {
    if (++count <= 5) ADD_FAILURE() << what << ": " << oracle::text(a) << " o " << oracle::text(b) << " -> " << oracle::text(v);
  }

  void expect_clean() const {
    std::cout << pairs << " pairs, " << accepted << " composable, " << mixed << " with mixed signs; " << wrong_accepts
              << " wrong accepts, " << wrong_rejects << " wrong rejects, " << wrong_witnesses << " wrong witnesses\n";
    EXPECT_EQ(wrong_accepts, 0);
    EXPECT_EQ(wrong_rejects, 0);
    EXPECT_EQ(wrong_witnesses, 0);
  }
};

TEST(CompositionOracle, AllSmallPairs) {
  Tally tally;
  for (int64_t m0 = 1; m0 <= 6; ++m0)
    for (int64_t m1 = 1; m1 <= 3; ++m1)
      for (int64_t d0 = -1; d0 <= 4; ++d0)
        for (int64_t d1 = 0; d1 <= 7; ++d1)
          for (int64_t n = 1; n <= 8; ++n)
            for (int64_t r = 0; r <= 12; ++r) tally.check(oracle::flat({m0, m1}, {d0, d1}), make_layout(n, r));
  EXPECT_GE(tally.pairs, 80'000);
  tally.expect_clean();
}

TEST(CompositionOracle, AllSmallPairsOfRankTwo) {
  Tally tally;
  const Layout as[] = {oracle::read("(6,2):(1,7)"),     oracle::read("(4,6):(6,1)"),     oracle::read("(8,8):(8,1)"),
                       oracle::read("(2,3):(0,1)"),     oracle::read("(4,2,8):(3,12,97)"), oracle::read("(6,3,8):(3,3,24)"),
                       oracle::read("(4,6,8):(2,3,5)"), oracle::read("(2,2,3):(4,-1,2)")};
  for (const Layout& a : as)
    for (int64_t n0 = 1; n0 <= 4; ++n0)
      for (int64_t n1 = 1; n1 <= 6; ++n1)
        for (int64_t r0 = 0; r0 <= 12; ++r0)
          for (int64_t r1 = 0; r1 <= 24; ++r1) tally.check(a, oracle::flat({n0, n1}, {r0, r1}));
  EXPECT_GE(tally.pairs, 60'000);
  tally.expect_clean();
}

TEST(CompositionOracle, RandomPairs) {
  Tally tally;
  std::mt19937_64 random(20240607);
  const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  for (int i = 0; i < 400'000; ++i) {
    const int kind = i % 5;  // permuted, padded, broadcast, mixed signs, anything
    const int rank = static_cast<int>(pick(1, 4));
    std::vector<int64_t> shape, stride(rank), order(rank);
    for (int k = 0; k < rank; ++k) shape.push_back(pick(1, kind == 3 ? 4 : 6)), order[k] = k;
    std::shuffle(order.begin(), order.end(), random);
    int64_t extent = 1;
    for (const int64_t k : order) {
      stride[k] = kind == 4 ? pick(-8, 20) : extent;
      extent *= shape[k];
      if (kind == 1) extent += pick(0, 3);
      if (kind == 2 && pick(0, 2) == 0) stride[k] = 0;
      if (kind == 3 && pick(0, 1) == 0) stride[k] = -stride[k];
      if (kind == 3 && pick(0, 2) == 0) stride[k] = pick(-6, 6);
    }
    const Layout a = oracle::flat(shape, stride);
    const int b_rank = static_cast<int>(pick(1, 3));
    std::vector<int64_t> b_shape, b_stride;
    for (int k = 0; k < b_rank; ++k) {
      b_shape.push_back(pick(1, b_rank == 1 ? 16 : 6));
      const int64_t prefix = shape[0] * (rank > 1 && pick(0, 1) ? shape[1] : 1);
      const int64_t choices[] = {pick(0, 12), prefix * pick(0, 3), pick(0, 1), pick(-3, 30)};
      b_stride.push_back(choices[pick(0, 3)]);
    }
    tally.check(a, oracle::flat(b_shape, b_stride));
  }
  EXPECT_GE(tally.mixed, 10'000);
  tally.expect_clean();
}

// Sizes far beyond enumeration are decided by the criterion alone.
TEST(CompositionOracle, LargeSizes) {
  const Layout a = oracle::read("(1048576,1048576):(1048576,1)");
  EXPECT_EQ(oracle::text(compose(a, oracle::read("(1024,1048576):(1048576,1)"))), "(1024,1048576):(1,1048576)");
  EXPECT_EQ(compose(a, oracle::read("(1048577,2):(1,1)")).why.reason, Reason::turns);
  EXPECT_EQ(compose(oracle::read("(4,4):(1152921504606846976,0)"), oracle::read("2:9")).why.reason, Reason::none);
}

}  // namespace
}  // namespace warpfold::layout
