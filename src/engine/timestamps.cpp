#include "engine/timestamps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace warpfold::engine {

void apply_timestamp_rules(const TimestampTokens& rules, std::span<const text::TokenId> tokens,
                           std::span<float> logits) {
  constexpr float kForbidden = -std::numeric_limits<float>::infinity();
  const auto begin = static_cast<std::size_t>(rules.begin), end = static_cast<std::size_t>(rules.end);
  const auto forbid = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < std::min(to, logits.size()); ++i) logits[i] = kForbidden;
  };
  const auto is_time = [&](text::TokenId id) { return id >= rules.begin; };
  if (tokens.empty()) {
    forbid(0, begin);
    forbid(begin + static_cast<std::size_t>(rules.latest_start) + 1, logits.size());
  } else {
    const bool last = is_time(tokens.back()),
               before = tokens.size() < 2 || is_time(tokens[tokens.size() - 2]);
    if (last && before)
      forbid(begin, logits.size());  // a segment has begun: text
    else if (last)
      forbid(0, end);  // one has ended: another begins, or all ends
    const auto time = std::find_if(tokens.rbegin(), tokens.rend(), is_time);
    if (time != tokens.rend()) forbid(begin, static_cast<std::size_t>(*time) + (last && !before ? 0 : 1));
  }
  const float text = *std::max_element(logits.begin(), logits.begin() + static_cast<std::ptrdiff_t>(begin));
  const float largest = *std::max_element(logits.begin() + static_cast<std::ptrdiff_t>(begin), logits.end());
  if (std::isinf(largest)) return;
  double total = 0;
  for (std::size_t i = begin; i < logits.size(); ++i)
    total += std::exp(static_cast<double>(logits[i]) - largest);
  if (largest + std::log(total) > text) forbid(0, begin);
}

Segments split_segments(const TimestampTokens& rules, std::span<const text::TokenId> tokens, double seconds) {
  const auto time_of = [&](text::TokenId id) { return 0.02 * static_cast<double>(id - rules.begin); };
  Segments out;
  Segment open;
  double last_end = 0;
  for (const text::TokenId id : tokens) {
    if (id < rules.begin) {
      open.tokens.push_back(id);
    } else if (open.tokens.empty()) {
      open.start = time_of(id);
    } else {
      open.end = last_end = time_of(id);
      out.list.push_back(std::exchange(open, {}));
    }
  }
  const bool another =
      !tokens.empty() && !out.list.empty() &&
      (tokens.back() < rules.begin || (tokens.size() > 1 && tokens[tokens.size() - 2] >= rules.begin));
  if (another && last_end > 0) {
    out.next = last_end;
    return out;
  }
  if (!open.tokens.empty()) {
    open.end = seconds;
    out.list.push_back(std::move(open));
  }
  out.next = seconds;
  return out;
}

}  // namespace warpfold::engine
