// Encoder-decoders of every family against PyTorch, state by state: in batches of unequal length, all tokens
// at once and one by one, with hypotheses that branch; and what they refuse.
#include "warpfold/models/seq2seq.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "models/fixture.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace warpfold {
namespace {

using models::Seq2Seq;
using test::expect_error;
using test::Fixture;
using Ids = std::vector<std::int32_t>;
using Lengths = std::vector<std::int64_t>;

class Seq2SeqTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto loaded = Seq2Seq::load(test::fixture_path(GetParam()), test::two_threads());
    ASSERT_TRUE(loaded) << loaded.error().message;
    model_.emplace(std::move(*loaded));
    batch_ = model_->make_batch();
    targets_ = fixture_.ints("target");
    sources_ = static_cast<std::int64_t>(fixture_.lengths("source_lengths").size());
    target_length_ = static_cast<std::int64_t>(targets_.size()) / sources_;
  }

  void encode(const models::ObserveStates& observe = {}) {
    const Status status = model_->encode(fixture_.ints("source"), fixture_.lengths("source_lengths"), *batch_,
                                         test::two_threads(), observe);
    ASSERT_TRUE(status) << status.error().message;
  }
  // Appends the tokens [begin, end) of the targets `which`, one for each hypothesis; logits of all, (S, end -
  // begin, vocab).
  std::vector<float> decode(const Lengths& which, std::int64_t begin, std::int64_t end,
                            const models::ObserveStates& observe = {}) {
    Ids tokens;
    for (const std::int64_t i : which)
      for (std::int64_t t = begin; t < end; ++t)
        tokens.push_back(targets_[static_cast<std::size_t>(i * target_length_ + t)]);
    std::vector<float> logits(tokens.size() * static_cast<std::size_t>(model_->info().vocab), NAN);
    const Status status = model_->decode(tokens, *batch_, logits, end - begin, test::two_threads(), observe);
    EXPECT_TRUE(status) << status.error().message;
    return logits;
  }
  Lengths all() const {
    Lengths which;
    for (std::int64_t i = 0; i < sources_; ++i) which.push_back(i);
    return which;
  }
  // The reference's logits of targets `which` at tokens [begin, end).
  std::vector<float> expected(const Lengths& which, std::int64_t begin, std::int64_t end) const {
    const std::vector<float>& logits = fixture_.floats("logits");
    const std::int64_t vocab = model_->info().vocab;
    std::vector<float> out;
    for (const std::int64_t i : which)
      out.insert(out.end(), logits.begin() + (i * target_length_ + begin) * vocab,
                 logits.begin() + (i * target_length_ + end) * vocab);
    return out;
  }

  Fixture fixture_{GetParam()};
  std::optional<Seq2Seq> model_;
  models::Seq2SeqBatchPtr batch_;
  Ids targets_;  // (sources, target_length)
  std::int64_t sources_ = 0, target_length_ = 0;
};

TEST_P(Seq2SeqTest, EveryStateEqualsPyTorch) {
  std::int64_t seen = 0;
  encode([&](std::int64_t layer, auto states) {
    EXPECT_EQ(layer, seen++);
    fixture_.expect_equal(states, "encoder." + std::to_string(layer));
  });
  EXPECT_EQ(seen, model_->info().encoder_layers + 1);
  EXPECT_EQ(Seq2Seq::hypotheses(*batch_), sources_);
  seen = 0;
  const auto logits = decode(all(), 0, target_length_, [&](std::int64_t layer, auto states) {
    EXPECT_EQ(layer, seen++);
    fixture_.expect_equal(states, "decoder." + std::to_string(layer));
  });
  EXPECT_EQ(seen, model_->info().decoder_layers + 1);
  EXPECT_EQ(Seq2Seq::length(*batch_), target_length_);
  fixture_.expect_equal(logits, "logits");
}

TEST_P(Seq2SeqTest, TokenByTokenAndInOddChunks) {
  encode();
  for (std::int64_t t = 0; t < target_length_; ++t)
    Fixture::expect_close(decode(all(), t, t + 1), expected(all(), t, t + 1), "token " + std::to_string(t));
  encode();
  for (std::int64_t t = 0, n = 1; t < target_length_;
       t += n, n = std::min<std::int64_t>(n + 2, target_length_ - t))
    Fixture::expect_close(decode(all(), t, t + n), expected(all(), t, t + n),
                          "chunk at " + std::to_string(t));
}

