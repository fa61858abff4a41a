// Encoders against PyTorch, state by state, in batches of unequal length; and what they refuse.
#include "warpfold/models/encoder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "models/fixture.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace warpfold {
namespace {

using models::Encoder;
using test::expect_error;
using test::Fixture;

class EncoderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto loaded = Encoder::load(test::fixture_path("bert"), test::two_threads());
    ASSERT_TRUE(loaded) << loaded.error().message;
    encoder_.emplace(std::move(*loaded));
    workspace_ = encoder_->make_workspace();
  }

  std::vector<float> run(std::span<const std::int32_t> tokens, std::span<const std::int64_t> lengths,
                         const std::function<void(std::int64_t, std::span<const float>)>& observe = {},
                         ThreadPool& pool = test::two_threads()) {
    std::vector<float> hidden(tokens.size() * static_cast<std::size_t>(encoder_->info().d_model), NAN);
    const Status status = encoder_->forward(tokens, lengths, hidden, *workspace_, pool, observe);
    EXPECT_TRUE(status) << status.error().message;
    return hidden;
  }
  Status status(std::span<const std::int32_t> tokens, std::span<const std::int64_t> lengths) {
    std::vector<float> hidden(tokens.size() * static_cast<std::size_t>(encoder_->info().d_model));
    return encoder_->forward(tokens, lengths, hidden, *workspace_, test::two_threads());
  }

  Fixture fixture_{"bert"};
  std::optional<Encoder> encoder_;
  models::EncoderWorkspacePtr workspace_;
};

TEST_F(EncoderTest, EveryStateEqualsPyTorch) {
  std::int64_t seen = 0;
  const auto last =
      run(fixture_.ints("source"), fixture_.lengths("source_lengths"), [&](std::int64_t layer, auto states) {
        EXPECT_EQ(layer, seen++);
        fixture_.expect_equal(states, "encoder." + std::to_string(layer));
      });
  EXPECT_EQ(seen, encoder_->info().layers + 1);
  fixture_.expect_equal(last, "encoder." + std::to_string(encoder_->info().layers));
}

TEST_F(EncoderTest, ASequenceDoesNotDependOnItsBatchNorOnThreads) {
  const auto& tokens = fixture_.ints("source");
  const auto lengths = fixture_.lengths("source_lengths");
  const auto together = run(tokens, lengths);
  std::size_t at = 0;
  const auto d = static_cast<std::size_t>(encoder_->info().d_model);
  ThreadPool three(3);
  for (const std::int64_t length : lengths) {
    const auto n = static_cast<std::size_t>(length);
    const auto alone = run(std::span(tokens).subspan(at, n), {&length, 1}, {}, three);
    Fixture::expect_close(alone, std::span(together).subspan(at * d, n * d), "alone");
    at += n;
  }
  EXPECT_EQ(run(tokens, lengths), together) << "the workspace still holds another batch";
}

TEST_F(EncoderTest, ImpossibleInputs) {
  using Ids = std::vector<std::int32_t>;
  using Lengths = std::vector<std::int64_t>;
  constexpr auto kInvalid = ErrorCode::kInvalidArgument;
  expect_error(status({}, {}), kInvalid, {"no sequences"});
  expect_error(status(Ids{3}, Lengths{1, 0}), kInvalid, {"sequence 1 has 0 tokens", "1 to 24"});
  expect_error(status(Ids(25, 3), Lengths{25}), kInvalid, {"sequence 0 has 25 tokens", "1 to 24"});
  expect_error(status(Ids(5, 3), Lengths{2, 2}), kInvalid, {"add up to 4", "5 tokens"});
  expect_error(status(Ids{3, 27}, Lengths{2}), kInvalid, {"token 27 at position 1", "27"});
  expect_error(status(Ids{-1}, Lengths{1}), kInvalid, {"token -1"});
  std::vector<float> little(31);
  expect_error(encoder_->forward(Ids{3}, Lengths{1}, little, *workspace_, test::two_threads()), kInvalid,
               {"32", "31"});
}

// The fixture with its config.json changed.
class BrokenEncoder : public ::testing::Test {
 protected:
  Result<Encoder> load(const std::string& from, const std::string& to) {
    std::ifstream file(test::fixture_path("bert") + "/config.json");
    std::string config((std::istreambuf_iterator<char>(file)), {});
    const auto at = config.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    config.replace(at, from.size(), to);
    folder_.write("config.json", config);
    std::filesystem::copy(test::fixture_path("bert") + "/model.safetensors",
                          folder_.path() + "/model.safetensors",
                          std::filesystem::copy_options::overwrite_existing);
    return Encoder::load(folder_.path(), test::two_threads());
  }
  test::TempDir folder_;
};

TEST_F(BrokenEncoder, IsRefusedByName) {
  expect_error(load("\"model_type\": \"bert\"", "\"model_type\": \"gru\""), ErrorCode::kUnsupported,
               {"\"gru\""});
  expect_error(load("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3"), ErrorCode::kBadFile,
               {"encoder.layer.2.", "missing"});
  expect_error(load("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 0"), ErrorCode::kBadFile,
               {"num_hidden_layers is 0"});
  expect_error(load("\"num_attention_heads\": 4", "\"num_attention_heads\": 5"), ErrorCode::kBadFile,
               {"32", "5 heads"});
  expect_error(load("\"intermediate_size\": 40", "\"intermediate_size\": 41"), ErrorCode::kBadFile,
               {"intermediate.dense.weight", "(40, 32)", "(41, 32)"});
  expect_error(load("\"hidden_act\": \"gelu\"", "\"hidden_act\": \"mish\""), ErrorCode::kUnsupported,
               {"mish"});
  expect_error(load("\"hidden_size\": 32,", ""), ErrorCode::kBadFile, {"hidden_size is missing"});
  expect_error(Encoder::load(folder_.path() + "/absent", test::two_threads()), ErrorCode::kIo,
               {"absent/config.json"});
}

}  // namespace
}  // namespace warpfold
