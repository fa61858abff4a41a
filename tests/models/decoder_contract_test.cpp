// What the decoder promises besides its numbers: a cache can be cut and continued, results repeat, impossible
// requests and broken files are errors that say what is wrong, and leave the cache as it was.
#include <algorithm>
#include <optional>

#include "models/tiny_checkpoint.h"
#include "support/expect_error.h"

namespace warpfold {
namespace {

using models::Decoder;
using models::KvType;
using test::expect_error;

class DecoderContract : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    reference_ = test::load_reference(GetParam());
    auto loaded = Decoder::load(test::checkpoint_path(GetParam()), test::two_threads());
    ASSERT_TRUE(loaded) << loaded.error().message;
    decoder_.emplace(std::move(*loaded));
  }

  std::span<const std::int32_t> tokens(std::size_t begin, std::size_t count) const {
    return std::span(reference_.tokens).subspan(begin, count);
  }
  Status forward(std::span<const std::int32_t> ids, models::KvCache& cache) const {
    std::vector<float> logits(static_cast<std::size_t>(reference_.vocab));
    return decoder_->forward(ids, cache, logits, 1, test::two_threads());
  }

  test::Reference reference_;
  std::optional<Decoder> decoder_;
};

TEST_P(DecoderContract, TruncatedCacheContinuesAsIfNothingHadFollowed) {
  for (const KvType kv : {KvType::kF16, KvType::kInt8}) {
    auto fresh = test::make_cache(*decoder_, 70, kv), reused = test::make_cache(*decoder_, 70, kv);
    ASSERT_TRUE(fresh && reused);
    test::run(*decoder_, tokens(0, 37), *fresh);
    const std::vector<float> expected = test::run(*decoder_, tokens(37, 20), *fresh);

    test::run(*decoder_, tokens(0, 37), *reused);
    test::run(*decoder_, tokens(5, 33), *reused);  // fills the cache with something else
    Decoder::truncate(*reused, 37);
    EXPECT_EQ(Decoder::length(*reused), 37);
    EXPECT_EQ(test::run(*decoder_, tokens(37, 20), *reused), expected);
    Decoder::truncate(*reused, 0);
    test::run(*decoder_, tokens(0, 37), *reused);
    EXPECT_EQ(test::run(*decoder_, tokens(37, 20), *reused), expected);
  }
}

TEST_P(DecoderContract, SameInputSameLogits) {
  ThreadPool one(1), three(3);
  auto cache = test::make_cache(*decoder_, 70, KvType::kF16);
  ASSERT_TRUE(cache);
  const std::vector<float> first = test::run(*decoder_, tokens(0, 70), *cache);
  for (ThreadPool* pool : {&test::two_threads(), &one, &three}) {
    Decoder::truncate(*cache, 0);
    EXPECT_EQ(test::run(*decoder_, tokens(0, 70), *cache, *pool), first) << pool->size() << " threads";
  }
}

TEST_P(DecoderContract, CachesAreIndependent) {
  auto a = test::make_cache(*decoder_, 40, KvType::kF16), b = test::make_cache(*decoder_, 40, KvType::kF16);
  ASSERT_TRUE(a && b);
  test::run(*decoder_, tokens(0, 20), *a);
  test::run(*decoder_, tokens(30, 20), *b);
  const std::vector<float> mixed = test::run(*decoder_, tokens(20, 5), *a);
  auto alone = test::make_cache(*decoder_, 40, KvType::kF16);
  ASSERT_TRUE(alone);
  test::run(*decoder_, tokens(0, 20), *alone);
  EXPECT_EQ(test::run(*decoder_, tokens(20, 5), *alone), mixed);
}

