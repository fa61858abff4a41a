// Logits of every position against the float64 reference, for each model family, file form and weight type:
// all tokens in one call, one by one, and in odd chunks.
//
// How far may they lie apart? Call e the definition's logits, m those of the reference with the engine's roundings
// (int8 activations where weights are block-quantised; keys and values in fp16 or int8), x the engine's.
//
// 1. A priori, |m - e|. Rounding n values of a group to int8 with scale amax / 127 adds errors that are uniform in
//    +-amax / 254: rms amax / (127 sqrt(12)), which is c / 440 of the group's rms, c = amax / rms. Groups of 32 normal
//    numbers have c = 2.1; products act(g) * u have heavier tails: c = 4 covers all. A linear layer passes independent
//    errors on in proportion. Sources add as root sum square: in each of L layers four rounded inputs (q/k/v, output,
//    gate/up, down), one more at the head, and two for keys and values, where an error of the keys also counts with
//    the spread of the scores, S = 2.5 here. So
//      rms(m - e) / rms(e) <= safety * sqrt((4 L + 1) a^2 + L (1 + S^2) r^2),    safety = 2 (norms, soft-max)
//    a = 4 / 440 with block types, else 0;  r = 3.2 / 440 for int8 keys and values (c of 16 .. 64 numbers),
//    2^-11 / sqrt(3) for fp16.
// 2. rms(x - e) <= 1.25 rms(m - e), max|x - e| <= 1.5 max|m - e|: the engine adds the noise of an ideal engine with
//    these roundings, not more (truncation instead of rounding gives 1.7 to 2). With block types a comparison with m
//    itself cannot be sharp: a value within 1e-6 of the middle between two codes rounds either way, one such flip
//    shifts all that follows, and after a few layers x - m nears m - e. The reference in float32 shows the same.
// 3. Plain types: rms(x - m) <= 7e-5 max|e|: float32 arithmetic costs 1e-6, the rest is a few flips of fp16 keys and
//    values, 2^-11 of one element each; GELU by erf instead of tanh, the smallest mistake worth catching, costs 1e-4.
//    With int8 keys and values a flip is larger and shifts the codes of later layers: rms(x - m) <= rms(m - e) / 2.
#include <optional>
#include <ostream>
#include <tuple>

#include "models/tiny_checkpoint.h"

namespace warpfold {
namespace {

using models::Decoder;
using models::KvType;
using test::Distance;

struct Checkpoint {
  const char* name;
  bool block_types;
};

void PrintTo(const Checkpoint& c, std::ostream* out) { *out << c.name; }

constexpr Checkpoint kCheckpoints[] = {
    {"llama_f32", false},    {"llama_f32_untied", false}, {"llama_f16", false},     {"llama_bf16", false},
    {"llama_q4_0", true},    {"llama_q4_1", true},        {"llama_q5_0", true},     {"llama_q5_1", true},
    {"llama_q8_0", true},    {"llama_q4_k", true},        {"llama_q5_k", true},     {"llama_q6_k", true},
    {"llama_long", true},    {"gemma3_f32", false},       {"gemma3_q8_0", true},    {"gemma3_mixed", true},
    {"gemma3_long", false},  {"qwen2_f32", false},        {"qwen2_q4_k", true},     {"llama_hf_f32", false},
    {"llama_hf_f16", false}, {"qwen2_hf_f32", false},     {"qwen2_hf_bf16", false},
    {"qwen3_f32", false},    {"qwen3_q8_0", true},        {"qwen3_hf_f32", false},  {"qwen3_yarn", false},
    {"mistral_f32", false},  {"mistral_bf16", false},     {"llama_hf_llama3", false}, {"llama_hf_linear", false},
};

class DecoderReference : public ::testing::TestWithParam<std::tuple<Checkpoint, KvType>> {
 protected:
  void SetUp() override {
    const auto& [checkpoint, kv] = GetParam();
    kv_ = kv;
    block_types_ = checkpoint.block_types;
    reference_ = test::load_reference(checkpoint.name);
    auto loaded = Decoder::load(test::checkpoint_path(checkpoint.name), test::two_threads());
    ASSERT_TRUE(loaded) << loaded.error().message;
    decoder_.emplace(std::move(*loaded));
    ASSERT_EQ(decoder_->info().vocab, reference_.vocab);
    ASSERT_FALSE(reference_.tokens.empty());
  }

  std::span<const std::int32_t> tokens(std::int64_t begin, std::int64_t count) const {
    return std::span(reference_.tokens).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
  }

  double a_priori() const {
    const double layers = static_cast<double>(decoder_->info().layers);
    const double a = block_types_ ? 4.0 / 440 : 0;
    const double r = kv_ == KvType::kInt8 ? 3.2 / 440 : std::ldexp(1.0, -11) / std::sqrt(3.0);
    const double spread = 2.5, safety = 2;
    return safety * std::sqrt((4 * layers + 1) * a * a + layers * (1 + spread * spread) * r * r);
  }