TEST_P(Seq2SeqTest, LastRowsOnly) {
  encode();
  const std::int64_t rows = 2;
  std::vector<float> logits(static_cast<std::size_t>(sources_ * rows * model_->info().vocab));
  ASSERT_TRUE(model_->decode(targets_, *batch_, logits, rows, test::two_threads()));
  Fixture::expect_close(logits, expected(all(), target_length_ - rows, target_length_), "last rows");
}

TEST_P(Seq2SeqTest, HypothesesBranchAndEnd) {
  encode();
  decode(all(), 0, 5);
  // Source 1 gets three hypotheses, source 2 one, source 0 none. They part ways, and the middle one's
  // children go on.
  ASSERT_TRUE(model_->select(Lengths{1, 1, 1, 2}, *batch_));
  const Lengths branched{1, 0, 1, 2};  // the second reads other tokens from here
  Fixture::expect_close(decode({1, 1, 1, 2}, 5, 18), expected({1, 1, 1, 2}, 5, 18), "branches");
  decode(branched, 18, 19);
  ASSERT_TRUE(model_->select(Lengths{2, 2, 0}, *batch_));
  Fixture::expect_close(decode({1, 1, 1}, 19, 21), expected({1, 1, 1}, 19, 21), "children");
  // What was left over of memory does not show in the next batch.
  encode();
  Fixture::expect_close(decode(all(), 0, target_length_), expected(all(), 0, target_length_), "next batch");
}

TEST_P(Seq2SeqTest, ASourceDoesNotDependOnItsBatchNorOnThreads) {
  const Lengths lengths = fixture_.lengths("source_lengths");
  ThreadPool three(3);
  std::size_t at = 0;
  for (std::int64_t i = 0; i < sources_; ++i) {
    const auto n = static_cast<std::size_t>(lengths[static_cast<std::size_t>(i)]);
    ASSERT_TRUE(model_->encode(std::span(fixture_.ints("source")).subspan(at, n),
                               {&lengths[static_cast<std::size_t>(i)], 1}, *batch_, three));
    Fixture::expect_close(decode({i}, 0, target_length_), expected({i}, 0, target_length_),
                          "source " + std::to_string(i));
    at += n;
  }
}

TEST_P(Seq2SeqTest, ImpossibleRequests) {
  constexpr auto kInvalid = ErrorCode::kInvalidArgument;
  const auto encode_ids = [&](const Ids& ids, const Lengths& lengths) {
    return model_->encode(ids, lengths, *batch_, test::two_threads());
  };
  const auto decode_ids = [&](const Ids& ids, std::int64_t rows, std::size_t values) {
    std::vector<float> logits(values);
    return model_->decode(ids, *batch_, logits, rows, test::two_threads());
  };
  const auto vocab = static_cast<std::size_t>(model_->info().vocab);
  const auto source_vocab = static_cast<std::int32_t>(model_->info().source_vocab);
  expect_error(decode_ids({1}, 1, vocab), kInvalid, {"no hypotheses"});
  expect_error(encode_ids({}, {}), kInvalid, {"no sequences"});
  expect_error(encode_ids({3}, {1, 0}), kInvalid, {"sequence 1 has 0 tokens"});
  expect_error(encode_ids(Ids(33, 3), {33}), kInvalid, {"33 tokens", "1 to 32"});
  expect_error(encode_ids({3, 3}, {1}), kInvalid, {"add up to 1", "2 tokens"});
  expect_error(encode_ids({source_vocab}, {1}), kInvalid, {std::to_string(source_vocab), "position 0"});
  ASSERT_TRUE(encode_ids({3, 4, 5}, {1, 2}));
  expect_error(decode_ids({}, 0, 0), kInvalid, {"0 tokens", "2 hypotheses"});
  expect_error(decode_ids({1, 1, 1}, 1, 2 * vocab), kInvalid, {"3 tokens", "2 hypotheses"});
  expect_error(decode_ids({1, -1}, 1, 2 * vocab), kInvalid, {"token -1 at position 1"});
  expect_error(decode_ids({1, 1}, 2, 4 * vocab), kInvalid, {"2 rows"});
  expect_error(decode_ids({1, 1}, 1, 2 * vocab - 1), kInvalid, {std::to_string(2 * vocab - 1)});
  expect_error(decode_ids(Ids(66, 1), 0, 0), kInvalid, {"33 tokens", "32"});
  ASSERT_TRUE(decode_ids(Ids(64, 1), 0, 0)) << "the whole context";
  expect_error(decode_ids({1, 1}, 0, 0), kInvalid, {"1 tokens", "32 are used"});
  expect_error(model_->select(Lengths{0, 2}, *batch_), kInvalid, {"hypothesis 1", "2"});
  ASSERT_TRUE(model_->select(Lengths{}, *batch_));
  expect_error(decode_ids({1}, 1, vocab), kInvalid, {"no hypotheses"});
}

