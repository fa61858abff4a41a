// Sentences to vectors: tokenizer, encoder, pooling, as sentence-transformers defines them.
//
//   e = mean over the sentence's tokens of the encoder's last states, or the first token's;  then e / |e|
//   where the model asks for it, so that the product of two vectors is the cosine of their angle.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/core/thread_pool.h"
#include "warpfold/engine/model.h"
#include "warpfold/models/encoder.h"
#include "warpfold/text/wordpiece.h"

namespace warpfold::engine {

class Embedder {
 public:
  // path: a directory with config.json, safetensors and tokenizer.json; of sentence-transformers' own files
  // modules.json, 1_Pooling/config.json and sentence_bert_config.json are read when present (else: mean,
  // normalised, the context). Errors: those of the encoder and tokenizer; kUnsupported for another pooling by
  // name.
  static Result<Embedder> load(const std::string& path, const LoadOptions& options = {});

  const models::EncoderInfo& info() const { return encoder_.info(); }
  std::int64_t max_tokens() const { return max_tokens_; }  // longer sentences are cut at the right

  std::vector<TokenId> encode(std::string_view text) const { return tokenizer_.encode(text, max_tokens_); }
  std::string_view token_text(TokenId id) const { return tokenizer_.token_text(id); }

  // Vectors (texts, d_model), one after another. Not for two threads at once.
  // Errors: kInvalidArgument for no texts.
  Result<std::vector<float>> embed(std::span<const std::string> texts);

 private:
  Embedder(models::Encoder encoder, text::WordPiece tokenizer, std::unique_ptr<ThreadPool> pool);
  Status read_modules(const std::string& path);

  std::unique_ptr<ThreadPool> pool_;
  models::Encoder encoder_;
  text::WordPiece tokenizer_;
  models::EncoderWorkspacePtr workspace_;
  std::int64_t max_tokens_;
  bool mean_ = true, normalise_ = true;
};

}  // namespace warpfold::engine