// Several sequences of different lengths, one a copy of another, extended together and alone.
TEST_P(DecoderContract, StepExtendsSequencesAsIfAlone) {
  for (const KvType kv : {KvType::kF16, KvType::kInt8}) {
    std::vector<models::KvCachePtr> together, alone;
    const std::size_t lengths[] = {37, 20, 1};
    for (const std::size_t length : lengths)
      for (auto* caches : {&together, &alone}) {
        caches->push_back(test::make_cache(*decoder_, 70, kv));
        ASSERT_TRUE(caches->back());
        test::run(*decoder_, tokens(70 - length, length), *caches->back());
      }
    together.push_back(test::make_cache(*decoder_, 50, kv));
    ASSERT_TRUE(Decoder::copy(*together[0], *together.back()));
    alone.push_back(test::make_cache(*decoder_, 50, kv));
    test::run(*decoder_, tokens(70 - 37, 37), *alone.back());
    std::vector<models::KvCache*> caches;
    for (const auto& cache : together) caches.push_back(cache.get());
    const auto vocab = static_cast<std::size_t>(reference_.vocab);
    std::vector<float> logits(caches.size() * vocab);
    for (std::size_t step = 0; step < 3; ++step) {
      const auto ids = tokens(10 * step, caches.size());
      ASSERT_TRUE(decoder_->step(ids, caches, logits, test::two_threads()));
      for (std::size_t i = 0; i < caches.size(); ++i) {
        const std::vector<float> expected = test::run(*decoder_, ids.subspan(i, 1), *alone[i]);
        const auto row = std::span<const float>(logits).subspan(i * vocab, vocab);
        const std::span<const float> other(expected);
        const double size = test::distance(other, std::span<const float>(std::vector<float>(vocab))).rms;
        EXPECT_LE(test::distance(row, other).rms, 1e-5 * size) << "sequence " << i << " step " << step;  // sums in another order
      }
    }
    EXPECT_EQ(Decoder::length(*together[0]), 40);
    EXPECT_EQ(Decoder::length(*together[3]), 40);
  }
}

TEST_P(DecoderContract, ImpossibleSteps) {
  auto a = test::make_cache(*decoder_, 2, KvType::kF16), b = test::make_cache(*decoder_, 1, KvType::kF16);
  auto int8 = test::make_cache(*decoder_, 2, KvType::kInt8);
  const auto vocab = static_cast<std::size_t>(reference_.vocab);
  const auto step = [&](std::vector<std::int32_t> ids, std::vector<models::KvCache*> caches, std::size_t rows) {
    std::vector<float> logits(rows * vocab);
    return decoder_->step(ids, caches, logits, test::two_threads());
  };
  constexpr auto kInvalid = ErrorCode::kInvalidArgument;
  expect_error(step({}, {}, 0), kInvalid, {"no sequences"});
  expect_error(step({5}, {a.get(), b.get()}, 2), kInvalid, {"1 tokens", "2 sequences"});
  expect_error(step({5, 5}, {a.get(), b.get()}, 1), kInvalid, {"2 sequences"});
  expect_error(step({5, -1}, {a.get(), b.get()}, 2), kInvalid, {"token -1"});
  expect_error(step({5, 5}, {a.get(), a.get()}, 2), kInvalid, {"sequence 1", "twice"});
  ASSERT_TRUE(step({5, 5}, {a.get(), b.get()}, 2));
  expect_error(step({5, 5}, {a.get(), b.get()}, 2), kInvalid, {"sequence 1 is full", "1 tokens"});
  ASSERT_TRUE(step({5}, {a.get()}, 1));
  expect_error(Decoder::copy(*a, *b), kInvalid, {"2 tokens", "cache of 1"});
  expect_error(Decoder::copy(*a, *int8), kInvalid, {"type"});
}

TEST_P(DecoderContract, ObservingChangesNothing) {
  auto plain = test::make_cache(*decoder_, 40, KvType::kF16), shown = test::make_cache(*decoder_, 40, KvType::kF16);
  const auto vocab = static_cast<std::size_t>(reference_.vocab);
  std::vector<float> logits(20 * vocab);
  std::int64_t layers = 0;
  double least = 2, most = 0;
  for (const std::size_t begin : {std::size_t{0}, std::size_t{20}}) {
    layers = 0;
    const std::vector<float> expected = test::run(*decoder_, tokens(begin, 20), *plain);
    const Status status = decoder_->observe(
        tokens(begin, 20), *shown, logits, 20, test::two_threads(),
        [&](std::int64_t layer, auto states) {
          EXPECT_EQ(layer, layers++);
          EXPECT_EQ(static_cast<std::int64_t>(states.size()), 20 * decoder_->info().d_model);
        },
        [&](const models::AttentionMap& map) {
          EXPECT_EQ(map.layer + 1, layers);
          EXPECT_EQ(map.keys, static_cast<std::int64_t>(begin) + 20);
          for (std::int64_t r = 0; r < map.queries * map.heads; ++r) {
            double sum = 0;
            for (std::int64_t j = 0; j < map.keys; ++j) sum += map.weights[static_cast<std::size_t>(r * map.keys + j)];
            least = std::min(least, sum);
            most = std::max(most, sum);
          }
        });
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(logits, expected);
    EXPECT_EQ(layers, decoder_->info().layers + 1);
  }
  EXPECT_NEAR(least, 1, 1e-5);
  EXPECT_NEAR(most, 1, 1e-5);
  auto int8 = test::make_cache(*decoder_, 40, KvType::kInt8);
  const auto observe = [&](std::size_t count, models::KvCache& cache) {
    return decoder_->observe(tokens(0, count), cache, {}, 0, test::two_threads(), {}, {});
  };
  expect_error(observe(5, *int8), ErrorCode::kInvalidArgument, {"int8"});
  auto fresh = test::make_cache(*decoder_, 40, KvType::kF16);
  expect_error(observe(33, *fresh), ErrorCode::kInvalidArgument, {"33 tokens", "32"});
  expect_error(observe(0, *fresh), ErrorCode::kInvalidArgument, {"token"});
}

