// A decoder without weights, linked in place of the real one: the engine's logic is tested against a law that
// is easy to compute. With s the sum of all tokens in the cache and n their number,
//   logit[i] = ((s + 31 n + 7 i) * 2654435761 mod 2^32) / 2^29, in [0, 8), plus 100 for i = (s + n) mod
//   vocab,
// so every token of the sequence matters and the greedy continuation is known. A script can replace the
// choice.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <span>

#include "warpfold/engine/model.h"

namespace warpfold::engine::fake {

inline constexpr std::int64_t kChunk = 4;  // tokens a forward pass handles between calls of progress

// Misbehaviour and bookkeeping, for one test at a time.
struct Control {
  std::int64_t fail_at_length = -1;  // forward fails once the cache holds this many tokens
  std::int64_t nan_at_length = -1;   // the logits after this many tokens are NaN
  std::int64_t evaluated = 0;        // tokens given to forward
  std::vector<TokenId> script;       // what follows the prompt instead of the law's choice
  std::int64_t script_start = 0;     // length of that prompt
};
Control& control();  // reset by make_model

inline TokenId greedy_next(std::span<const TokenId> sequence, std::int64_t vocab) {
  const auto sum = std::accumulate(sequence.begin(), sequence.end(), std::int64_t{0});
  return static_cast<TokenId>((sum + static_cast<std::int64_t>(sequence.size())) % vocab);
}

// A model of this decoder; without a tokenizer, text functions fail.
ModelPtr make_model(std::int64_t vocab, std::int64_t context, int threads = 1);
ModelPtr make_model(Result<text::Tokenizer> tokenizer, Result<text::ChatTemplate> chat_template,
                    std::int64_t vocab, std::int64_t context);

}  // namespace warpfold::engine::fake
