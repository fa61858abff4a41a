// A model as people use it: the decoder, and the tokenizer and chat template that its file carries.
//
// GGUF files carry all three. Directories with config.json and safetensors have no tokenizer here: sessions
// then work with token ids, and everything that needs text fails and says why.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/core/thread_pool.h"
#include "warpfold/formats/gguf.h"
#include "warpfold/models/decoder.h"
#include "warpfold/text/chat_template.h"
#include "warpfold/text/tokenizer.h"

namespace warpfold::engine {

using text::TokenId;

struct LoadOptions {
  int threads = 0;  // for all of the model's work; 0: every processor this process may run on
  std::function<void(std::int64_t done, std::int64_t total)> progress;  // bytes
};

class Model;
using ModelPtr = std::shared_ptr<const Model>;

class Model {
 public:
  // Errors: those of the file and of the decoder; kInvalidArgument for threads < 0; kBadFile for a tokenizer
  // with more tokens than the decoder. A tokenizer or template that cannot be used is an error only once it
  // is needed.
  static Result<ModelPtr> load(const std::string& path, const LoadOptions& options = {});

  // From parts made elsewhere. An error in place of a part is what the functions that need it will give.
  static Result<ModelPtr> assemble(models::Decoder decoder, Result<text::Tokenizer> tokenizer,
                                   Result<text::ChatTemplate> chat_template,
                                   std::unique_ptr<ThreadPool> pool);

  const models::Decoder& decoder() const { return decoder_; }
  const models::DecoderInfo& info() const { return decoder_.info(); }
  Result<const text::Tokenizer*> tokenizer() const;
  Result<const text::ChatTemplate*> chat_template() const;

  // Token ids of plain text, a BOS in front where the vocabulary asks for one.
  Result<std::vector<TokenId>> encode(std::string_view text) const;
  // Token ids of a conversation in the model's own format, ready for the assistant's next answer. Nothing in
  // a message becomes a control token.
  Result<std::vector<TokenId>> encode_chat(std::span<const text::ChatMessage> messages) const;
  // Errors: kInvalidArgument for an id outside the vocabulary, with its position.
  Status check_ids(std::span<const TokenId> tokens) const;
  // The BOS that encode() puts in front, or kNoToken.
  TokenId added_bos() const { return added_bos_; }

  double load_seconds() const { return load_seconds_; }

  // The threads that compute, and the lock to hold meanwhile: sessions of one model take turns, a step each.
  ThreadPool& pool() const { return *pool_; }
  std::mutex& compute_lock() const { return compute_lock_; }

 private:
  Model(models::Decoder decoder, Result<text::Tokenizer> tokenizer, Result<text::ChatTemplate> chat_template,
        std::unique_ptr<ThreadPool> pool);
  static Result<std::shared_ptr<Model>> make(models::Decoder decoder, Result<text::Tokenizer> tokenizer,
                                             Result<text::ChatTemplate> chat_template,
                                             std::unique_ptr<ThreadPool> pool);

  std::unique_ptr<formats::Gguf> file_;  // its metadata and vocabulary are read in place
  std::unique_ptr<ThreadPool> pool_;
  models::Decoder decoder_;
  Result<text::Tokenizer> tokenizer_;
  Result<text::ChatTemplate> chat_template_;
  TokenId added_bos_ = text::kNoToken;
  double load_seconds_ = 0;
  mutable std::mutex compute_lock_;
};

}  // namespace warpfold::engine
