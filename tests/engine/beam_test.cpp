// Beam search: by its definition on tables, against transformers on tiny models
// (tests/reference/make_beams.py), and on the model that writes lines backwards.
//
// Tolerance of scores: both add log probabilities of at most 20 tokens, ours from float32 logits whose error
// the tests of the models bound by 2e-5 of their size, 7 here: 20 * 1.4e-4 before the division by the length,
// at worst, and a typical sum of independent errors is a tenth of that: 3e-4. The decoder-only model keeps
// keys and values in fp16, 2^-11 of their size, which moves a logit by up to that share of 7: 20 * 3e-3 at
// worst, a tenth of it as a rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "support/expect_error.h"
#include "warpfold/engine/beam_generation.h"
#include "warpfold/engine/beam_search.h"
#include "warpfold/engine/translator.h"

namespace warpfold::engine {
namespace {

using Ids = std::vector<TokenId>;
using Json = nlohmann::json;
using test::expect_error;
constexpr auto kInvalid = ErrorCode::kInvalidArgument;

std::string tests_path(const std::string& file) {
  return std::string(WARPFOLD_SOURCE_DIR) + "/tests/" + file;
}

// A model whose next token depends on the whole sequence: logits from a hash of it.
std::vector<float> table_logits(const Ids& sequence, std::int64_t vocab) {
  std::uint64_t h = 1469598103934665603u;
  for (const TokenId id : sequence) h = (h ^ static_cast<std::uint64_t>(id + 1)) * 1099511628211u;
  std::vector<float> logits;
  for (std::int64_t i = 0; i < vocab; ++i) {
    h = h * 6364136223846793005u + 1442695040888963407u;
    logits.push_back(static_cast<float>(h >> 40) * 0x1p-24f * 4);
  }
  return logits;
}

std::vector<double> log_softmax(const std::vector<float>& logits) {
  double total = 0;
  for (const float x : logits) total += std::exp(static_cast<double>(x));
  std::vector<double> out;
  for (const float x : logits) out.push_back(x - std::log(total));
  return out;
}

std::vector<BeamHypothesis> run(BeamSearch search, std::int64_t vocab) {
  std::vector<Ids> sequences(1);
  while (!search.done()) {
    std::vector<float> logits;
    for (const Ids& sequence : sequences) {
      const auto row = table_logits(sequence, vocab);
      logits.insert(logits.end(), row.begin(), row.end());
    }
    const Status status = search.advance(logits);
    EXPECT_TRUE(status) << status.error().message;
    std::vector<Ids> next;
    for (std::size_t i = 0; i < search.tokens().size(); ++i) {
      next.push_back(sequences[static_cast<std::size_t>(search.parents()[i])]);
      next.back().push_back(search.tokens()[i]);
    }
    sequences = std::move(next);
  }
  return search.best();
}

// Every sequence of at most `longest` tokens with its sum of log probabilities; the end is token 0.
void enumerate(const Ids& sequence, double sum, std::int64_t longest, std::int64_t vocab, double penalty,
               std::multimap<double, Ids, std::greater<>>& out) {
  const auto p = log_softmax(table_logits(sequence, vocab));
  const auto n = static_cast<double>(sequence.size() + 1);
  for (TokenId id = 0; id < vocab; ++id) {
    const double next = sum + p[static_cast<std::size_t>(id)], score = next / std::pow(n, penalty);
    Ids extended = sequence;
    if (id == 0) {
      out.emplace(score, sequence);
      continue;
    }
    extended.push_back(id);
    if (static_cast<std::int64_t>(extended.size()) == longest)
      out.emplace(score, extended);
    else
      enumerate(extended, next, longest, vocab, penalty, out);
  }
}

TEST(BeamSearch, AWideBeamFindsTheBestOfAll) {
  constexpr std::int64_t kVocab = 4, kLongest = 4, kBeams = 200;  // more than there are sequences
  for (const double penalty : {0.0, 1.0, 2.0}) {
    std::multimap<double, Ids, std::greater<>> expected;
    enumerate({}, 0, kLongest, kVocab, penalty, expected);
    const auto search = BeamSearch::create({.beams = kBeams,
                                            .n_best = 10,
                                            .length_penalty = penalty,
                                            .max_tokens = kLongest,
                                            .ends = {0},
                                            .suppressed = {}},
                                           kVocab);
    ASSERT_TRUE(search);
    const auto found = run(*search, kVocab);
    ASSERT_EQ(found.size(), 10u);
    auto it = expected.begin();
    for (const BeamHypothesis& hypothesis : found) {
      EXPECT_EQ(hypothesis.tokens, it->second);
      // n log probabilities of a vocabulary of 4, by the bound of ops/logits.h; the penalty divides at most.
      EXPECT_NEAR(hypothesis.score, it->first, kLongest * (9 + std::log(kVocab)) * 0x1p-24);
      EXPECT_EQ(hypothesis.ended, static_cast<std::int64_t>(hypothesis.tokens.size()) < kLongest);
      ++it;
    }
  }
}

TEST(BeamSearch, SuppressedTokensAreNotChosenButKeepTheirShare) {
  const auto search =
      BeamSearch::create({.beams = 2, .n_best = 2, .max_tokens = 1, .ends = {}, .suppressed = {2, 0}}, 4);
  ASSERT_TRUE(search);
  const auto p = log_softmax(table_logits({}, 4));
  const auto found = run(*search, 4);
  ASSERT_EQ(found.size(), 2u);
  for (const BeamHypothesis& hypothesis : found) {
    ASSERT_EQ(hypothesis.tokens.size(), 1u);
    EXPECT_TRUE(hypothesis.tokens[0] == 1 || hypothesis.tokens[0] == 3);
    EXPECT_NEAR(hypothesis.score, p[static_cast<std::size_t>(hypothesis.tokens[0])], 1e-6);
  }
}

// The same as sorting all continuations, over several blocks of logits, with equal logits, impossible tokens
// and one row without any possible token; shared by threads or not.
TEST(BeamSearch, AStepTakesTheLikeliestOfAll) {
  constexpr std::int64_t kVocab = 300, kBeams = 5;
  const BeamOptions options{.beams = kBeams, .max_tokens = 9, .ends = {}, .suppressed = {1, 299}};
  auto search = BeamSearch::create(options, kVocab), alone = BeamSearch::create(options, kVocab);
  ASSERT_TRUE(search && alone);
  ThreadPool pool(2);
  std::vector<double> sums{0};
  for (Ids history{0}; history.size() < 9; history.push_back(0)) {
    std::vector<float> logits;
    struct Continuation {
      double sum;
      std::int64_t parent;
      TokenId token;
    };
    std::vector<Continuation> all;
    for (std::size_t h = 0; h < sums.size(); ++h) {
      history[0] = static_cast<TokenId>(h);
      auto row = table_logits(history, kVocab);
      for (float& x : row) x = std::round(x * 16) / 16;  // many equal ones
      for (std::size_t i = 0; i < row.size(); i += 7) row[i] = -INFINITY;
      if (h == 3) row.assign(row.size(), -INFINITY);
      const auto p = log_softmax(row);
      for (std::size_t i = 0; i < row.size(); ++i)
        if (row[i] > -INFINITY && i != 1 && i != 299)
          all.push_back({sums[h] + p[i], static_cast<std::int64_t>(h), static_cast<TokenId>(i)});
      logits.insert(logits.end(), row.begin(), row.end());
    }
    // Of equal sums the first hypothesis's and the smaller id's.
    std::stable_sort(all.begin(), all.end(),
                     [](const Continuation& a, const Continuation& b) { return a.sum > b.sum; });
    ASSERT_TRUE(search->advance(logits, &pool));
    ASSERT_TRUE(alone->advance(logits));
    ASSERT_EQ(search->open(), kBeams);
    ASSERT_TRUE(std::ranges::equal(search->tokens(), alone->tokens()));
    ASSERT_TRUE(std::ranges::equal(search->parents(), alone->parents()));
    sums.clear();
    for (std::size_t i = 0; i < kBeams; ++i) {
      EXPECT_EQ(search->parents()[i], all[i].parent) << "step " << history.size() << ", place " << i;
      EXPECT_EQ(search->tokens()[i], all[i].token) << "step " << history.size() << ", place " << i;
      sums.push_back(all[i].sum);
    }
  }
}

TEST(BeamSearch, ImpossibleOptionsAndLogits) {
  const auto create = [](BeamOptions options) { return BeamSearch::create(options, 8); };
  expect_error(create({.beams = 0}), kInvalid, {"beams is 0"});
  expect_error(create({.beams = 2, .n_best = 3}), kInvalid, {"n_best is 3", "2 beams"});
  expect_error(create({.length_penalty = NAN}), kInvalid, {"length_penalty is nan"});
  expect_error(create({.max_tokens = 0}), kInvalid, {"max_tokens is 0"});
  expect_error(create({.ends = {8}}), kInvalid, {"token 8", "vocabulary of 8"});
  expect_error(create({.suppressed = {-1}}), kInvalid, {"token -1"});
  expect_error(BeamSearch::create({}, 0), kInvalid, {"0 tokens"});
  auto search = create({.beams = 2, .max_tokens = 1, .ends = {0}});
  ASSERT_TRUE(search);
  std::vector<float> logits(8, 0.5f);
  expect_error(search->advance(std::span(logits).first(7)), kInvalid, {"7 logits", "1 hypotheses"});
  logits[3] = NAN;
  expect_error(search->advance(logits), kInvalid, {"logit 3 of hypothesis 0 is nan"});
  logits[3] = INFINITY;
  expect_error(search->advance(logits), kInvalid, {"inf"});
  logits[3] = -INFINITY;
  expect_error(search->advance(), kInvalid, {"hypothesis 0 were not given"});
  expect_error(search->look(1, logits), kInvalid, {"hypothesis 1", "1 open"});
  expect_error(search->look(0, std::span(logits).first(7)), kInvalid, {"7 logits", "vocabulary of 8"});
  ASSERT_TRUE(search->advance(logits));
  EXPECT_TRUE(search->done());
  expect_error(search->advance(logits), kInvalid, {"done"});
}

BeamOptions options_of(const Json& json) {
  return {.beams = json["beams"],
          .n_best = json["n_best"],
          .length_penalty = json["length_penalty"],
          .early_stopping = json["early_stopping"],
          .max_tokens = json["max_tokens"],
          .ends = {},
          .suppressed = {}};
}

TEST(BeamSearch, EqualsTransformers) {
  std::ifstream file(tests_path("engine/beams.json"));
  const Json cases = Json::parse(file);
  std::map<std::string, std::optional<Translator>> translators;
  std::map<std::string, ModelPtr> decoders;
  for (const Json& c : cases) {
    const std::string name = c["model"], what = name + " " + c["options"].dump() + " " + c["source"].dump();
    const Ids source = c["source"];
    std::vector<Translation> found;
    if (name.ends_with("llama")) {
      ModelPtr& model = decoders[name];
      if (!model) {
        auto loaded = Model::load(tests_path("models/" + name), {.threads = 2});
        ASSERT_TRUE(loaded) << loaded.error().message;
        model = *loaded;
      }
      BeamOptions options = options_of(c["options"]);
      options.ends = {2};
      const auto results = generate_beams(*model, source, options);
      ASSERT_TRUE(results) << results.error().message;
      for (const BeamHypothesis& h : *results) found.push_back({"", h.tokens, h.score, h.ended});
    } else {
      std::optional<Translator>& translator = translators[name];
      if (!translator) {
        auto loaded = Translator::load(tests_path("models/" + name), {.threads = 2});
        ASSERT_TRUE(loaded) << loaded.error().message;
        translator.emplace(std::move(*loaded));
      }
      const auto results =
          translator->translate(std::span(&source, 1), {.beam = options_of(c["options"]), .sampling = {}});
      ASSERT_TRUE(results) << results.error().message;
      found = results->at(0);
    }
    ASSERT_EQ(found.size(), c["results"].size()) << what;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Json& expected = c["results"][i];
      EXPECT_EQ(found[i].tokens, expected["tokens"].get<Ids>()) << what << " result " << i;
      EXPECT_EQ(found[i].ended, expected["ended"].get<bool>()) << what << " result " << i;
      const double score = expected["score"];
      const double bound = name.ends_with("llama") ? 6e-3 : 3e-4;
      EXPECT_NEAR(found[i].score, score, bound * std::max(1.0, std::abs(score))) << what << " result " << i;
    }
  }
}

class Reversing : public ::testing::Test {
 protected:
  void SetUp() override {
    auto loaded = Translator::load(tests_path("models/reverse"), {.threads = 2});
    ASSERT_TRUE(loaded) << loaded.error().message;
    translator_.emplace(std::move(*loaded));
    std::ifstream file(tests_path("models/reverse/held_out.txt"));
    for (std::string line; std::getline(file, line);) lines_.push_back(line);
    ASSERT_GT(lines_.size(), 300u);
  }
  std::optional<Translator> translator_;
  std::vector<std::string> lines_;
};

// What the model was trained for, on lines that it has not seen, in batches of unequal length; 99 % is the
// requirement.
TEST_F(Reversing, WritesHeldOutLinesBackwards) {
  for (const std::int64_t beams : {1, 4}) {
    const auto results = translator_->translate(
        lines_, {.beam = {.beams = beams, .ends = {}, .suppressed = {}}, .sampling = {}});
    ASSERT_TRUE(results) << results.error().message;
    ASSERT_EQ(results->size(), lines_.size());
    std::size_t right = 0;
    for (std::size_t i = 0; i < lines_.size(); ++i)
      right += results->at(i).at(0).text == std::string(lines_[i].rbegin(), lines_[i].rend());
    EXPECT_GE(static_cast<double>(right), 0.99 * static_cast<double>(lines_.size())) << beams << " beams";
  }
}

TEST_F(Reversing, ASourceDoesNotDependOnItsBatch) {
  const TranslateOptions options{.beam = {.beams = 3, .n_best = 3, .ends = {}, .suppressed = {}},
                                 .sampling = {}};
  const auto lines = std::span(lines_).first(30);
  const auto together = translator_->translate(lines, options);
  ASSERT_TRUE(together);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto alone = translator_->translate(lines.subspan(i, 1), options);
    ASSERT_TRUE(alone);
    for (std::size_t n = 0; n < 3; ++n) {
      EXPECT_EQ(alone->at(0)[n].tokens, together->at(i)[n].tokens) << lines[i];
      EXPECT_NEAR(alone->at(0)[n].score, together->at(i)[n].score, 1e-4) << lines[i];
    }
  }
}

