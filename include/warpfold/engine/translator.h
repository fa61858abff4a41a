// Texts to texts: tokenizer, encoder-decoder, greedy decoding, sampling or beam search.
//
// Several sources are decoded together, each with its own hypotheses; those that have ended leave the batch.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/core/thread_pool.h"
#include "warpfold/engine/beam_search.h"
#include "warpfold/engine/model.h"
#include "warpfold/engine/sampler.h"
#include "warpfold/models/seq2seq.h"
#include "warpfold/text/unigram.h"

namespace warpfold::engine {

struct TranslateOptions {
  BeamOptions
      beam;  // with one beam: greedy, or sampling; ends is the model's own. At most the context's tokens
  SamplingOptions sampling;  // with one beam; source i is sampled with seed + i
};

struct Translation {
  std::string text;             // empty for a model without tokenizer
  std::vector<TokenId> tokens;  // without start and end tokens
  double score = 0;             // log probability / length^length_penalty
  bool ended = false;           // by an end token, not by its length
};

class Translator {
 public:
  // path: a directory with config.json, safetensors and tokenizer.json. A tokenizer that cannot be used is an
  // error only once it is needed.
  static Result<Translator> load(const std::string& path, const LoadOptions& options = {});

  const models::Seq2SeqInfo& info() const { return model_.info(); }
  Result<const text::Unigram*> tokenizer() const;

  // For each source its n_best results, the best first. Not for two threads at once.
  // Errors: kInvalidArgument for no sources; the tokenizer's, model's and options' own.
  Result<std::vector<std::vector<Translation>>> translate(std::span<const std::string> texts,
                                                          const TranslateOptions& options);
  Result<std::vector<std::vector<Translation>>> translate(std::span<const std::vector<TokenId>> sources,
                                                          const TranslateOptions& options);

 private:
  Translator(models::Seq2Seq model, Result<text::Unigram> tokenizer, std::unique_ptr<ThreadPool> pool);

  std::unique_ptr<ThreadPool> pool_;
  models::Seq2Seq model_;
  Result<text::Unigram> tokenizer_;
  models::Seq2SeqBatchPtr batch_;
};

}  // namespace warpfold::engine