TEST_P(DecoderContract, CacheSizes) {
  const std::int64_t context = decoder_->info().context;
  expect_error(decoder_->make_cache(0, KvType::kF16), ErrorCode::kInvalidArgument, {"0"});
  expect_error(decoder_->make_cache(-1, KvType::kF16), ErrorCode::kInvalidArgument, {"-1"});
  expect_error(decoder_->make_cache(context + 1, KvType::kF16), ErrorCode::kInvalidArgument,
               {std::to_string(context + 1), std::to_string(context)});
  auto f16 = test::make_cache(*decoder_, context, KvType::kF16);
  auto int8 = test::make_cache(*decoder_, context, KvType::kInt8);
  ASSERT_TRUE(f16 && int8);
  EXPECT_EQ(Decoder::capacity(*f16), context);
  EXPECT_EQ(Decoder::length(*f16), 0);
  EXPECT_LT(Decoder::bytes(*int8), Decoder::bytes(*f16));
}

TEST_P(DecoderContract, ImpossibleTokensAreErrorsAndChangeNothing) {
  auto cache = test::make_cache(*decoder_, 40, KvType::kF16);
  ASSERT_TRUE(cache);
  test::run(*decoder_, tokens(0, 20), *cache);
  const auto vocab = static_cast<std::int32_t>(decoder_->info().vocab);
  expect_error(forward({}, *cache), ErrorCode::kInvalidArgument, {"token"});
  for (const std::int32_t id : {-1, vocab}) {
    const std::int32_t ids[] = {5, id};
    expect_error(forward(ids, *cache), ErrorCode::kInvalidArgument, {std::to_string(id), std::to_string(vocab)});
  }
  expect_error(forward(tokens(20, 21), *cache), ErrorCode::kInvalidArgument, {"21", "20"});  // there is room for 20
  EXPECT_EQ(Decoder::length(*cache), 20);

  const std::vector<float> after = test::run(*decoder_, tokens(20, 20), *cache);  // fills it to the last place
  auto alone = test::make_cache(*decoder_, 40, KvType::kF16);
  ASSERT_TRUE(alone);
  test::run(*decoder_, tokens(0, 20), *alone);
  EXPECT_EQ(test::run(*decoder_, tokens(20, 20), *alone), after);
  expect_error(forward(tokens(40, 1), *cache), ErrorCode::kInvalidArgument, {"1", "40"});
}

TEST_P(DecoderContract, LastPositionOfTheContext) {
  const std::int64_t context = decoder_->info().context;
  auto cache = test::make_cache(*decoder_, context, KvType::kF16);
  ASSERT_TRUE(cache);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(context), 7);
  const std::vector<float> logits = test::run(*decoder_, ids, *cache);
  EXPECT_TRUE(std::all_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); }));
  expect_error(forward(tokens(0, 1), *cache), ErrorCode::kInvalidArgument, {std::to_string(context)});
}

// Contexts of more than one chunk of a prefill.
class DecoderLongInput : public DecoderContract {};