TEST_F(Reversing, SamplingFollowsItsSeedAndLengthsEnd) {
  TranslateOptions options{.beam = {.beams = 1, .max_tokens = 40, .ends = {}, .suppressed = {}},
                           .sampling = {.temperature = 3.0, .seed = 5}};
  const std::string line = "attention";
  const auto sample = [&] { return translator_->translate(std::span(&line, 1), options)->at(0).at(0).text; };
  const std::string first = sample();
  EXPECT_EQ(sample(), first);
  options.sampling.seed = 6;
  EXPECT_NE(sample(), first);
  options.sampling.temperature = 0;
  EXPECT_EQ(sample(), "noitnetta");
  for (const std::int64_t beams : {1, 2}) {
    options.beam.beams = beams;
    options.beam.max_tokens = 3;
    const auto cut = translator_->translate(std::span(&line, 1), options);
    ASSERT_TRUE(cut);
    EXPECT_EQ(cut->at(0).at(0).text, "noi");
    EXPECT_FALSE(cut->at(0).at(0).ended);
    options.beam.max_tokens = 1000;  // the context ends it
    EXPECT_EQ(translator_->translate(std::span(&line, 1), options)->at(0).at(0).text, "noitnetta");
  }
}

TEST_F(Reversing, ImpossibleRequests) {
  const auto translate = [&](const std::vector<std::string>& texts, const BeamOptions& beam = {}) {
    return translator_->translate(texts, {.beam = beam, .sampling = {}});
  };
  expect_error(translate({}), kInvalid, {"no sources"});
  expect_error(translate({std::string(64, 'a')}), kInvalid, {"65 tokens", "1 to 64"});
  expect_error(translate({"a"}, {.beams = 1, .n_best = 2}), kInvalid, {"n_best is 2"});
  expect_error(translate({"a"}, {.max_tokens = 0}), kInvalid, {"max_tokens is 0"});
  const std::vector<Ids> empty(1), outside{{4, 30}};
  expect_error(translator_->translate(empty, {}), kInvalid, {"0 tokens"});
  expect_error(translator_->translate(outside, {}), kInvalid, {"token 30"});
  const auto untold =
      Translator::load(tests_path("models/fixtures/bart"), {.threads = 1});  // has no tokenizer
  ASSERT_TRUE(untold);
  expect_error(untold->tokenizer(), ErrorCode::kIo, {"tokenizer.json"});
  EXPECT_TRUE(translate({"a"})) << "and the next request is served";
}

TEST(GenerateBeams, ImpossibleRequests) {
  const auto model = Model::load(tests_path("models/fixtures/llama"), {.threads = 1});
  ASSERT_TRUE(model);
  const auto generate = [&](const Ids& prompt, const BeamOptions& options = {.max_tokens = 5}) {
    return generate_beams(**model, prompt, options);
  };
  expect_error(generate({}), kInvalid, {"no tokens"});
  expect_error(generate({50}), kInvalid, {"token 50"});
  expect_error(generate(Ids(60, 3)), kInvalid, {"60 tokens", "5 of answer", "64"});
  expect_error(generate({3}, {.beams = 0}), kInvalid, {"beams is 0"});
  ASSERT_TRUE(generate(Ids(59, 3)));
}

}  // namespace
}  // namespace warpfold::engine
