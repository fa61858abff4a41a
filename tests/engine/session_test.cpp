// Session against the fake decoder: limits, cancelling, cache reuse, and that no failed request spoils the
// next.
#include "warpfold/engine/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "engine/fake_decoder.h"

namespace warpfold::engine {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using Tokens = std::vector<TokenId>;

constexpr std::int64_t kVocab = 50;

Session make_session(std::int64_t context, int threads = 1) {
  return *Session::create(fake::make_model(kVocab, context, threads));
}

// The greedy continuation by the fake's law.
Tokens expected(Tokens sequence, std::size_t count) {
  Tokens answer;
  for (std::size_t i = 0; i < count; ++i) {
    answer.push_back(fake::greedy_next(sequence, kVocab));
    sequence.push_back(answer.back());
  }
  return answer;
}

Generation generate(Session& session, const Tokens& prompt, const GenerateOptions& options) {
  auto result = session.generate(prompt, options);
  EXPECT_TRUE(result) << result.error().message;
  return std::move(*result);
}

std::string error_of(Session& session, const Tokens& prompt, const GenerateOptions& options = {}) {
  const auto result = session.generate(prompt, options);
  return result ? "" : result.error().message;
}

// After whatever happened before, a short request gives the right answer.
void expect_healthy(Session& session) {
  const Tokens prompt{3, 1, 4};
  EXPECT_THAT(generate(session, prompt, {.max_tokens = 2}).tokens, ElementsAreArray(expected(prompt, 2)));
}

TEST(Session, GivesExactlyTheTokensAskedFor) {
  auto session = make_session(64);
  const Tokens prompt{5, 9, 2};
  for (const std::int64_t n : {0, 1, 2, 20}) {
    const auto result = generate(session, prompt, {.max_tokens = n});
    EXPECT_THAT(result.tokens, ElementsAreArray(expected(prompt, static_cast<std::size_t>(n))));
    EXPECT_EQ(result.finish_reason, FinishReason::kLength);
    EXPECT_EQ(result.timings.decode_steps, std::max<std::int64_t>(0, n - 1));
    EXPECT_EQ(result.text, "");
  }
}

TEST(Session, TheContextBoundsPromptAndAnswerTogether) {
  auto session = make_session(10);
  Tokens prompt(8, 1);
  const auto result = generate(session, prompt, {});
  EXPECT_THAT(result.tokens, ElementsAreArray(expected(prompt, 2)));
  EXPECT_EQ(result.finish_reason, FinishReason::kLength);

  prompt.resize(10, 2);  // full: it is evaluated, but nothing can follow
  EXPECT_TRUE(generate(session, prompt, {}).tokens.empty());
  expect_healthy(session);
}

TEST(Session, APromptLongerThanTheContextIsAnErrorWithTheNumbers) {
  auto session = make_session(10);
  EXPECT_EQ(error_of(session, Tokens(11, 1)), "the prompt has 11 tokens, the context holds 10");
  expect_healthy(session);
  auto one = make_session(1);
  EXPECT_THAT(error_of(one, Tokens(2, 1)), HasSubstr("2 tokens"));
  EXPECT_TRUE(generate(one, Tokens(1, 1), {}).tokens.empty());
}

TEST(Session, RejectsImpossibleRequests) {
  auto session = make_session(16);
  EXPECT_THAT(error_of(session, {}), HasSubstr("no tokens"));
  EXPECT_THAT(error_of(session, {1, -1}),
              HasSubstr("token -1 at position 1 is outside the vocabulary of 50"));
  EXPECT_THAT(error_of(session, {50}), HasSubstr("token 50 at position 0"));
  EXPECT_THAT(error_of(session, {1}, {.max_tokens = -1}), HasSubstr("max_tokens is -1"));
  EXPECT_THAT(error_of(session, {1}, {.sampling = {.top_p = 2}}), HasSubstr("top_p is 2"));
  EXPECT_THAT(error_of(session, {1}, {.stop = {"x"}}), HasSubstr("no tokenizer"));
  EXPECT_EQ(fake::control().evaluated, 0);
  expect_healthy(session);
}

TEST(Session, RejectsImpossibleContexts) {
  const auto model = fake::make_model(kVocab, 16);
  EXPECT_THAT(Session::create(model, {.context = 17}).error().message,
              HasSubstr("17 tokens is not possible"));
  EXPECT_FALSE(Session::create(model, {.context = -1}));
  EXPECT_EQ(Session::create(model)->context(), 16);
}

TEST(Session, ReusesTheCommonBeginningOfTheCache) {
  auto session = make_session(64);
  const Tokens first{1, 2, 3, 4, 5, 6};
  const auto answer = generate(session, first, {.max_tokens = 3}).tokens;

  Tokens second = first;  // a conversation that goes on: the last answer token was not evaluated yet
  second.insert(second.end(), answer.begin(), answer.end());
  second.insert(second.end(), {7, 8});
  fake::control().evaluated = 0;
  auto result = generate(session, second, {.max_tokens = 1});
  EXPECT_EQ(fake::control().evaluated, 3);
  EXPECT_EQ(result.timings.prefill_tokens, 3);
  EXPECT_EQ(result.timings.reused_tokens, 8);
  EXPECT_THAT(result.tokens, ElementsAreArray(expected(second, 1)));

  Tokens third{1, 2, 9};  // parts after two tokens
  result = generate(session, third, {.max_tokens = 4});
  EXPECT_EQ(result.timings.reused_tokens, 2);
  EXPECT_THAT(result.tokens, ElementsAreArray(expected(third, 4)));

  result =
      generate(session, third, {.max_tokens = 4});  // all of it cached: the last token still gives the logits
  EXPECT_EQ(result.timings.reused_tokens, 2);
  EXPECT_EQ(result.timings.prefill_tokens, 1);
  EXPECT_THAT(result.tokens, ElementsAreArray(expected(third, 4)));
}

TEST(Session, TheSameSeedGivesTheSameTokens) {
  const SamplingOptions sampling{.temperature = 30, .top_p = 0.9, .seed = 7};
  auto a = make_session(200), b = make_session(200);
  generate(b, {9, 9, 9}, {.max_tokens = 5});  // what came before does not matter
  const Tokens prompt{1, 2};
  const auto first = generate(a, prompt, {.sampling = sampling, .max_tokens = 60}).tokens;
  EXPECT_EQ(first, generate(b, prompt, {.sampling = sampling, .max_tokens = 60}).tokens);
  auto other = sampling;
  other.seed = 8;
  EXPECT_NE(first, generate(b, prompt, {.sampling = other, .max_tokens = 60}).tokens);
}

TEST(Session, StreamsEachToken) {
  auto session = make_session(64);
  Tokens streamed;
  const auto result =
      generate(session, {1}, {.max_tokens = 5, .on_token = [&](TokenId id, std::string_view text) {
                                streamed.push_back(id);
                                EXPECT_EQ(text, "");
                              }});
  EXPECT_EQ(streamed, result.tokens);
}

TEST(Session, CancelDuringDecodingKeepsWhatWasProduced) {
  auto session = make_session(64);
  std::atomic<bool> cancel = false;
  const Tokens prompt{1, 2, 3};
  int count = 0;
  const auto result =
      generate(session, prompt,
               {.on_token = [&](TokenId, std::string_view) { cancel = ++count == 4; }, .cancel = &cancel});
  EXPECT_EQ(result.finish_reason, FinishReason::kCancelled);
  EXPECT_THAT(result.tokens, ElementsAreArray(expected(prompt, 4)));
  expect_healthy(session);
}

TEST(Session, CancelDuringPrefillKeepsTheFinishedChunks) {
  auto session = make_session(64);
  std::atomic<bool> cancel = false;
  Tokens prompt(20);
  std::iota(prompt.begin(), prompt.end(), 1);
  const auto result = generate(session, prompt,
                               {.on_prefill =
                                    [&](std::int64_t done, std::int64_t total) {
                                      EXPECT_EQ(total, 20);
                                      cancel = done >= 2 * fake::kChunk;
                                    },
                                .cancel = &cancel});
  EXPECT_EQ(result.finish_reason, FinishReason::kCancelled);
  EXPECT_TRUE(result.tokens.empty());
  EXPECT_EQ(session.tokens().size(), 2u * fake::kChunk);

  const auto again = generate(session, prompt, {.max_tokens = 3});
  EXPECT_EQ(again.timings.reused_tokens, 2 * fake::kChunk);
  EXPECT_THAT(again.tokens, ElementsAreArray(expected(prompt, 3)));
}

TEST(Session, CancelFromAnotherThread) {
  auto session = make_session(100000, 2);
  std::atomic<bool> cancel = false, started = false;
  std::thread stopper([&] {
    while (!started) std::this_thread::yield();
    cancel = true;
  });
  const auto result = generate(
      session, {1}, {.on_token = [&](TokenId, std::string_view) { started = true; }, .cancel = &cancel});
  stopper.join();
  EXPECT_EQ(result.finish_reason, FinishReason::kCancelled);
  expect_healthy(session);
}

TEST(Session, SessionsOfOneModelMayRunOnDifferentThreads) {
  const auto model = fake::make_model(kVocab, 300, 2);
  const auto run = [&](TokenId start) {
    auto session = *Session::create(model);
    const Tokens prompt{start, 2};
    EXPECT_THAT(generate(session, prompt, {.max_tokens = 100}).tokens,
                ElementsAreArray(expected(prompt, 100)));
  };
  std::thread other([&] { run(1); });
  run(2);
  other.join();
}

TEST(Session, AFailingDecoderDoesNotSpoilLaterRequests) {
  auto session = make_session(64);
  for (const std::int64_t length : {0, 2, 5, 9}) {  // in the prefill, in the decoding
    session.clear();
    fake::control().fail_at_length = length;
    EXPECT_EQ(error_of(session, {1, 2, 3, 4, 5, 6}, {.max_tokens = 10}), "made to fail") << length;
    fake::control().fail_at_length = -1;
    EXPECT_TRUE(session.tokens().empty());
    expect_healthy(session);
  }
}

TEST(Session, BrokenLogitsAreAnErrorAndAreForgotten) {
  auto session = make_session(64);
  for (const std::int64_t length : {3, 5}) {
    session.clear();
    fake::control().nan_at_length = length;
    EXPECT_THAT(error_of(session, {1, 2, 3}, {.max_tokens = 10}), HasSubstr("50 of 50 are NaN"));
    fake::control().nan_at_length = -1;
    expect_healthy(session);
  }
}

TEST(Session, BoundariesOfContextAndChunk) {
  // Around the context's end and a chunk's end, then a short request.
  auto session = make_session(12);
  for (std::int64_t length = 1; length <= 12; ++length) {
    const Tokens prompt(static_cast<std::size_t>(length), 3);
    const auto result = generate(session, prompt, {});
    EXPECT_THAT(result.tokens, ElementsAreArray(expected(prompt, static_cast<std::size_t>(12 - length))));
    expect_healthy(session);
  }
}

TEST(Session, PrefillAndStepServeOwnLoops) {
  auto session = make_session(5);
  const Tokens prompt{4, 2};
  ASSERT_TRUE(session.prefill(prompt));
  auto sampler = Sampler::create({}, kVocab);
  Tokens answer;
  for (int i = 0; i < 3; ++i) {
    std::vector<float> logits(session.logits().begin(), session.logits().end());
    answer.push_back(*sampler->sample(logits, session.tokens()));
    ASSERT_TRUE(session.step(answer.back()));
  }
  EXPECT_THAT(answer, ElementsAreArray(expected(prompt, 3)));
  EXPECT_EQ(session.step(1).error().message, "the context of 5 tokens is full");
  EXPECT_FALSE(session.step(50));
  EXPECT_EQ(session.tokens().size(), 5u);
}

TEST(Session, TextFunctionsOfAModelWithoutTokenizerSayWhy) {
  const auto model = fake::make_model(kVocab, 16);
  EXPECT_EQ(model->encode("x").error().message, "the fake model has no tokenizer");
  EXPECT_FALSE(model->encode_chat({}));
  EXPECT_EQ(model->added_bos(), text::kNoToken);
}

}  // namespace
}  // namespace warpfold::engine