INSTANTIATE_TEST_SUITE_P(Families, Seq2SeqTest,
                         ::testing::Values("transformer", "transformer_pre", "t5", "t5_gated", "bart",
                                           "marian"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Whisper, EveryStateEqualsPyTorch) {
  const Fixture fixture("whisper");
  const auto model = Seq2Seq::load(test::fixture_path("whisper"), test::two_threads());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->info().mels, 10);
  EXPECT_EQ(model->info().source_context, 24);
  const auto batch = model->make_batch();
  std::int64_t seen = 0;
  const Status encoded = model->encode_features(
      fixture.floats("features"), *batch, test::two_threads(), [&](std::int64_t layer, auto states) {
        EXPECT_EQ(layer, seen++);
        fixture.expect_equal(states, "encoder." + std::to_string(layer));
      });
  ASSERT_TRUE(encoded) << encoded.error().message;
  EXPECT_EQ(seen, 3);
  const Ids& tokens = fixture.ints("target");
  std::vector<float> logits(tokens.size() * 50);
  const Status decoded = model->decode(tokens, *batch, logits, static_cast<std::int64_t>(tokens.size()) / 2,
                                       test::two_threads(), [&](std::int64_t layer, auto states) {
                                         fixture.expect_equal(states, "decoder." + std::to_string(layer));
                                       });
  ASSERT_TRUE(decoded) << decoded.error().message;
  fixture.expect_equal(logits, "logits");
}

TEST(Whisper, ImpossibleRequests) {
  constexpr auto kInvalid = ErrorCode::kInvalidArgument;
  const auto model = Seq2Seq::load(test::fixture_path("whisper"), test::two_threads());
  const auto reader = Seq2Seq::load(test::fixture_path("t5"), test::two_threads());
  ASSERT_TRUE(model && reader);
  const auto batch = model->make_batch();
  const std::vector<float> features(479);
  expect_error(model->encode_features({}, *batch, test::two_threads()), kInvalid,
               {"0 values", "48 frames of 10"});
  expect_error(model->encode_features(features, *batch, test::two_threads()), kInvalid, {"479 values"});
  expect_error(model->encode(Ids{3}, Lengths{1}, *batch, test::two_threads()), kInvalid,
               {"whisper", "no tokens"});
  expect_error(reader->encode_features(features, *reader->make_batch(), test::two_threads()), kInvalid,
               {"t5", "read tokens"});
}

TEST(Seq2SeqInfo, DescribesTheModel) {
  const auto model = Seq2Seq::load(test::fixture_path("transformer"), test::two_threads());
  ASSERT_TRUE(model) << model.error().message;
  const models::Seq2SeqInfo& info = model->info();
  EXPECT_EQ(info.architecture, "transformer");
  EXPECT_EQ(info.encoder_layers, 2);
  EXPECT_EQ(info.decoder_layers, 3);
  EXPECT_EQ(info.d_model, 32);
  EXPECT_EQ(info.heads, 4);
  EXPECT_EQ(info.d_ff, 40);
  EXPECT_EQ(info.source_vocab, 40);
  EXPECT_EQ(info.vocab, 50);
  EXPECT_EQ(info.context, 32);
  EXPECT_EQ(info.start, 1);
  EXPECT_EQ(info.end, 2);
  const std::int64_t attention = 4 * (32 * 32 + 32), feed_forward = 2 * 32 * 40 + 40 + 32, norm = 64;
  EXPECT_EQ(info.parameters, 2 * (attention + feed_forward + 2 * norm) +
                                 3 * (2 * attention + feed_forward + 3 * norm) + 2 * norm + (40 + 50) * 32 +
                                 50 * 32 + 50);
}

