// Beam search: the likeliest continuations of one prompt or source, found by keeping the K best beginnings.
//
//   score(y_1 .. y_n) = sum_t log p(y_t | y_1 .. y_{t-1}) / n^a        a: length penalty; the end token
//   counts in n
//
// Each step extends the K open hypotheses by every token and ranks all of them by the sum. Those among the
// first K that end are finished, and the K best finished ones are kept by score; the best K that do not end
// stay open. The search ends when the best open sum, over its present length, is no better than the worst of
// K finished ones, when the K finished are enough (early stopping), or at the largest length, where all of
// the first K count as finished. These are the rules of Hugging Face's transformers (5.x), so that results
// can be compared. (Graves 2012; Wu et al. 2016 for the penalty)
//
// The model is the caller's: give advance() the logits of the open hypotheses, let hypothesis i continue
// parents()[i] with tokens()[i], and again until done(). Reading the logits is the larger part of a step;
// look() does that for one hypothesis, so that threads can share it.
//
// Log probabilities come from fp32 exponentials (ops/logits.h): a sum of n of them errs by at most
// n (9 + ln vocab) 2^-24, and two hypotheses as close as that may change places.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/core/thread_pool.h"
#include "warpfold/text/tokenizer.h"

namespace warpfold::engine {

using text::TokenId;

struct BeamOptions {
  std::int64_t beams = 4;     // K >= 1
  std::int64_t n_best = 1;    // results, 1 to K
  double length_penalty = 1;  // a; finite
  bool early_stopping = false;
  std::int64_t max_tokens = 256;    // generated, the end token included; >= 1
  std::vector<TokenId> ends;        // any of them ends a hypothesis
  std::vector<TokenId> suppressed;  // never chosen; they keep their share of the probability
};

struct BeamHypothesis {
  std::vector<TokenId> tokens;  // without the end token
  double score = 0;
  bool ended = false;  // by an end token, not by its length
};

class BeamSearch {
 public:
  // Errors: kInvalidArgument for an option out of range, by name, or a token outside the vocabulary.
  static Result<BeamSearch> create(const BeamOptions& options, std::int64_t vocab);

  // logits (open, vocab) of what follows each open hypothesis; one is open at first, the empty one.
  // A pool shares the hypotheses out. Errors: kInvalidArgument for another number of logits, a NaN or +inf
  // among them, a finished search.
  Status advance(std::span<const float> logits, ThreadPool* pool = nullptr);

  // The same in two steps: look at the logits (vocab) of every open hypothesis, of different ones from
  // different threads if you like, then advance. Errors: as above; a hypothesis that is not open, or that was
  // not looked at.
  Status look(std::int64_t hypothesis, std::span<const float> logits);
  Status advance();

  bool done() const { return done_; }
  std::int64_t open() const { return static_cast<std::int64_t>(sums_.size()); }
  std::span<const TokenId> tokens() const { return tokens_; }         // (open) the last step's
  std::span<const std::int64_t> parents() const { return parents_; }  // (open) indices before the last step

  // The best first, n_best or as many as there are; before done() those that have finished so far.
  std::vector<BeamHypothesis> best() const;

 private:
  struct Candidate {
    double sum;
    std::int64_t parent;
    TokenId token;
  };
  struct Likely {
    float logit;
    TokenId token;
  };
  // What is known of an open hypothesis's logits.
  struct Row {
    bool seen = false;
    double offset = 0;          // sum so far - log sum exp(logits)
    std::vector<float> maxima;  // scratch
    std::vector<Likely> best;   // the likeliest, `kept_` or as many as are possible, in no order
  };
  BeamSearch(const BeamOptions& options, std::int64_t vocab);
  void open_rows();
  std::vector<Candidate> rank() const;
  void finish(const Candidate& candidate, bool ended);

  BeamOptions options_;
  std::int64_t vocab_, length_ = 0;
  std::size_t kept_;                             // candidates of a step
  std::vector<bool> is_end_, is_suppressed_;     // (vocab)
  std::vector<std::vector<TokenId>> sequences_;  // (open)
  std::vector<double> sums_;                     // (open) of log probabilities, the best first
  std::vector<Row> rows_;                        // at least (open)
  std::vector<TokenId> tokens_;
  std::vector<std::int64_t> parents_;
  std::vector<BeamHypothesis> finished_;  // at most K, the best first
  bool done_ = false;
};

}  // namespace warpfold::engine
