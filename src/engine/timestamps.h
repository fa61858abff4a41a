// Whisper's timestamps: tokens from `begin` on, 20 ms each, in pairs around segments. (Radford et al. 2022)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "warpfold/text/tokenizer.h"

namespace warpfold::engine {

struct TimestampTokens {
  text::TokenId begin =
      text::kNoToken;                  // 0.00 s; all tokens from here to the end of the vocabulary are times
  text::TokenId end = text::kNoToken;  // of the text; ordinary tokens lie before it
  std::int64_t latest_start = 50;      // in steps of 20 ms: the first segment begins within a second
};

// Forbids, by -inf, the tokens that cannot follow `tokens`, what was written after the prompt: times come in
// pairs, do not decrease, and a segment is not empty; the first token is a time; and where all times together
// are likelier than any other token, a time has to come.
void apply_timestamp_rules(const TimestampTokens& rules, std::span<const text::TokenId> tokens,
                           std::span<float> logits);

struct Segment {
  double start = 0, end = 0;  // seconds from the window's beginning
  std::vector<text::TokenId> tokens;
};
// Segments of a window of `seconds`, and where the next window begins: after the last whole segment when
// another had begun, otherwise at the window's end.
struct Segments {
  std::vector<Segment> list;
  double next = 0;
};
Segments split_segments(const TimestampTokens& rules, std::span<const text::TokenId> tokens, double seconds);

}  // namespace warpfold::engine
