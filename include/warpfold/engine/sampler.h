// Picks the next token from logits (vocab).
//
// The stages, always in this order; each is off at its default:
//   1. repetition penalty r over the last `repetition_window` tokens of the sequence (prompt included), once
//   a
//      token: l = l > 0 ? l / r : l * r (Keskar et al. 2019, arXiv:1909.05858)
//   2. temperature T: w = exp((l - max l) / T); T = 0 takes the argmax, the smallest id of equals, and ends
//   here
//   3. top-k: the k largest, ties to the smaller id; k <= 0 keeps all
//   4. top-p: the smallest set of the largest whose share of what top-k left is >= p, never empty
//      (Holtzman et al. 2019, arXiv:1904.09751)
//   5. min-p: those with w >= min_p * max w (Nguyen et al. 2024, arXiv:2407.01082)
//   6. one draw by the inverse of the cumulative weights, in the order of ids
// The draw is exact: std::mt19937_64, which the standard fixes, seeded with `seed`; one 64-bit value x a
// token, u = (x >> 11) * 2^-53, and the first token whose cumulative weight (fp64) exceeds u * total. So the
// same seed and the same logits give the same tokens wherever exp rounds alike.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/text/tokenizer.h"

namespace warpfold::engine {

using text::TokenId;

struct SamplingOptions {
  double temperature = 0.0;             // >= 0
  std::int64_t top_k = 0;               // <= 0: off
  double top_p = 1.0;                   // in [0, 1]
  double min_p = 0.0;                   // in [0, 1]
  double repetition_penalty = 1.0;      // > 0
  std::int64_t repetition_window = 64;  // tokens; < 0: the whole sequence
  std::uint64_t seed = 0;
};

class Sampler {
 public:
  // Errors: kInvalidArgument for a NaN or a value outside the ranges above, by name; vocab < 1.
  static Result<Sampler> create(const SamplingOptions& options, std::int64_t vocab);

  // logits (vocab) are changed by the penalty; history holds the sequence so far.
  // Errors: kInvalidArgument for a wrong number of logits, a NaN or +inf among them, none above -inf, an id
  // of history outside the vocabulary. After an error the state of the random numbers is as before.
  Result<TokenId> sample(std::span<float> logits, std::span<const TokenId> history);

 private:
  struct Candidate {
    double weight;  // relative to the most likely token's
    float logit;
    TokenId id;
  };
  Sampler(const SamplingOptions& options, std::int64_t vocab);
  Status penalise(std::span<float> logits, std::span<const TokenId> history);
  void collect(std::span<const float> logits, float max);
  void keep_top_k();
  void keep_top_p();
  TokenId draw();

  SamplingOptions options_;
  std::int64_t vocab_;
  std::mt19937_64 random_;
  std::vector<Candidate> candidates_;  // kept between tokens for its memory, like recent_
  std::vector<TokenId> recent_;
};

}  // namespace warpfold::engine
