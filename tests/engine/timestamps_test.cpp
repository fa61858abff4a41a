// Whisper's timestamps: which tokens may follow, and how a window is cut. Times begin at token 6; 5 ends the
// text.
#include "engine/timestamps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace warpfold::engine {
namespace {

using Ids = std::vector<text::TokenId>;
constexpr TimestampTokens kRules{.begin = 6, .end = 5, .latest_start = 2};

// One letter a token of 12: '.' forbidden, 'x' allowed. Text and end are likelier than all times, unless
// `likely_times`.
std::string allowed(const Ids& tokens, bool likely_times = false) {
  std::vector<float> logits(12, 0.0f);
  if (!likely_times) logits[1] = logits[5] = 5;
  apply_timestamp_rules(kRules, tokens, logits);
  std::string out;
  for (const float x : logits) out += std::isinf(x) ? '.' : 'x';
  return out;
}

TEST(Timestamps, RulesOfPairs) {
  EXPECT_EQ(allowed({}), "......xxx...") << "the first is a time, within the latest start";
  EXPECT_EQ(allowed({6}), "xxxxxx......") << "a segment has begun: text";
  EXPECT_EQ(allowed({6, 1}), "xxxxxx.xxxxx") << "text, or a time after the segment's beginning";
  EXPECT_EQ(allowed({6, 1, 9}), ".....x...xxx") << "one has ended: another begins no earlier, or all ends";
  EXPECT_EQ(allowed({6, 1, 9, 9}), "xxxxxx......");
  EXPECT_EQ(allowed({6, 1, 9, 9, 2}), "xxxxxx....xx");
  EXPECT_EQ(allowed({1}), "xxxxxxxxxxxx") << "no time yet";
}

TEST(Timestamps, ATimeComesWhenTimesTogetherAreLikelier) {
  EXPECT_EQ(allowed({6, 1}, true), ".......xxxxx") << "five times of probability p each, text of p at most";
}

TEST(Timestamps, Segments) {
  const auto cut = [](const Ids& tokens) { return split_segments(kRules, tokens, 30); };
  const Segments two = cut({6, 1, 2, 9, 10, 3, 11});
  ASSERT_EQ(two.list.size(), 2u);
  EXPECT_EQ(two.list[0].tokens, (Ids{1, 2}));
  EXPECT_NEAR(two.list[0].end, 0.06, 1e-9);
  EXPECT_NEAR(two.list[1].start, 0.08, 1e-9);
  EXPECT_NEAR(two.list[1].end, 0.10, 1e-9);
  EXPECT_EQ(two.next, 30) << "nothing had begun after the last";
  for (const Ids& unfinished : {Ids{6, 1, 9, 9}, Ids{6, 1, 9, 10, 2}}) {
    const Segments one = cut(unfinished);
    EXPECT_EQ(one.list.size(), 1u);
    EXPECT_NEAR(one.next, 0.06, 1e-9) << "what had begun is heard again";
  }
  const Segments open = cut({6, 1, 2});
  ASSERT_EQ(open.list.size(), 1u);
  EXPECT_EQ(open.list[0].end, 30);
  EXPECT_EQ(open.next, 30);
  EXPECT_TRUE(cut({}).list.empty());
  EXPECT_EQ(cut({}).next, 30);
}

}  // namespace
}  // namespace warpfold::engine
