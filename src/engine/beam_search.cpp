#include "warpfold/engine/beam_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace warpfold::engine {

Result<BeamSearch> BeamSearch::create(const BeamOptions& o, std::int64_t vocab) {
  const auto refuse = [](std::string message) {
    return fail(ErrorCode::kInvalidArgument, std::move(message));
  };
  if (vocab < 1) return refuse(fmt::format("a vocabulary of {} tokens is impossible", vocab));
  if (o.beams < 1) return refuse(fmt::format("beams is {}; it must be at least 1", o.beams));
  if (o.n_best < 1 || o.n_best > o.beams)
    return refuse(fmt::format("n_best is {}, expected 1 to {} beams", o.n_best, o.beams));
  if (!std::isfinite(o.length_penalty))
    return refuse(fmt::format("length_penalty is {}; it must be finite", o.length_penalty));
  if (o.max_tokens < 1) return refuse(fmt::format("max_tokens is {}; it must be at least 1", o.max_tokens));
  for (const auto* tokens : {&o.ends, &o.suppressed})
    for (const TokenId id : *tokens)
      if (id < 0 || id >= vocab)
        return refuse(fmt::format("token {} is outside the vocabulary of {}", id, vocab));
  return BeamSearch(o, vocab);
}

BeamSearch::BeamSearch(const BeamOptions& options, std::int64_t vocab)
    : options_(options),
      vocab_(vocab),
      is_end_(static_cast<std::size_t>(vocab)),
      is_suppressed_(static_cast<std::size_t>(vocab)),
      sequences_(1),
      sums_{0} {
  for (const TokenId id : options.ends) is_end_[static_cast<std::size_t>(id)] = true;
  for (const TokenId id : options.suppressed) is_suppressed_[static_cast<std::size_t>(id)] = true;
}

// The best continuations, the best first: so many that K of them do not end even if every end token of K
// hypotheses is among them. Equal sums in the order of hypotheses and ids.
std::vector<BeamSearch::Candidate> BeamSearch::rank(std::span<const float> logits) const {
  const std::size_t kept =
      std::max<std::size_t>(2, 1 + options_.ends.size()) * static_cast<std::size_t>(options_.beams);
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.sum != b.sum ? a.sum > b.sum : a.parent != b.parent ? a.parent < b.parent : a.token < b.token;
  };
  std::vector<Candidate> best;  // a heap with the worst on top
  for (std::size_t h = 0; h < sums_.size(); ++h) {
    const float* row = logits.data() + h * static_cast<std::size_t>(vocab_);
    const double largest = *std::max_element(row, row + vocab_);
    double total = 0;
    for (std::int64_t i = 0; i < vocab_; ++i) total += std::exp(static_cast<double>(row[i]) - largest);
    const double offset = sums_[h] - largest - std::log(total);
    for (std::int64_t i = 0; i < vocab_; ++i) {
      const double sum = static_cast<double>(row[i]) + offset;
      if (best.size() == kept && sum <= best.front().sum) continue;
      if (is_suppressed_[static_cast<std::size_t>(i)] || std::isinf(sum)) continue;
      if (best.size() == kept) {
        std::pop_heap(best.begin(), best.end(), better);
        best.pop_back();
      }
      best.push_back({sum, static_cast<std::int64_t>(h), static_cast<TokenId>(i)});
      std::push_heap(best.begin(), best.end(), better);
    }
  }
  std::sort_heap(best.begin(), best.end(), better);
  return best;
}

void BeamSearch::finish(const Candidate& candidate, bool ended) {
  BeamHypothesis hypothesis{sequences_[static_cast<std::size_t>(candidate.parent)],
                            candidate.sum / std::pow(static_cast<double>(length_), options_.length_penalty),
                            ended};
  if (!ended) hypothesis.tokens.push_back(candidate.token);
  const auto at = std::find_if(finished_.begin(), finished_.end(),
                               [&](const BeamHypothesis& f) { return f.score < hypothesis.score; });
  finished_.insert(at, std::move(hypothesis));
  if (static_cast<std::int64_t>(finished_.size()) > options_.beams) finished_.pop_back();
}

Status BeamSearch::advance(std::span<const float> logits) {
  if (done_) return fail(ErrorCode::kInvalidArgument, "the search is done");
  if (static_cast<std::int64_t>(logits.size()) != open() * vocab_)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} logits for {} hypotheses and a vocabulary of {}",
                                                         logits.size(), open(), vocab_));
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (!(logits[i] <= std::numeric_limits<float>::max()))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("logit {} of hypothesis {} is {}", i % static_cast<std::size_t>(vocab_),
                              i / static_cast<std::size_t>(vocab_), logits[i]));
  const std::vector<Candidate> candidates = rank(logits);
  ++length_;
  const bool at_limit = length_ == options_.max_tokens;
  std::vector<std::vector<TokenId>> sequences;
  std::vector<double> sums;
  tokens_.clear();
  parents_.clear();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& c = candidates[i];
    const bool ends = is_end_[static_cast<std::size_t>(c.token)];
    if (ends || at_limit) {
      if (static_cast<std::int64_t>(i) < options_.beams) finish(c, ends);
      continue;
    }
    if (static_cast<std::int64_t>(sums.size()) == options_.beams) continue;
    sequences.push_back(sequences_[static_cast<std::size_t>(c.parent)]);
    sequences.back().push_back(c.token);
    sums.push_back(c.sum);
    tokens_.push_back(c.token);
    parents_.push_back(c.parent);
  }
  sequences_ = std::move(sequences);
  sums_ = std::move(sums);
  const bool full = static_cast<std::int64_t>(finished_.size()) == options_.beams;
  const bool hopeless =
      full && !sums_.empty() &&
      sums_[0] / std::pow(static_cast<double>(length_), options_.length_penalty) <= finished_.back().score;
  done_ = sums_.empty() || hopeless || (full && options_.early_stopping);
  return {};
}

std::vector<BeamHypothesis> BeamSearch::best() const {
  const auto n = std::min<std::size_t>(finished_.size(), static_cast<std::size_t>(options_.n_best));
  return {finished_.begin(), finished_.begin() + static_cast<std::ptrdiff_t>(n)};
}

}  // namespace warpfold::engine