// A fixture with its config.json changed, and without what the file no longer needs.
class BrokenSeq2Seq : public ::testing::Test {
 protected:
  Result<Seq2Seq> load(const std::string& fixture, const std::string& from, const std::string& to) {
    std::ifstream file(test::fixture_path(fixture) + "/config.json");
    std::string config((std::istreambuf_iterator<char>(file)), {});
    const auto at = config.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    config.replace(at, from.size(), to);
    folder_.write("config.json", config);
    std::filesystem::copy(test::fixture_path(fixture) + "/model.safetensors",
                          folder_.path() + "/model.safetensors",
                          std::filesystem::copy_options::overwrite_existing);
    return Seq2Seq::load(folder_.path(), test::two_threads());
  }
  test::TempDir folder_;
};

TEST_F(BrokenSeq2Seq, IsRefusedByName) {
  constexpr auto kBad = ErrorCode::kBadFile, kUnsupported = ErrorCode::kUnsupported;
  expect_error(load("t5", "\"model_type\": \"t5\"", "\"model_type\": \"rwkv\""), kUnsupported,
               {"\"rwkv\"", "transformer, t5"});
  expect_error(load("t5", "\"feed_forward_proj\": \"relu\"", "\"feed_forward_proj\": \"mish\""), kUnsupported,
               {"mish"});
  expect_error(load("t5", "\"feed_forward_proj\": \"relu\"", "\"feed_forward_proj\": \"gated-gelu\""), kBad,
               {"wi_0", "missing"});
  expect_error(load("t5", "\"relative_attention_num_buckets\": 8", "\"relative_attention_num_buckets\": 9"),
               kBad, {"relative_attention_bias", "(8, 4)", "(9, 4)"});
  expect_error(
      load("t5", "\"relative_attention_max_distance\": 12", "\"relative_attention_max_distance\": 1"), kBad,
      {"8 buckets", "up to 1"});
  expect_error(load("t5", "\"d_kv\": 6", "\"d_kv\": 7"), kBad,
               {"SelfAttention.q.weight", "(24, 32)", "(28, 32)"});
  expect_error(load("t5", "\"eos_token_id\": 1", "\"eos_token_id\": 50"), kBad,
               {"eos_token_id is 50", "50 tokens"});
  expect_error(load("t5", "\"decoder_start_token_id\": 0,", ""), kBad, {"decoder_start_token_id is missing"});
  // A head that is missing although the configuration does not tie it.
  expect_error(load("t5", "\"scale_decoder_outputs\": true,\n \"tie_word_embeddings\": true",
                    "\"tie_word_embeddings\": false"),
               kBad, {"lm_head.weight", "missing"});
  expect_error(load("bart", "\"decoder_layers\": 3", "\"decoder_layers\": 4"), kBad,
               {"model.decoder.layers.3.", "missing"});
  expect_error(load("bart", "\"decoder_attention_heads\": 2", "\"decoder_attention_heads\": 3"), kBad,
               {"32", "3 heads"});
  expect_error(load("bart", "\"max_position_embeddings\": 32", "\"max_position_embeddings\": 33"), kBad,
               {"embed_positions", "(34, 32)", "(35, 32)"});
  expect_error(load("transformer", "\"d_model\": 32", "\"d_model\": 64"), kBad,
               {"source_embedding.weight", "(40, 32)", "64"});
  expect_error(load("transformer", "\"dim_feedforward\": 40", "\"dim_feedforward\": 41"), kBad,
               {"linear1.weight"});
  expect_error(load("transformer", "\"activation\": \"relu\"", "\"activation\": 3"), kBad,
               {"activation", "not a string"});
}

}  // namespace
}  // namespace warpfold
