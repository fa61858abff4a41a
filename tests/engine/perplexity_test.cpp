// Perplexity against the definition, computed from the fake decoder's law.
#include "warpfold/engine/perplexity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/fake_decoder.h"

namespace warpfold::engine {
namespace {

constexpr std::int64_t kVocab = 50;

// exp of the mean loss over the scored positions; the law is that of fake_decoder.h.
double by_definition(const std::vector<TokenId>& tokens, std::size_t context) {
  double sum = 0;
  int count = 0;
  for (std::size_t start = 0; start + context <= tokens.size(); start += context) {
    for (std::size_t i = context / 2; i + 1 < context; ++i) {
      std::int64_t s = 0;
      for (std::size_t j = 0; j <= i; ++j) s += tokens[start + j];
      const auto n = static_cast<std::int64_t>(i + 1);
      std::vector<double> logits;
      double total = 0;
      for (std::int64_t v = 0; v < kVocab; ++v) {
        const auto hash = static_cast<std::uint32_t>(s + 31 * n + 7 * v) * 2654435761u;
        logits.push_back(hash * 0x1p-29 + (v == (s + n) % kVocab ? 100 : 0));
        total += std::exp(logits.back());
      }
      sum += std::log(total) - logits[static_cast<std::size_t>(tokens[start + i + 1])];
      ++count;
    }
  }
  return std::exp(sum / count);
}

// A text that the fake finds likely at times, so that the losses differ.
std::vector<TokenId> make_text(std::size_t size) {
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < size; ++i)
    tokens.push_back(i % 3 ? fake::greedy_next(std::span(tokens).last(i % 20), kVocab)
                           : static_cast<TokenId>(i % 50));
  return tokens;
}

TEST(Perplexity, EqualsTheDefinition) {
  const auto model = fake::make_model(kVocab, 128, 2);
  const auto tokens = make_text(107);
  for (const std::int64_t context : {3, 4, 9, 20, 107}) {
    const auto result = perplexity(*model, tokens, {.context = context});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_NEAR(std::log(result->value), std::log(by_definition(tokens, static_cast<std::size_t>(context))),
                1e-5);
    EXPECT_EQ(result->chunks, 107 / context);
    EXPECT_EQ(result->scored, result->chunks * (context - 1 - context / 2));
  }
}

TEST(Perplexity, EveryChunkStartsFromAnEmptyCache) {
  const auto model = fake::make_model(kVocab, 128);
  const auto tokens = make_text(20);
  auto twice = tokens;
  twice.insert(twice.end(), tokens.begin(), tokens.end());
  EXPECT_EQ(perplexity(*model, tokens, {.context = 20})->value,
            perplexity(*model, twice, {.context = 20})->value);
}

TEST(Perplexity, ReportsProgressAndCanBeStopped) {
  const auto model = fake::make_model(kVocab, 128);
  const auto tokens = make_text(60);
  int calls = 0;
  const auto result =
      perplexity(*model, tokens, {.context = 10, .progress = [&](auto done, auto chunks, double value) {
                                    EXPECT_EQ(done, ++calls);
                                    EXPECT_EQ(chunks, 6);
                                    EXPECT_GT(value, 0);
                                    return done < 2;
                                  }});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(perplexity(*model, tokens, {.context = 10, .max_chunks = 4})->chunks, 4);
}

TEST(Perplexity, RejectsWhatCannotBeScored) {
  const auto model = fake::make_model(kVocab, 128);
  const auto message = [&](std::vector<TokenId> tokens, std::int64_t context) {
    const auto result = perplexity(*model, tokens, {.context = context});
    return result ? "" : result.error().message;
  };
  EXPECT_THAT(message(make_text(20), 2), testing::HasSubstr("context of 2 tokens is not possible"));
  EXPECT_THAT(message(make_text(20), 129), testing::HasSubstr("3 to 128"));
  EXPECT_THAT(message(make_text(20), 21), testing::HasSubstr("the text has 20 tokens, one chunk needs 21"));
  EXPECT_THAT(message({1, 2, 3, 99}, 4), testing::HasSubstr("token 99 at position 3"));
  fake::control().nan_at_length = 8;
  EXPECT_THAT(message(make_text(20), 10), testing::HasSubstr("the model's logits are broken"));
}

}  // namespace
}  // namespace warpfold::engine
