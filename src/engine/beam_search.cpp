#include "warpfold/engine/beam_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "warpfold/ops/logits.h"

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
      kept_(std::max<std::size_t>(2, 1 + options.ends.size()) * static_cast<std::size_t>(options.beams)),
      is_end_(static_cast<std::size_t>(vocab)),
      is_suppressed_(static_cast<std::size_t>(vocab)),
      sequences_(1),
      sums_{0} {
  for (const TokenId id : options.ends) is_end_[static_cast<std::size_t>(id)] = true;
  for (const TokenId id : options.suppressed) is_suppressed_[static_cast<std::size_t>(id)] = true;
  open_rows();
}

// Room for what look() finds, so that it takes no memory.
void BeamSearch::open_rows() {
  if (rows_.size() < sums_.size()) rows_.resize(sums_.size());
  for (std::size_t h = 0; h < sums_.size(); ++h) {
    rows_[h].seen = false;
    rows_[h].maxima.resize(static_cast<std::size_t>(ops::logit_blocks(vocab_)));
    rows_[h].best.reserve(std::min(kept_, static_cast<std::size_t>(vocab_)));
  }
}

// The row's likeliest tokens, equal ones by their ids. A heap with the worst on top keeps them; blocks whose
// maximum is no better than that one are not looked at: of a random row all but the first few.
Status BeamSearch::look(std::int64_t hypothesis, std::span<const float> logits) {
  if (done_) return fail(ErrorCode::kInvalidArgument, "the search is done");
  if (hypothesis < 0 || hypothesis >= open())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("hypothesis {} is not among the {} open ones", hypothesis, open()));
  if (static_cast<std::int64_t>(logits.size()) != vocab_)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} logits of a hypothesis for a vocabulary of {}", logits.size(), vocab_));
  const auto h = static_cast<std::size_t>(hypothesis);
  Row& row = rows_[h];
  const ops::LogitSummary summary = ops::summarise_logits(logits.data(), vocab_, row.maxima.data());
  if (!summary.valid) {
    const auto bad = std::find_if(logits.begin(), logits.end(),
                                  [](float x) { return !(x <= std::numeric_limits<float>::max()); });
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("logit {} of hypothesis {} is {}", bad - logits.begin(), hypothesis, *bad));
  }
  constexpr float kImpossible = -std::numeric_limits<float>::infinity();
  const auto better = [](const Likely& a, const Likely& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  };
  std::vector<Likely>& best = row.best;
  best.clear();
  float least = kImpossible;  // what a token must exceed
  for (std::size_t block = 0; block < row.maxima.size(); ++block) {
    if (row.maxima[block] <= least) continue;
    const std::size_t first = block * ops::kLogitBlock,
                      last = std::min(first + ops::kLogitBlock, logits.size());
    for (std::size_t i = first; i < last; ++i) {
      if (logits[i] <= least || is_suppressed_[i]) continue;
      if (best.size() == kept_) {
        std::pop_heap(best.begin(), best.end(), better);
        best.pop_back();
      }
      best.push_back({logits[i], static_cast<TokenId>(i)});
      std::push_heap(best.begin(), best.end(), better);
      if (best.size() == kept_) least = best.front().logit;
    }
  }
  row.offset = sums_[h] - static_cast<double>(summary.largest) - summary.log_total;
  row.seen = true;
  return {};
}

// The best continuations, the best first: so many that K of them do not end even if every end token of K
// hypotheses is among them. Equal sums in the order of hypotheses and ids.
std::vector<BeamSearch::Candidate> BeamSearch::rank() const {
  std::vector<Candidate> all;
  for (std::size_t h = 0; h < sums_.size(); ++h)
    for (const Likely& l : rows_[h].best)
      all.push_back({static_cast<double>(l.logit) + rows_[h].offset, static_cast<std::int64_t>(h), l.token});
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(kept_, all.size()));
  std::partial_sort(all.begin(), end, all.end(), [](const Candidate& a, const Candidate& b) {
    return a.sum != b.sum ? a.sum > b.sum : a.parent != b.parent ? a.parent < b.parent : a.token < b.token;
  });
  all.erase(end, all.end());
  return all;
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

Status BeamSearch::advance(std::span<const float> logits, ThreadPool* pool) {
  if (done_) return fail(ErrorCode::kInvalidArgument, "the search is done");
  if (static_cast<std::int64_t>(logits.size()) != open() * vocab_)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} logits for {} hypotheses and a vocabulary of {}",
                                                         logits.size(), open(), vocab_));
  const auto row = static_cast<std::size_t>(vocab_);
  std::vector<Status> looked(sums_.size());
  const auto one = [&](std::int64_t h, int) {
    looked[static_cast<std::size_t>(h)] = look(h, logits.subspan(static_cast<std::size_t>(h) * row, row));
  };
  if (pool)
    pool->parallel_for(open(), one);
  else
    for (std::int64_t h = 0; h < open(); ++h) one(h, 0);
  for (const Status& status : looked) WF_CHECK(status);
  return advance();
}

Status BeamSearch::advance() {
  if (done_) return fail(ErrorCode::kInvalidArgument, "the search is done");
  for (std::size_t h = 0; h < sums_.size(); ++h)
    if (!rows_[h].seen)
      return fail(ErrorCode::kInvalidArgument, fmt::format("the logits of hypothesis {} were not given", h));
  const std::vector<Candidate> candidates = rank();
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
  open_rows();
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
