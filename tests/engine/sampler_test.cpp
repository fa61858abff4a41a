// The sampler's stages against hand-computed distributions, its edge cases and the exactness of its draw.
#include "warpfold/engine/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace warpfold::engine {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr double kNanD = std::numeric_limits<double>::quiet_NaN();

std::vector<float> log_of(std::vector<double> p) {
  std::vector<float> logits;
  for (const double x : p) logits.push_back(static_cast<float>(std::log(x)));
  return logits;
}

// How often each token comes in `draws` draws from the same logits.
std::map<TokenId, int> histogram(const SamplingOptions& options, const std::vector<float>& logits,
                                 int draws = 2000) {
  auto sampler = Sampler::create(options, static_cast<std::int64_t>(logits.size()));
  EXPECT_TRUE(sampler) << sampler.error().message;
  std::map<TokenId, int> counts;
  for (int i = 0; i < draws; ++i) {
    auto copy = logits;
    const auto id = sampler->sample(copy, {});
    EXPECT_TRUE(id) << id.error().message;
    ++counts[*id];
  }
  return counts;
}

std::vector<TokenId> support(const SamplingOptions& options, const std::vector<float>& logits) {
  std::vector<TokenId> ids;
  for (const auto& [id, count] : histogram(options, logits)) ids.push_back(id);
  return ids;
}

std::string sample_error(const SamplingOptions& options, std::vector<float> logits,
                         std::vector<TokenId> history = {}) {
  auto sampler = Sampler::create(options, static_cast<std::int64_t>(logits.size()));
  if (!sampler) return sampler.error().message;
  const auto id = sampler->sample(logits, history);
  return id ? "" : id.error().message;
}

TEST(Sampler, TemperatureZeroTakesTheArgmaxAndTheSmallestIdOfEquals) {
  EXPECT_THAT(support({}, {1, 7, 3, 7, -2, 0, 0, 0, 0, 6}), testing::ElementsAre(1));
  std::vector<float> many(1000, -1.0f);
  many[997] = 0.5f;  // past the last full group of lanes
  EXPECT_THAT(support({}, many), testing::ElementsAre(997));
}

TEST(Sampler, TinyTemperatureActsLikeTheArgmaxWithoutOverflow) {
  for (const double t : {1e-4, 1e-30, 1e-320})
    EXPECT_THAT(support({.temperature = t}, {1e30f, -1e30f, 3e38f, 0}), testing::ElementsAre(2)) << t;
}

TEST(Sampler, HugeTemperatureIsUniform) {
  const auto counts = histogram({.temperature = 1e300}, {1000, 0, -1000, 5}, 8000);
  ASSERT_EQ(counts.size(), 4u);
  for (const auto& [id, count] : counts) EXPECT_NEAR(count, 2000, 200);
}

TEST(Sampler, RejectsParametersOutsideTheirRangeByName) {
  const std::vector<float> logits{0, 1};
  EXPECT_THAT(sample_error({.temperature = kNanD}, logits), testing::HasSubstr("temperature is nan"));
  EXPECT_THAT(sample_error({.temperature = -1}, logits), testing::HasSubstr("temperature is -1"));
  EXPECT_THAT(sample_error({.temperature = kInf}, logits), testing::HasSubstr("temperature is inf"));
  EXPECT_THAT(sample_error({.top_p = kNanD}, logits), testing::HasSubstr("top_p is nan"));
  EXPECT_THAT(sample_error({.top_p = 1.5}, logits), testing::HasSubstr("top_p is 1.5"));
  EXPECT_THAT(sample_error({.min_p = kNanD}, logits), testing::HasSubstr("min_p is nan"));
  EXPECT_THAT(sample_error({.min_p = -0.1}, logits), testing::HasSubstr("min_p is -0.1"));
  EXPECT_THAT(sample_error({.repetition_penalty = 0}, logits), testing::HasSubstr("repetition_penalty is 0"));
  EXPECT_THAT(sample_error({.repetition_penalty = kNanD}, logits),
              testing::HasSubstr("repetition_penalty is nan"));
  EXPECT_FALSE(Sampler::create({}, 0));
}

TEST(Sampler, BrokenLogitsAreAnErrorThatNamesTheToken) {
  for (const double t : {0.0, 1.0}) {
    const SamplingOptions options{.temperature = t};
    EXPECT_THAT(sample_error(options, {kNan, kNan, kNan}), testing::HasSubstr("3 of 3 are NaN"));
    EXPECT_THAT(sample_error(options, {0, 1, kNan}),
                testing::HasSubstr("1 of 3 are NaN or +inf, the first for token 2"));
    EXPECT_THAT(sample_error(options, {0, kInf}), testing::HasSubstr("token 1"));
    EXPECT_THAT(sample_error(options, {-kInf, -kInf}), testing::HasSubstr("all 2 logits are -inf"));
    std::vector<float> many(64, 0.0f);
    many[9] = kNan;
    EXPECT_THAT(sample_error(options, many), testing::HasSubstr("token 9"));
  }
  EXPECT_THAT(support({.temperature = 1}, {-kInf, 2, -kInf}),
              testing::ElementsAre(1));  // masked tokens are fine
}

TEST(Sampler, WrongNumberOfLogitsIsAnError) {
  auto sampler = Sampler::create({}, 3);
  std::vector<float> logits{0, 1};
  EXPECT_FALSE(sampler->sample(logits, {}));
}

