// Encoder-decoder transformers on the CPU: the original, T5, BART, Marian. (Vaswani et al. 2017; Raffel et
// al. 2019; Lewis et al. 2019; Junczys-Dowmunt et al. 2018)
//
//   m = encoder(source);  logits of what follows y_1 .. y_t = H decoder(y_1 .. y_t; m)
//
// The encoder runs once; the keys and values that the decoder's cross-attention reads are computed once from
// m, and those of the decoder's own tokens are kept. Several hypotheses of one source, as in beam search,
// share its keys.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "warpfold/core/error.h"
#include "warpfold/core/thread_pool.h"
#include "warpfold/models/observe.h"

namespace warpfold::models {

struct Seq2SeqInfo {
  std::string architecture;  // "t5"
  std::string name;
  std::int64_t encoder_layers, decoder_layers, d_model, heads, d_ff, source_vocab, vocab;
  std::int64_t source_context, context;  // longest source, longest target
  std::int64_t parameters;
  std::int64_t mels;  // frequencies of a spectrogram, for models that hear; 0 for those that read tokens
  std::int32_t start, end;  // the token that every target begins with, and the one that ends it
};

// A batch of sources and hypotheses in work: their keys and values, and the memory of passes. Reused from one
// batch to the next.
class Seq2SeqBatch;
struct Seq2SeqBatchDeleter {
  void operator()(Seq2SeqBatch*) const;
};
using Seq2SeqBatchPtr = std::unique_ptr<Seq2SeqBatch, Seq2SeqBatchDeleter>;

struct Seq2SeqModel;

class Seq2Seq {
 public:
  // path: a directory with config.json and safetensors. Errors: what is missing or contradictory, with the
  // tensor's or key's name; kUnsupported by architecture name.
  static Result<Seq2Seq> load(const std::string& path, ThreadPool& pool,
                              const std::function<void(std::int64_t, std::int64_t)>& progress = {});

  const Seq2SeqInfo& info() const;
  Seq2SeqBatchPtr make_batch() const;

  // Encodes sources of lengths (B) that add up to the tokens; the batch then holds one empty hypothesis for
  // each. Errors: kInvalidArgument for no or an empty source, one longer than the source context, lengths
  // that do not add up, an id outside the vocabulary.
  Status encode(std::span<const std::int32_t> tokens, std::span<const std::int64_t> lengths,
                Seq2SeqBatch& batch, ThreadPool& pool, const ObserveStates& observe = {},
                const ObserveAttention& attention = {}) const;

  // The same for spectrograms, features (B, 2 source_context, mels), of a model that hears. Errors:
  // kInvalidArgument for another size, or a model that reads tokens.
  Status encode_features(std::span<const float> features, Seq2SeqBatch& batch, ThreadPool& pool,
                         const ObserveStates& observe = {}, const ObserveAttention& attention = {}) const;

  // Appends n tokens to each of the S hypotheses, tokens (S, n), and writes the logits of what follows the
  // last logit_rows of them: (S, logit_rows, vocab). observe sees the states (S * n, d_model). Errors:
  // kInvalidArgument for no hypotheses, tokens that are no multiple of them, more than the context has room
  // for, an id outside the vocabulary, logits of another size.
  Status decode(std::span<const std::int32_t> tokens, Seq2SeqBatch& batch, std::span<float> logits,
                std::int64_t logit_rows, ThreadPool& pool, const ObserveStates& observe = {},
                const ObserveAttention& attention = {}) const;

  // Hypothesis i becomes what parents[i] was; there may be more or fewer than before.
  // Errors: kInvalidArgument for a parent that does not exist.
  Status select(std::span<const std::int64_t> parents, Seq2SeqBatch& batch) const;

  // One empty hypothesis for each source again. Errors: kInvalidArgument when nothing has been encoded.
  Status restart(Seq2SeqBatch& batch) const;

  static std::int64_t hypotheses(const Seq2SeqBatch& batch);
  static std::int64_t length(const Seq2SeqBatch& batch);  // tokens of each

  Seq2Seq(Seq2Seq&&) noexcept;
  Seq2Seq& operator=(Seq2Seq&&) noexcept;
  ~Seq2Seq();

 private:
  explicit Seq2Seq(std::unique_ptr<Seq2SeqModel> model);
  std::unique_ptr<Seq2SeqModel> model_;
};

}  // namespace warpfold::models
