// The left inverse against brute force: every chain of primes, all equations at once, no candidate and no
// pruning.
#include <gtest/gtest.h>

#include <map>

#include "oracle.h"

namespace warpfold::layout {
namespace {

using Row = std::vector<int64_t>;

// Is the target an integer combination of the columns? Column by column elimination, row after row.
bool in_span(std::vector<Row> columns, Row target) {
  std::size_t done = 0;
  for (std::size_t i = 0; i < target.size(); ++i) {
    std::size_t pivot = columns.size();
    for (bool again = true; again;) {
      again = false;
      pivot = columns.size();
      for (std::size_t j = done; j < columns.size(); ++j)
        if (columns[j][i] != 0 &&
            (pivot == columns.size() || std::abs(columns[j][i]) < std::abs(columns[pivot][i])))
          pivot = j;
      for (std::size_t j = done; j < columns.size(); ++j) {
        if (j == pivot || columns[j][i] == 0) continue;
        const int64_t q = columns[j][i] / columns[pivot][i];
        for (std::size_t k = 0; k < target.size(); ++k) columns[j][k] -= q * columns[pivot][k];
        again = true;
      }
    }
    if (pivot == columns.size()) {
      if (target[i] != 0) return false;
      continue;
    }
    if (target[i] % columns[pivot][i] != 0) return false;
    const int64_t q = target[i] / columns[pivot][i];
    for (std::size_t k = 0; k < target.size(); ++k) target[k] -= q * columns[pivot][k];
    std::swap(columns[done++], columns[pivot]);
  }
  return true;
}

// Is there a layout J with J(offset) = index for all pairs? `chain` is the list of its first boundaries.
bool layout_through(const std::map<int64_t, int64_t>& index_of, std::vector<int64_t>& chain) {
  const int64_t highest = index_of.rbegin()->first;
  bool extended = false;
  for (int64_t p = 2; chain.back() * p <= highest; ++p) {
    bool prime = true;
    for (int64_t q = 2; q < p; ++q) prime = prime && p % q != 0;
    if (!prime) continue;
    extended = true;
    chain.push_back(chain.back() * p);
    const bool found = layout_through(index_of, chain);
    chain.pop_back();
    if (found) return true;
  }
  if (extended) return false;
  std::vector<Row> columns;
  Row target;
  for (const auto& [offset, index] : index_of) target.push_back(index);
  for (const int64_t boundary : chain) {
    columns.emplace_back();
    for (const auto& [offset, index] : index_of) columns.back().push_back(offset / boundary);
  }
  return in_span(columns, target);
}

bool layout_through(const std::map<int64_t, int64_t>& index_of) {
  std::vector<int64_t> chain = {1};
  return layout_through(index_of, chain);
}

struct Tally {
  int64_t found = 0, none = 0, not_injective = 0;
};

void decide(const Layout& l, Tally& tally) {
  const Verdict<Layout> v = left_inverse(l);
  std::map<int64_t, int64_t> index_of;
  for (int64_t x = 0; x < l.size(); ++x) index_of[oracle::value(l, x)] = x;
  if (v.ok()) {
    ++tally.found;
    ASSERT_LT(l.highest(), v->size()) << oracle::text(l);
    for (int64_t x = 0; x < l.size(); ++x)
      ASSERT_EQ((*v)(oracle::value(l, x)), x) << oracle::text(l) << " -> " << oracle::text(v);
    return;
  }
  if (static_cast<int64_t>(index_of.size()) < l.size()) {
    ++tally.not_injective;
    ASSERT_EQ(v.why.reason, Reason::not_injective) << oracle::text(l);
    return;
  }
  ++tally.none;
  ASSERT_EQ(v.why.reason, Reason::left_inverse_none) << oracle::text(l) << ": " << oracle::text(v);
  ASSERT_EQ(l(v.why.witness), v.why.n[1]) << oracle::text(l);
  ASSERT_EQ(index_of.at(v.why.n[1]), v.why.n[0]) << oracle::text(l);
  index_of.erase(index_of.upper_bound(v.why.n[1]), index_of.end());
  ASSERT_FALSE(layout_through(index_of)) << oracle::text(l) << ": " << oracle::text(v);
}

void decide_all(const std::vector<int64_t>& sizes, int64_t strides, int rank, std::vector<int64_t>& shape,
                std::vector<int64_t>& stride, Tally& tally) {
  if (static_cast<int>(shape.size()) == rank) return decide(oracle::flat(shape, stride), tally);
  for (const int64_t n : sizes)
    for (int64_t d = 0; d <= strides; ++d) {
      shape.push_back(n), stride.push_back(d);
      decide_all(sizes, strides, rank, shape, stride, tally);
      shape.pop_back(), stride.pop_back();
    }
}

TEST(LeftInverse, ExistsExactlyWhereBruteForceFindsOne) {
  Tally tally;
  std::vector<int64_t> shape, stride;
  decide_all({1, 2, 3, 4, 5}, 12, 1, shape, stride, tally);
  decide_all({2, 3, 4}, 24, 2, shape, stride, tally);
  decide_all({2, 3}, 12, 3, shape, stride, tally);
  decide_all({2}, 7, 4, shape, stride, tally);
  RecordProperty("found", static_cast<int>(tally.found));
  RecordProperty("none", static_cast<int>(tally.none));
  std::printf("%lld have one, %lld have none, %lld are not injective\n", static_cast<long long>(tally.found),
              static_cast<long long>(tally.none), static_cast<long long>(tally.not_injective));
  EXPECT_GE(tally.found, 5'000);
  EXPECT_GE(tally.none, 2'000);
}

TEST(LeftInverse, Answers) {
  const auto left = [](const char* l) { return oracle::text(left_inverse(oracle::read(l))); };
  EXPECT_EQ(left("(4,2):(1,5)"), "(5,2):(1,4)");
  EXPECT_EQ(left("(4,2):(1,8)"), "(8,2):(1,4)");
  EXPECT_EQ(left("(2,2):(2,3)"), "(2,3):(1,1)");      // y - floor(y/2)
  EXPECT_EQ(left("(2,2):(3,5)"), "(2,4,2):(0,1,3)");  // floor(y/2) - floor(y/8): two carries cancel
  EXPECT_EQ(left("(64,64):(72,1)"), "(72,64):(64,1)");
  EXPECT_EQ(left("(1048576,1048576):(1,2097152)"), "(2097152,1048576):(1,1048576)");
  EXPECT_EQ(left("(1,1):(-5,0)"), "1:0");
  EXPECT_EQ(left("(2,2):(0,1)"), "not injective: indices 0 and 1 both have offset 0");
  EXPECT_EQ(left("(2,4):(9,-1)"),
            "no left inverse: at coordinate (0,1) the offset is -1, and no layout has an index below 0");
  EXPECT_EQ(left("(2,3,2):(5,3,29)"),
            "no left inverse: no layout takes back all offsets up to 40, the offset at (1,2,1)");
  EXPECT_EQ(left_inverse(oracle::read("(3,3):(1003,2001)")).why.reason, Reason::undecided);
}

}  // namespace
}  // namespace warpfold::layout
