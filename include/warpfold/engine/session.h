// One sequence of tokens in work on a model: its KV cache, prefill, decoding, streaming.
//
//   auto model = Model::load(path);
//   auto session = Session::create(*model, {});
//   auto answer = session->generate(*(*model)->encode("The capital of France is"), {.max_tokens = 16});
//
// The cache outlives a request: the next one evaluates only what follows the longest common beginning, which
// makes a growing conversation cost its new part only. A request that fails leaves the session ready for the
// next.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/engine/model.h"
#include "warpfold/engine/sampler.h"
#include "warpfold/models/decoder.h"

namespace warpfold::engine {

struct SessionOptions {
  std::int64_t context = 0;  // tokens, prompt and answer together; 0: what the model was trained for
  models::KvType kv = models::KvType::kF16;
};

using PrefillProgress = std::function<void(std::int64_t done, std::int64_t total)>;  // tokens

struct GenerateOptions {
  SamplingOptions sampling;
  // Exactly so many tokens unless the answer ends earlier; 0 gives none.
  std::int64_t max_tokens = std::numeric_limits<std::int64_t>::max();
  std::vector<std::string> stop;  // the text ends before the first of these
  // Called for each token with the text it made certain, often none or more than its own; a last call with
  // kNoToken hands out text that was held back. The text of all calls together is Generation::text.
  std::function<void(TokenId, std::string_view text)> on_token;
  PrefillProgress on_prefill;
  const std::atomic<bool>* cancel =
      nullptr;  // set from a thread or signal handler: ends after the current step
};

enum class FinishReason {
  kStop,    // an end-of-generation token or a stop string
  kLength,  // max_tokens, or the context is full
  kCancelled,
};
std::string_view to_string(FinishReason reason);  // "stop", "length", "cancelled"

struct Timings {
  double prefill_seconds = 0;
  std::int64_t prefill_tokens = 0;  // evaluated
  std::int64_t reused_tokens = 0;   // found in the cache
  double decode_seconds = 0;        // sampling included
  std::int64_t decode_steps = 0;    // tokens evaluated one at a time; the first answer token costs none
};

struct Generation {
  std::vector<TokenId> tokens;  // all that were generated, without the end-of-generation token
  std::string text;             // empty for a model without tokenizer
  FinishReason finish_reason = FinishReason::kLength;
  Timings timings;
};

class Session {
 public:
  // Errors: kInvalidArgument for a context below 1 or above the model's.
  static Result<Session> create(ModelPtr model, const SessionOptions& options = {});

  // Completes `prompt`. A cancelled request is not an error: the result holds what was produced.
  // Errors: kInvalidArgument for an empty prompt, an id outside the vocabulary, a prompt longer than the
  // context, sampling options out of range, negative max_tokens, an empty stop string, stop strings without a
  // tokenizer; what the decoder or sampler finds (the cache is then cleared).
  Result<Generation> generate(std::span<const TokenId> prompt, const GenerateOptions& options);

  // The parts of generate() for callers with a loop of their own.
  // prefill makes `tokens` the session's sequence; logits() then predict what follows. Errors as in
  // generate(), and kCancelled.
  Status prefill(std::span<const TokenId> tokens, const PrefillProgress& progress = {},
                 const std::atomic<bool>* cancel = nullptr);
  // Appends one token. Errors: kInvalidArgument for an id outside the vocabulary, a full context; what the
  // decoder finds (the cache is then cleared).
  Status step(TokenId token);
  std::span<const float> logits() const { return logits_; }  // (vocab), after prefill or step

  void clear();                                                // forgets the sequence
  std::span<const TokenId> tokens() const { return tokens_; }  // the sequence in the cache
  std::int64_t context() const { return context_; }
  std::int64_t cache_bytes() const { return models::Decoder::bytes(*cache_); }

 private:
  Session(ModelPtr model, models::KvCachePtr cache, std::int64_t context);

  ModelPtr model_;
  models::KvCachePtr cache_;
  std::int64_t context_;
  std::vector<TokenId> tokens_;
  std::vector<float> logits_;
};

}  // namespace warpfold::engine