TEST_P(DecoderLongInput, CancelledPrefillKeepsWholeChunks) {
  const std::int64_t context = decoder_->info().context;
  std::vector<std::int32_t> ids(static_cast<std::size_t>(context));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = reference_.tokens[i % reference_.tokens.size()];
  auto whole = test::make_cache(*decoder_, context, KvType::kF16);
  auto stopped = test::make_cache(*decoder_, context, KvType::kF16);
  ASSERT_TRUE(whole && stopped);
  std::vector<float> expected(static_cast<std::size_t>(reference_.vocab)), logits(expected.size());
  std::vector<std::int64_t> seen;
  ASSERT_TRUE(decoder_->forward(ids, *whole, expected, 1, test::two_threads(), [&](std::int64_t done) {
    seen.push_back(done);
    return true;
  }));
  ASSERT_GT(seen.size(), 1u) << "the checkpoint's context should be longer than a chunk";
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), context);

  const Status status =
      decoder_->forward(ids, *stopped, logits, 1, test::two_threads(), [](std::int64_t) { return false; });
  expect_error(status, ErrorCode::kCancelled, {});
  const std::int64_t held = Decoder::length(*stopped);
  EXPECT_EQ(held, seen.front());
  ASSERT_TRUE(decoder_->forward(std::span(ids).subspan(static_cast<std::size_t>(held)), *stopped, logits, 1,
                                test::two_threads()));
  EXPECT_EQ(logits, expected);
}

INSTANTIATE_TEST_SUITE_P(Tiny, DecoderContract,
                         ::testing::Values("llama_f32", "llama_q4_1", "gemma3_mixed", "gemma3_long", "qwen2_hf_bf16"),
                         [](const auto& test) { return std::string(test.param); });

INSTANTIATE_TEST_SUITE_P(Tiny, DecoderLongInput, ::testing::Values("llama_long", "gemma3_long"),
                         [](const auto& test) { return std::string(test.param); });

TEST(DecoderInfo, DescribesTheModel) {
  const auto decoder = Decoder::load(test::checkpoint_path("gemma3_f32"), test::two_threads());
  ASSERT_TRUE(decoder) << decoder.error().message;
  const models::DecoderInfo& info = decoder->info();
  EXPECT_EQ(info.architecture, "gemma3");
  EXPECT_EQ(info.name, "gemma3_f32");
  EXPECT_EQ(info.layers, 7);
  EXPECT_EQ(info.d_model, 96);
  EXPECT_EQ(info.heads, 4);
  EXPECT_EQ(info.kv_heads, 1);
  EXPECT_EQ(info.head_dim, 64);
  EXPECT_EQ(info.d_ff, 145);
  EXPECT_EQ(info.vocab, 300);
  EXPECT_EQ(info.context, 128);
  const std::int64_t layer = 96 * 64 * (4 + 1 + 1 + 4) + 3 * 96 * 145 + 4 * 96 + 2 * 64;
  EXPECT_EQ(info.parameters, 7 * layer + 300 * 96 + 96);
}

struct BadFile {
  const char* name;
  ErrorCode code;
  std::initializer_list<std::string_view> pieces;  // the message names these
};

TEST(DecoderLoad, RefusesBrokenFilesByName) {
  const BadFile files[] = {
      {"bad_architecture", ErrorCode::kUnsupported, {"mamba"}},
      {"bad_no_width", ErrorCode::kBadFile, {"llama.embedding_length"}},
      {"bad_layers", ErrorCode::kBadFile, {"layers", "2147483648"}},
      {"bad_heads", ErrorCode::kBadFile, {"3", "2"}},
      {"bad_zero_heads", ErrorCode::kBadFile, {"heads", "0"}},
      {"bad_width", ErrorCode::kBadFile, {"96", "192"}},
      {"bad_inner_width", ErrorCode::kBadFile, {"blk.0.ffn_", "173", "172"}},
      {"bad_missing_tensor", ErrorCode::kBadFile, {"blk.1.ffn_up.weight"}},
      {"bad_missing_embeddings", ErrorCode::kBadFile, {"token_embd.weight"}},
      {"bad_shape", ErrorCode::kBadFile, {"blk.0.attn_k.weight", "31", "32"}},
      {"bad_norm_shape", ErrorCode::kBadFile, {"blk.1.ffn_norm.weight", "95", "96"}},
  };
  for (const BadFile& file : files) {
    SCOPED_TRACE(file.name);
    const std::string path = test::tiny_path(std::string(file.name) + ".gguf");
    ASSERT_TRUE(std::filesystem::exists(path));
    const auto result = Decoder::load(path, test::two_threads());
    expect_error(result, file.code, file.pieces);
  }
}

TEST(DecoderLoad, MissingFilesAndDirectories) {
  expect_error(Decoder::load(test::tiny_path("absent.gguf"), test::two_threads()), ErrorCode::kIo, {"absent.gguf"});
  const auto directory = Decoder::load(WARPFOLD_TINY_DIR, test::two_threads());  // holds no config.json
  ASSERT_FALSE(directory);
  EXPECT_NE(directory.error().message.find("config.json"), std::string::npos) << directory.error().message;
}

}  // namespace
}  // namespace warpfold
