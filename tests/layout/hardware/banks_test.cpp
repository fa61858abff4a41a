// Wavefronts and sectors against a count with sets, and patterns whose conflicts are known.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "warpfold/layout/hardware/banks.h"
#include "warpfold/layout/hardware/coalescing.h"

namespace warpfold::layout::hardware {
namespace {

constexpr SharedAccess accesses[] = {SharedAccess::b32,       SharedAccess::b64,
                                     SharedAccess::b128,      SharedAccess::matrix_x1,
                                     SharedAccess::matrix_x2, SharedAccess::matrix_x4};

constexpr BankReport report(SharedAccess access, std::string_view lanes,
                            SwizzleMode mode = SwizzleMode::none) {
  return *bank_conflicts(access, *parse_layout(lanes), swizzle_of(mode), 2);
}

// While the program compiles: a contiguous 128-bit access is free, rows of 128 bytes are 8-way, swizzled free
// again.
static_assert(report(SharedAccess::b128, "32:8").total == 4 &&
              report(SharedAccess::b128, "32:8").degree == 1);
static_assert(report(SharedAccess::b128, "(8,4):(64,8)").degree == 8);
static_assert(report(SharedAccess::b128, "(8,4):(64,8)", SwizzleMode::b128).degree == 1);
static_assert(report(SharedAccess::matrix_x4, "(16,2):(64,8)").degree == 8);
static_assert(report(SharedAccess::matrix_x4, "(16,2):(64,8)", SwizzleMode::b128).degree == 1);
static_assert(report(SharedAccess::matrix_x4, "(16,2):(32,8)", SwizzleMode::b64).degree == 1);
static_assert(report(SharedAccess::matrix_x4, "(16,2):(16,8)", SwizzleMode::b32).degree == 1);

TEST(Banks, StridesOfWords) {
  const std::map<int, int> ways_of_stride = {{0, 1}, {1, 1}, {2, 2},   {3, 1},   {4, 4},
                                             {6, 2}, {8, 8}, {16, 16}, {32, 32}, {33, 1}};
  for (const auto& entry : ways_of_stride) {
    const int stride = entry.first, ways = entry.second;
    const auto r = bank_conflicts(SharedAccess::b32, [&](int lane) { return int64_t{4} * stride * lane; });
    ASSERT_TRUE(r);
    EXPECT_EQ(r->degree, ways) << stride;
    EXPECT_EQ(r->total, ways);
    EXPECT_EQ(r->ideal, 1);
  }
}

TEST(Banks, PhasesOfWideAccesses) {
  // Contiguous 16-byte loads are free, not 4-way: a quarter of the warp is served at a time.
  const auto contiguous = bank_conflicts(SharedAccess::b128, *parse_layout("(32,8):(8,1)"), {}, 2);
  EXPECT_EQ(contiguous->degree, 1);
  EXPECT_EQ(contiguous->total, 4);
  // The lanes of a phase are consecutive: halves for 64 bits, quarters for 128 bits.
  const auto half =
      bank_conflicts(SharedAccess::b64, [](int lane) { return lane < 16 ? 8 * lane : int64_t{128} * lane; });
  EXPECT_EQ(half->phases, 2);
  EXPECT_EQ(half->wavefronts[0], 1);
  EXPECT_EQ(half->wavefronts[1], 16);
  EXPECT_EQ(half->worst_phase, 1);
  const auto quarter =
      bank_conflicts(SharedAccess::b128, [](int lane) { return int64_t{16} * (lane % 8 * (1 << lane / 8)); });
  for (int p = 0; p < 4; ++p) EXPECT_EQ(quarter->wavefronts[p], 1 << p);
  EXPECT_EQ(quarter->total, 15);
}

TEST(Banks, AgreesWithSets) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round) {
    for (const SharedAccess access : accesses) {
      const AccessShape shape = shape_of(access);
      const int64_t range = int64_t{8} << random() % 8;
      int64_t byte[32];
      for (int64_t& b : byte) b = static_cast<int64_t>(random() % static_cast<uint64_t>(range)) * shape.bytes;
      const auto r = bank_conflicts(access, [&](int lane) { return byte[lane]; });
      ASSERT_TRUE(r);
      int total = 0;
      for (int first = 0; first < shape.lanes; first += shape.per_phase) {
        std::map<int64_t, std::set<int64_t>> words;
        for (int lane = first; lane < first + shape.per_phase; ++lane)
          for (int64_t b = byte[lane]; b < byte[lane] + shape.bytes; b += 4) words[b / 4 % 32].insert(b / 4);
        std::size_t most = 0;
        for (const auto& [bank, set] : words) most = std::max(most, set.size());
        ASSERT_EQ(r->wavefronts[first / shape.per_phase], static_cast<int>(most));
        if (first / shape.per_phase == r->worst_phase) {
          ASSERT_EQ(words[r->worst_bank].size(), static_cast<std::size_t>(r->degree));
        }
        total += static_cast<int>(most);
      }
      ASSERT_EQ(r->total, total);
    }
  }
}

TEST(Banks, Refusals) {
  const auto said = [](const auto& v) { return std::string(v.reason().view()); };
  EXPECT_EQ(said(bank_conflicts(SharedAccess::b128, *parse_layout("32:4"), {}, 2)),
            "lane 1 accesses 16 bytes at byte 8, which is no multiple of 16");
  EXPECT_EQ(said(bank_conflicts(SharedAccess::b32, *parse_layout("32:-1"), {}, 4)),
            "lane 1 accesses byte -4, before the tile");
  EXPECT_EQ(said(bank_conflicts(SharedAccess::matrix_x4, *parse_layout("16:8"), {}, 2)),
            "the access needs 32 lanes, the layout has 16");
  for (const int64_t start : {int64_largest - 100, int64_lowest})
    EXPECT_EQ(bank_conflicts(SharedAccess::b32, *parse_layout("32:1"), {}, 4, start).why.rule,
              start > 0 ? Rule::access_start : Rule::access_negative);
  EXPECT_EQ(said(bank_conflicts(SharedAccess::b32, *parse_layout("32:-1"), {}, 4, int64_lowest)),
            "overflow: the lanes' addresses from byte -9223372036854775808 on do not fit 64 bits");
}

TEST(Coalescing, Sectors) {
  const auto of = [](int width, const char* lanes, int bytes) {
    return *coalescing(width, *parse_layout(lanes), bytes);
  };
  EXPECT_EQ(of(4, "32:1", 4), (CoalescingReport{4, 1, 4, 128}));
  EXPECT_EQ(of(16, "32:8", 2), (CoalescingReport{16, 4, 16, 512}));
  EXPECT_EQ(of(2, "32:1", 2), (CoalescingReport{2, 1, 2, 64}));
  EXPECT_EQ(of(2, "32:4096", 2), (CoalescingReport{32, 32, 2, 64}));
  EXPECT_EQ(of(4, "32:0", 4), (CoalescingReport{1, 1, 1, 4}));
  EXPECT_EQ(of(16, "(8,4):(8,4096)", 2), (CoalescingReport{16, 4, 16, 512}));
  EXPECT_EQ(of(4, "32:-1", 4).sectors, 5);
  EXPECT_EQ(std::string(coalescing(3, *parse_layout("32:1"), 1).reason().view()),
            "an access is 1, 2, 4, 8 or 16 bytes wide, not 3");
}

}  // namespace
}  // namespace warpfold::layout::hardware
