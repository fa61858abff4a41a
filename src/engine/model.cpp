#include "warpfold/engine/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "engine/pool.h"

namespace warpfold::engine {
namespace {

Result<text::ChatTemplate> read_chat_template(const formats::Gguf& file) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  if (!file.find_key(kKey))
    return fail(ErrorCode::kUnsupported, fmt::format("{}: no chat template (key {})", file.name(), kKey));
  WF_TRY(const std::string_view source, file.string(kKey));
  return text::ChatTemplate::parse(source);
}

bool is_checkpoint_directory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

}  // namespace

Model::Model(models::Decoder decoder, Result<text::Tokenizer> tokenizer,
             Result<text::ChatTemplate> chat_template, std::unique_ptr<ThreadPool> pool)
    : pool_(std::move(pool)),
      decoder_(std::move(decoder)),
      tokenizer_(std::move(tokenizer)),
      chat_template_(std::move(chat_template)) {}

Result<ModelPtr> Model::assemble(models::Decoder decoder, Result<text::Tokenizer> tokenizer,
                                 Result<text::ChatTemplate> chat_template, std::unique_ptr<ThreadPool> pool) {
  WF_TRY(std::shared_ptr<Model> model,
         make(std::move(decoder), std::move(tokenizer), std::move(chat_template), std::move(pool)));
  return ModelPtr(std::move(model));
}

Result<std::shared_ptr<Model>> Model::make(models::Decoder decoder, Result<text::Tokenizer> tokenizer,
                                           Result<text::ChatTemplate> chat_template,
                                           std::unique_ptr<ThreadPool> pool) {
  if (!pool) return fail(ErrorCode::kInvalidArgument, "a model needs a thread pool");
  if (tokenizer && tokenizer->vocab_size() > decoder.info().vocab)
    return fail(ErrorCode::kBadFile, fmt::format("the tokenizer has {} tokens, the decoder embeds {}",
                                                 tokenizer->vocab_size(), decoder.info().vocab));
  std::shared_ptr<Model> model(
      new Model(std::move(decoder), std::move(tokenizer), std::move(chat_template), std::move(pool)));
  if (model->tokenizer_) {
    WF_TRY(const std::vector<TokenId> start, model->tokenizer_->encode(""));
    if (!start.empty() && start.front() == model->tokenizer_->bos()) model->added_bos_ = start.front();
  }
  return model;
}

Result<ModelPtr> Model::load(const std::string& path, const LoadOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  WF_TRY(auto pool, make_pool(options.threads));

  std::shared_ptr<Model> model;
  if (is_checkpoint_directory(path)) {
    WF_TRY(auto decoder, models::Decoder::load(path, *pool, options.progress));
    const auto missing =
        fail(ErrorCode::kUnsupported,
             fmt::format("{}: a safetensors directory carries no tokenizer; use token ids", path));
    WF_TRY(model, make(std::move(decoder), missing, missing, std::move(pool)));
  } else {
    WF_TRY(auto gguf, formats::Gguf::open(path));
    auto file = std::make_unique<formats::Gguf>(std::move(gguf));
    WF_TRY(auto decoder, models::Decoder::load(*file, *pool, options.progress));
    WF_TRY(model, make(std::move(decoder), text::Tokenizer::from_gguf(*file), read_chat_template(*file),
                       std::move(pool)));
    model->file_ = std::move(file);
  }
  model->load_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return ModelPtr(std::move(model));
}

Result<const text::Tokenizer*> Model::tokenizer() const {
  if (!tokenizer_) return tl::unexpected(tokenizer_.error());
  return &*tokenizer_;
}

Result<const text::ChatTemplate*> Model::chat_template() const {
  if (!chat_template_) return tl::unexpected(chat_template_.error());
  return &*chat_template_;
}

Status Model::check_ids(std::span<const TokenId> tokens) const {
  const std::int64_t vocab = info().vocab;
  const auto outside =
      std::find_if(tokens.begin(), tokens.end(), [&](TokenId id) { return id < 0 || id >= vocab; });
  if (outside == tokens.end()) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("token {} at position {} is outside the vocabulary of {}", *outside,
                          outside - tokens.begin(), vocab));
}

Result<std::vector<TokenId>> Model::encode(std::string_view text) const {
  WF_TRY(const text::Tokenizer* tokens, tokenizer());
  return tokens->encode(text);
}

Result<std::vector<TokenId>> Model::encode_chat(std::span<const text::ChatMessage> messages) const {
  WF_TRY(const text::Tokenizer* tokens, tokenizer());
  WF_TRY(const text::ChatTemplate* chat, chat_template());
  const text::RenderOptions options{.add_generation_prompt = true,
                                    .bos_token = std::string(tokens->token_text(tokens->bos())),
                                    .eos_token = std::string(tokens->token_text(tokens->eos()))};
  WF_TRY(const std::vector<text::Segment> segments, chat->render(messages, options));
  return text::encode_segments(*tokens, segments);
}

}  // namespace warpfold::engine