TEST(Sampler, TopPKeepsTheSmallestSetThatReachesP) {
  const auto logits = log_of({.3, .5, .2});
  EXPECT_THAT(support({.temperature = 1, .top_p = 0.5}, logits), testing::ElementsAre(1));
  EXPECT_THAT(support({.temperature = 1, .top_p = 0.6}, logits), testing::ElementsAre(0, 1));
  EXPECT_THAT(support({.temperature = 1, .top_p = 0.0}, logits), testing::ElementsAre(1));
  EXPECT_THAT(support({.temperature = 1, .top_p = 0.8}, logits), testing::ElementsAre(0, 1));
  EXPECT_THAT(support({.temperature = 1, .top_p = 0.81}, logits), testing::ElementsAre(0, 1, 2));
}

TEST(Sampler, TopKZeroAndBelowIsOff) {
  const auto logits = log_of({.3, .5, .2});
  for (const std::int64_t k : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
                               std::int64_t{3}, std::numeric_limits<std::int64_t>::max()})
    EXPECT_THAT(support({.temperature = 1, .top_k = k}, logits), testing::ElementsAre(0, 1, 2)) << k;
  EXPECT_THAT(support({.temperature = 1, .top_k = 1}, logits), testing::ElementsAre(1));
  EXPECT_THAT(support({.temperature = 1, .top_k = 2}, {1, 1, 1, 1}), testing::ElementsAre(0, 1));  // ties
}

TEST(Sampler, TopPSeesWhatTopKLeftRenormalised) {
  // {.5, .3} become {.625, .375}: .6 needs only the first; without top-k it needs both.
  EXPECT_THAT(support({.temperature = 1, .top_k = 2, .top_p = 0.6}, log_of({.5, .3, .2})),
              testing::ElementsAre(0));
}

TEST(Sampler, MinPIsRelativeToTheMostLikely) {
  const auto logits = log_of({.5, .3, .2});
  EXPECT_THAT(support({.temperature = 1, .min_p = 0.5}, logits), testing::ElementsAre(0, 1));
  EXPECT_THAT(support({.temperature = 1, .min_p = 1.0}, logits), testing::ElementsAre(0));
  EXPECT_THAT(support({.temperature = 1, .min_p = 0.3}, logits), testing::ElementsAre(0, 1, 2));
}

TEST(Sampler, FrequenciesFollowTheDistribution) {
  const std::vector<double> p{.5, .3, .15, .05};
  const int draws = 40000;
  const auto counts = histogram({.temperature = 1, .seed = 5}, log_of(p), draws);
  double chi_squared = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double expected = p[i] * draws, seen = counts.at(static_cast<TokenId>(i));
    chi_squared += (seen - expected) * (seen - expected) / expected;
  }
  EXPECT_LT(chi_squared, 16.3);  // 3 degrees of freedom, p = 0.001
}

TEST(Sampler, TheDrawIsTheDocumentedOne) {
  // mt19937_64 is fixed by the standard, so these tokens are the same on every machine.
  std::mt19937_64 random(42);
  auto sampler = Sampler::create({.temperature = 1, .seed = 42}, 4);
  for (int i = 0; i < 200; ++i) {
    std::vector<float> logits(4, 0.0f);  // four equal weights: the token is floor(4 u)
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    ASSERT_EQ(*sampler->sample(logits, {}), static_cast<TokenId>(4 * u)) << i;
  }
}

TEST(Sampler, AnErrorDoesNotUseUpARandomNumber) {
  auto a = Sampler::create({.temperature = 1, .seed = 9}, 50),
       b = Sampler::create({.temperature = 1, .seed = 9}, 50);
  for (int i = 0; i < 20; ++i) {
    std::vector<float> broken(50, kNan), x(50, 0.0f), y(50, 0.0f);
    ASSERT_FALSE(b->sample(broken, {}));
    ASSERT_EQ(*a->sample(x, {}), *b->sample(y, {}));
  }
}

TEST(Sampler, RepetitionPenaltyAppliesOnceATokenWithinTheWindow) {
  auto sampler = Sampler::create({.repetition_penalty = 2, .repetition_window = 3}, 5);
  std::vector<float> logits{4, 4, -1, 4, 0};
  const std::vector<TokenId> history{0, 1, 2, 1};  // token 0 is outside the window
  ASSERT_TRUE(sampler->sample(logits, history));
  EXPECT_THAT(logits, testing::ElementsAre(4, 2, -2, 4, 0));

  auto whole = Sampler::create({.repetition_penalty = 2, .repetition_window = -1}, 5);
  logits = {4, 4, -1, 4, 0};
  ASSERT_TRUE(whole->sample(logits, history));
  EXPECT_THAT(logits, testing::ElementsAre(2, 2, -2, 4, 0));

  auto off = Sampler::create({.repetition_penalty = 2, .repetition_window = 0}, 5);
  logits = {4, 4, -1, 4, 0};
  ASSERT_TRUE(off->sample(logits, history));
  EXPECT_THAT(logits, testing::ElementsAre(4, 4, -1, 4, 0));
}

TEST(Sampler, ExtremePenaltiesStayFinite) {
  EXPECT_EQ(sample_error({.repetition_penalty = 1e-300}, {3, -3}, {0, 1}), "");
  EXPECT_EQ(sample_error({.repetition_penalty = 1e300}, {3, -3}, {0, 1}), "");
  EXPECT_EQ(sample_error({.temperature = 1, .repetition_penalty = 1e300}, {3, -kInf}, {0, 1}), "");
}

TEST(Sampler, HistoryOutsideTheVocabularyIsAnError) {
  EXPECT_THAT(sample_error({.repetition_penalty = 2}, {0, 1}, {0, 2}),
              testing::HasSubstr("token 2 of the history"));
  EXPECT_THAT(sample_error({.repetition_penalty = 2}, {0, 1}, {-1}),
              testing::HasSubstr("token -1 of the history"));
}

}  // namespace
}  // namespace warpfold::engine
