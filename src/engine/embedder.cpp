#include "warpfold/engine/embedder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/json_file.h"
#include "engine/pool.h"

namespace warpfold::engine {
namespace {

using Json = nlohmann::json;

bool is_set(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_boolean() && object[key].get<bool>();
}

}  // namespace

Embedder::Embedder(models::Encoder encoder, text::WordPiece tokenizer, std::unique_ptr<ThreadPool> pool)
    : pool_(std::move(pool)),
      encoder_(std::move(encoder)),
      tokenizer_(std::move(tokenizer)),
      workspace_(encoder_.make_workspace()),
      max_tokens_(encoder_.info().context) {}

Result<Embedder> Embedder::load(const std::string& path, const LoadOptions& options) {
  WF_TRY(auto pool, make_pool(options.threads));
  WF_TRY(auto encoder, models::Encoder::load(path, *pool, options.progress));
  WF_TRY(auto tokenizer, text::WordPiece::open(path + "/tokenizer.json"));
  if (tokenizer.vocab_size() > encoder.info().vocab)
    return fail(ErrorCode::kBadFile, fmt::format("{}: the tokenizer has {} tokens, the encoder embeds {}",
                                                 path, tokenizer.vocab_size(), encoder.info().vocab));
  Embedder out(std::move(encoder), std::move(tokenizer), std::move(pool));
  WF_CHECK(out.read_modules(path));
  return out;
}

Status Embedder::read_modules(const std::string& path) {
  WF_TRY(const Json modules, read_json_file(path + "/modules.json"));
  if (modules.is_array())
    normalise_ = std::any_of(modules.begin(), modules.end(), [](const Json& module) {
      return module.is_object() && module.value("type", "").ends_with("Normalize");
    });
  WF_TRY(const Json pooling, read_json_file(path + "/1_Pooling/config.json"));
  if (pooling.is_object()) {
    mean_ = is_set(pooling, "pooling_mode_mean_tokens");
    if (mean_ == is_set(pooling, "pooling_mode_cls_token"))
      return fail(ErrorCode::kUnsupported, path +
                                               "/1_Pooling/config.json: pooling_mode_mean_tokens or "
                                               "pooling_mode_cls_token alone is supported");
  }
  WF_TRY(const Json limits, read_json_file(path + "/sentence_bert_config.json"));
  if (limits.is_object() && limits.contains("max_seq_length") &&
      limits["max_seq_length"].is_number_integer()) {
    const auto limit = limits["max_seq_length"].get<std::int64_t>();
    if (limit < 2 || limit > max_tokens_)
      return fail(ErrorCode::kBadFile,
                  fmt::format("{}/sentence_bert_config.json: max_seq_length is {}, expected 2 to {}", path,
                              limit, max_tokens_));
    max_tokens_ = limit;
  }
  return {};
}

Result<std::vector<float>> Embedder::embed(std::span<const std::string> texts) {
  if (texts.empty()) return fail(ErrorCode::kInvalidArgument, "there are no texts to embed");
  constexpr std::size_t kBatchTokens =
      2048;  // enough that weights are read rarely; scratch memory stays small
  const std::int64_t d = info().d_model;
  std::vector<float> out, hidden;
  out.reserve(texts.size() * static_cast<std::size_t>(d));
  std::vector<TokenId> tokens;
  std::vector<std::int64_t> lengths;
  const auto flush = [&]() -> Status {
    hidden.resize(tokens.size() * static_cast<std::size_t>(d));
    WF_CHECK(encoder_.forward(tokens, lengths, hidden, *workspace_, *pool_));
    const float* states = hidden.data();
    for (const std::int64_t length : lengths) {
      const std::size_t at = out.size();
      out.insert(out.end(), states, states + d);
      float* e = out.data() + at;
      if (mean_)
        for (std::int64_t t = 1; t < length; ++t)
          for (std::int64_t i = 0; i < d; ++i) e[i] += states[t * d + i];
      double squares = 0;
      for (std::int64_t i = 0; i < d; ++i) squares += static_cast<double>(e[i]) * e[i];
      const double divisor = normalise_ ? std::max(std::sqrt(squares), 1e-12)
                             : mean_    ? static_cast<double>(length)
                                        : 1;
      for (std::int64_t i = 0; i < d; ++i) e[i] = static_cast<float>(e[i] / divisor);
      states += length * d;
    }
    tokens.clear();
    lengths.clear();
    return {};
  };
  for (const std::string& text : texts) {
    const std::vector<TokenId> ids = encode(text);
    if (!tokens.empty() && tokens.size() + ids.size() > kBatchTokens) WF_CHECK(flush());
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    lengths.push_back(static_cast<std::int64_t>(ids.size()));
  }
  WF_CHECK(flush());
  return out;
}

}  // namespace warpfold::engine
