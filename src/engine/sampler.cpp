// See sampler.h for the stages and their order. No stage sorts the whole vocabulary: top-k selects, top-p
// takes from a heap only as many tokens as it keeps, and without either the weights are already in the order
// of ids.
#include "warpfold/engine/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace warpfold::engine {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// fp32 logits carry a relative error of about 1e-7 into a weight; a share this close to p counts as reaching
// it.
constexpr double kShareTolerance = 1e-6;

Status check_range(const char* name, double value, double low, double high) {
  if (value >= low && value <= high) return {};  // false for NaN
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} is {}; it must lie in [{}, {}]", name, value, low, high));
}

struct Extent {
  float max;
  bool bad;  // holds a NaN or +inf
};

// Eight independent lanes, so that the loop is not bound by the latency of one comparison.
Extent extent(std::span<const float> logits) {
  constexpr std::size_t kLanes = 8;
  std::array<float, kLanes> max;
  max.fill(-kInfinity);
  std::array<int, kLanes> bad{};
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float x = logits[i + lane];
      max[lane] = x > max[lane] ? x : max[lane];
      bad[lane] |= !(x < kInfinity);
    }
  }
  Extent result{*std::max_element(max.begin(), max.end()),
                std::any_of(bad.begin(), bad.end(), [](int b) { return b; })};
  for (; i < logits.size(); ++i) {
    result.max = std::max(result.max, logits[i]);
    result.bad |= !(logits[i] < kInfinity);
  }
  return result;
}

tl::unexpected<Error> bad_logits(std::span<const float> logits) {
  const auto is_bad = [](float x) { return !(x < kInfinity); };
  const auto first = std::find_if(logits.begin(), logits.end(), is_bad);
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("the logits cannot be sampled: {} of {} are NaN or +inf, the first for token {} ({})",
                  std::count_if(first, logits.end(), is_bad), logits.size(), first - logits.begin(), *first));
}

}  // namespace

Sampler::Sampler(const SamplingOptions& options, std::int64_t vocab)
    : options_(options), vocab_(vocab), random_(options.seed) {}

Result<Sampler> Sampler::create(const SamplingOptions& options, std::int64_t vocab) {
  constexpr double kMax = std::numeric_limits<double>::max();
  if (vocab < 1 || vocab > std::numeric_limits<TokenId>::max())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a vocabulary of {} tokens cannot be sampled", vocab));
  WF_CHECK(check_range("temperature", options.temperature, 0, kMax));
  WF_CHECK(check_range("top_p", options.top_p, 0, 1));
  WF_CHECK(check_range("min_p", options.min_p, 0, 1));
  WF_CHECK(check_range("repetition_penalty", options.repetition_penalty, std::numeric_limits<double>::min(),
                       kMax));
  return Sampler(options, vocab);
}

Result<TokenId> Sampler::sample(std::span<float> logits, std::span<const TokenId> history) {
  if (static_cast<std::int64_t>(logits.size()) != vocab_)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} logits for a vocabulary of {} tokens", logits.size(), vocab_));
  WF_CHECK(penalise(logits, history));
  const auto [max, bad] = extent(logits);
  if (bad) return bad_logits(logits);
  if (max == -kInfinity)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("all {} logits are -inf: no token is possible", vocab_));
  if (options_.temperature == 0)
    return static_cast<TokenId>(std::find(logits.begin(), logits.end(), max) - logits.begin());

  collect(logits, max);
  keep_top_k();
  keep_top_p();
  if (options_.min_p > 0)
    std::erase_if(candidates_, [this](const Candidate& c) { return c.weight < options_.min_p; });
  return draw();
}

Status Sampler::penalise(std::span<float> logits, std::span<const TokenId> history) {
  if (options_.repetition_penalty == 1) return {};
  const std::size_t window =
      options_.repetition_window < 0
          ? history.size()
          : std::min(history.size(), static_cast<std::size_t>(options_.repetition_window));
  const auto recent = history.last(window);
  recent_.assign(recent.begin(), recent.end());
  std::sort(recent_.begin(), recent_.end());
  recent_.erase(std::unique(recent_.begin(), recent_.end()), recent_.end());
  if (!recent_.empty() && (recent_.front() < 0 || recent_.back() >= vocab_))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("token {} of the history is outside the vocabulary of {}",
                            recent_.front() < 0 ? recent_.front() : recent_.back(), vocab_));
  for (const TokenId id : recent_) {
    float& logit = logits[static_cast<std::size_t>(id)];
    const double penalised =
        logit > 0 ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
    // An extreme penalty stays finite, so that it is told apart from a broken logit.
    if (std::isfinite(logit))
      logit = static_cast<float>(std::clamp<double>(penalised, std::numeric_limits<float>::lowest(),
                                                    std::numeric_limits<float>::max()));
  }
  return {};
}

void Sampler::collect(std::span<const float> logits, float max) {
  candidates_.clear();
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const double weight = std::exp((static_cast<double>(logits[id]) - max) / options_.temperature);
    if (weight > 0) candidates_.push_back({weight, logits[id], static_cast<TokenId>(id)});
  }
}

void Sampler::keep_top_k() {
  if (options_.top_k <= 0 || static_cast<std::uint64_t>(options_.top_k) >= candidates_.size()) return;
  const auto more_likely = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  const auto end = candidates_.begin() + options_.top_k;
  std::nth_element(candidates_.begin(), end - 1, candidates_.end(), more_likely);
  candidates_.erase(end, candidates_.end());
}

void Sampler::keep_top_p() {
  if (options_.top_p >= 1) return;
  double total = 0;
  for (const Candidate& c : candidates_) total += c.weight;
  const double enough = total * options_.top_p * (1 - kShareTolerance);

  const auto less_likely = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit < b.logit : a.id > b.id;
  };
  std::make_heap(candidates_.begin(), candidates_.end(), less_likely);
  auto kept = candidates_.end();  // [kept, end) are the tokens taken so far
  double sum = 0;
  do {
    std::pop_heap(candidates_.begin(), kept, less_likely);
    --kept;
    sum += kept->weight;
  } while (sum < enough && kept != candidates_.begin());
  candidates_.erase(candidates_.begin(), kept);
}

TokenId Sampler::draw() {
  if (options_.top_k > 0 || options_.top_p < 1)
    std::sort(candidates_.begin(), candidates_.end(),
              [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
  double total = 0;
  for (const Candidate& c : candidates_) total += c.weight;
  const double target = static_cast<double>(random_() >> 11) * 0x1p-53 * total;
  double sum = 0;
  for (const Candidate& c : candidates_) {
    sum += c.weight;
    if (sum > target) return c.id;
  }
  return candidates_.back().id;  // u * total rounded up to total
}

}  // namespace warpfold::engine
