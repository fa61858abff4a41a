#include "engine/fake_decoder.h"

#include <gtest/gtest.h>

#include <limits>

namespace warpfold::models {

class KvCache {
 public:
  std::vector<std::int32_t> tokens;
  std::int64_t capacity;
};

void KvCacheDeleter::operator()(KvCache* cache) const { delete cache; }

struct Decoder::Impl {
  DecoderInfo info;
};

Decoder::Decoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;
Decoder::~Decoder() = default;

// path: "VOCAB CONTEXT".
Result<Decoder> Decoder::load(const std::string& path, ThreadPool&,
                              const std::function<void(std::int64_t, std::int64_t)>& progress) {
  auto impl = std::make_unique<Impl>();
  impl->info.architecture = "fake";
  std::size_t space = 0;
  impl->info.vocab = std::stoll(path, &space);
  impl->info.context = std::stoll(path.substr(space));
  if (progress) progress(1, 1);
  return Decoder(std::move(impl));
}

Result<Decoder> Decoder::load(const formats::Gguf&, ThreadPool&,
                              const std::function<void(std::int64_t, std::int64_t)>&) {
  return fail(ErrorCode::kUnsupported, "the fake decoder has no files");
}

const DecoderInfo& Decoder::info() const { return impl_->info; }

Result<KvCachePtr> Decoder::make_cache(std::int64_t capacity, KvType) const {
  return KvCachePtr(new KvCache{{}, capacity});
}

std::int64_t Decoder::length(const KvCache& cache) { return static_cast<std::int64_t>(cache.tokens.size()); }
std::int64_t Decoder::capacity(const KvCache& cache) { return cache.capacity; }
std::int64_t Decoder::bytes(const KvCache& cache) { return cache.capacity * 4; }
void Decoder::truncate(KvCache& cache, std::int64_t length) {
  cache.tokens.resize(static_cast<std::size_t>(length));
}

Status Decoder::forward(std::span<const std::int32_t> tokens, KvCache& cache, std::span<float> logits,
                        std::int64_t logit_rows, ThreadPool& pool,
                        const std::function<bool(std::int64_t)>& progress) const {
  namespace fake = engine::fake;
  const std::int64_t vocab = impl_->info.vocab, count = static_cast<std::int64_t>(tokens.size());
  // What the engine must have checked before.
  EXPECT_GE(logit_rows, 1);
  EXPECT_LE(logit_rows, count);
  EXPECT_EQ(static_cast<std::int64_t>(logits.size()), logit_rows * vocab);
  EXPECT_LE(length(cache) + count, cache.capacity);
  for (std::int64_t t = 0; t < count; ++t) {
    const auto token = tokens[static_cast<std::size_t>(t)];
    EXPECT_TRUE(token >= 0 && token < vocab) << token;
    if (length(cache) == fake::control().fail_at_length)
      return fail(ErrorCode::kInvalidArgument, "made to fail");
    cache.tokens.push_back(token);
    ++fake::control().evaluated;
    const std::int64_t row = t - (count - logit_rows), n = length(cache);
    if (row >= 0) {
      const auto sum = std::accumulate(cache.tokens.begin(), cache.tokens.end(), std::int64_t{0});
      const auto& script = fake::control().script;
      const std::int64_t at = n - fake::control().script_start;
      const bool scripted = at >= 0 && at < static_cast<std::int64_t>(script.size());
      const std::int64_t next = scripted ? script[static_cast<std::size_t>(at)] : (sum + n) % vocab;
      pool.parallel_for(vocab, [&](std::int64_t i, int) {
        const auto hash = static_cast<std::uint32_t>(sum + 31 * n + 7 * i) * 2654435761u;
        float value = static_cast<float>(hash) * 0x1p-29f + (i == next ? 100.0f : 0.0f);
        if (n == fake::control().nan_at_length) value = std::numeric_limits<float>::quiet_NaN();
        logits[static_cast<std::size_t>(row * vocab + i)] = value;
      });
    }
    const bool chunk_ends = (t + 1) % fake::kChunk == 0 || t + 1 == count;
    if (chunk_ends && progress && !progress(t + 1)) return fail(ErrorCode::kCancelled, "cancelled");
  }
  return {};
}

}  // namespace warpfold::models

namespace warpfold::engine::fake {

Control& control() {
  static Control instance;
  return instance;
}

namespace {

ModelPtr assemble(Result<text::Tokenizer> tokenizer, Result<text::ChatTemplate> chat_template,
                  std::int64_t vocab, std::int64_t context, int threads) {
  control() = {};
  auto pool = std::make_unique<ThreadPool>(threads);
  auto decoder = models::Decoder::load(std::to_string(vocab) + " " + std::to_string(context), *pool);
  auto model =
      Model::assemble(std::move(*decoder), std::move(tokenizer), std::move(chat_template), std::move(pool));
  EXPECT_TRUE(model) << model.error().message;
  return *model;
}

}  // namespace

ModelPtr make_model(std::int64_t vocab, std::int64_t context, int threads) {
  const auto missing = fail(ErrorCode::kUnsupported, "the fake model has no tokenizer");
  return assemble(missing, missing, vocab, context, threads);
}

ModelPtr make_model(Result<text::Tokenizer> tokenizer, Result<text::ChatTemplate> chat_template,
                    std::int64_t vocab, std::int64_t context) {
  return assemble(std::move(tokenizer), std::move(chat_template), vocab, context, 1);
}

}  // namespace warpfold::engine::fake