  // logits: of positions 0 .. rows - 1.
  void expect_right(std::span<const float> logits, const std::string& how) const {
    const auto rows = [&](const std::vector<double>& all) { return std::span<const double>(all).first(logits.size()); };
    const Distance engine = test::distance(logits, rows(reference_.exact));
    const Distance ideal = test::distance(rows(reference_.rounded(kv_)), rows(reference_.exact));
    const double peak = test::distance(std::span<const double>(reference_.exact), std::span<const double>(zeros())).max;
    EXPECT_LE(engine.rms, 1.25 * ideal.rms + 1e-6 * peak) << how;
    EXPECT_LE(engine.max, 1.5 * ideal.max + 1e-5 * peak) << how;
    if (block_types_) return;
    const double bound = kv_ == KvType::kInt8 ? ideal.rms / 2 : 7e-5 * peak;
    EXPECT_LE(test::distance(logits, rows(reference_.rounded(kv_))).rms, bound) << how;
  }

  std::vector<double> zeros() const { return std::vector<double>(reference_.exact.size()); }

  KvType kv_ = KvType::kF16;
  bool block_types_ = false;
  test::Reference reference_;
  std::optional<Decoder> decoder_;
};

TEST_P(DecoderReference, RoundingNoiseIsAsDerived) {
  const std::span<const double> exact = reference_.exact, rounded = reference_.rounded(kv_);
  const double size = test::distance(exact, std::span<const double>(zeros())).rms;
  EXPECT_LE(test::distance(rounded, exact).rms / size, a_priori());
}

TEST_P(DecoderReference, AllTokensInOneCall) {
  // Around the tiles of kernels, and around the window of Gemma's local layers, W = 32: W and W + 1 tokens.
  for (const std::int64_t length : {std::int64_t{1}, std::int64_t{2}, std::int64_t{31}, std::int64_t{32},
                                    std::int64_t{33}, std::int64_t{70}, reference_.length()}) {
    auto cache = test::make_cache(*decoder_, length, kv_);
    ASSERT_TRUE(cache);
    const std::vector<float> logits = test::run(*decoder_, tokens(0, length), *cache);
    EXPECT_EQ(Decoder::length(*cache), length);
    expect_right(logits, std::to_string(length) + " tokens");
  }
}

TEST_P(DecoderReference, TokenByToken) {
  auto cache = test::make_cache(*decoder_, reference_.length(), kv_);
  ASSERT_TRUE(cache);
  std::vector<float> logits;
  for (std::int64_t i = 0; i < reference_.length(); ++i) {
    const std::vector<float> row = test::run(*decoder_, tokens(i, 1), *cache);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  expect_right(logits, "one by one");
}

TEST_P(DecoderReference, OddChunks) {
  constexpr std::int64_t kSizes[] = {5, 1, 17, 2, 33, 1, 7};
  auto cache = test::make_cache(*decoder_, reference_.length(), kv_);
  ASSERT_TRUE(cache);
  std::vector<float> logits;
  for (std::int64_t done = 0, i = 0; done < reference_.length(); ++i) {
    const std::int64_t count = std::min(kSizes[i % 7], reference_.length() - done);
    const std::vector<float> rows = test::run(*decoder_, tokens(done, count), *cache);
    logits.insert(logits.end(), rows.begin(), rows.end());
    done += count;
  }
  expect_right(logits, "chunks");
}

TEST_P(DecoderReference, LastRowsOnly) {
  const std::int64_t length = reference_.length(), rows = 3, vocab = reference_.vocab;
  auto cache = test::make_cache(*decoder_, length, kv_);
  ASSERT_TRUE(cache);
  const std::vector<float> all = test::run(*decoder_, tokens(0, length), *cache);
  Decoder::truncate(*cache, 0);
  std::vector<float> last(static_cast<std::size_t>(rows * vocab), NAN);
  const Status status = decoder_->forward(tokens(0, length), *cache, last, rows, test::two_threads());
  ASSERT_TRUE(status) << status.error().message;
  const auto tail = std::span<const float>(all).last(last.size());
  const double peak = test::distance(tail, std::span<const double>(zeros())).max;
  EXPECT_LE(test::distance(std::span<const float>(last), tail).max, 1e-5 * peak);  // the same sums, another order
}

INSTANTIATE_TEST_SUITE_P(Tiny, DecoderReference,
                         ::testing::Combine(::testing::ValuesIn(kCheckpoints),
                                            ::testing::Values(KvType::kF16, KvType::kInt8)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) +
                                  (std::get<1>(test.param) == KvType::kF16 ? "_kv_f16" : "_kv_int8");
                         });

}  // namespace
}  // namespace warpfold
