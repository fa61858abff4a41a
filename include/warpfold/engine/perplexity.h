// Perplexity of a text, by llama.cpp's method so that the figures can be compared: exp of the mean negative
// log likelihood over non-overlapping chunks of `context` tokens. Each chunk is evaluated from an empty
// cache, its first token replaced by BOS where the vocabulary adds one; positions context/2 .. context-2 each
// predict the token that follows them, so a predicted token has at least half a chunk before it. A last,
// shorter chunk is left out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "warpfold/core/error.h"
#include "warpfold/engine/model.h"

namespace warpfold::engine {

struct PerplexityOptions {
  std::int64_t context = 512;   // at least 3
  std::int64_t max_chunks = 0;  // 0: all
  models::KvType kv = models::KvType::kF16;
  // Called after each chunk; false stops (kCancelled).
  std::function<bool(std::int64_t done, std::int64_t chunks, double perplexity_so_far)> progress;
};

struct Perplexity {
  double value = 0;
  double standard_error = 0;  // of value, from the spread of the single tokens
  std::int64_t chunks = 0;
  std::int64_t scored = 0;  // predicted tokens
};

// Errors: kInvalidArgument for a context below 3 or above the model's, fewer tokens than one chunk, an id
// outside the vocabulary; what the decoder finds; kInvalidArgument for logits that are not finite.
Result<Perplexity> perplexity(const Model& model, std::span<const TokenId> tokens,
                              const PerplexityOptions& options);

}  // namespace warpfold::engine
