// The reversed Aho-Corasick automaton of special_tokens.h.
#include "text/special_tokens.h"

#include <algorithm>
#include <numeric>

namespace warpfold::text {

std::uint32_t SpecialTokens::child(std::uint32_t node, unsigned char byte) const {
  const auto found = edges_.find(std::uint64_t{node} << 8 | byte);
  return found == edges_.end() ? kNone : found->second;
}

void SpecialTokens::add(std::string_view text, TokenId id) {
  if (text.empty()) return;
  std::uint32_t node = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto [edge, is_new] =
        edges_.try_emplace(std::uint64_t{node} << 8 | byte, static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) {
      nodes_.emplace_back();
      parents_.emplace_back(node, byte);
    }
    node = edge->second;
  }
  if (nodes_[node].longest.id == kNoToken)
    nodes_[node].longest = {id, static_cast<std::uint32_t>(text.size())};
}

void SpecialTokens::finish() {
  // By depth, so that a node's fallback, which is less deep, is complete before it. Parents come before their
  // children in nodes_, hence one pass gives the depths.
  std::vector<std::uint32_t> depth(nodes_.size(), 0);
  for (std::size_t n = 1; n < nodes_.size(); ++n) depth[n] = depth[parents_[n].first] + 1;
  std::vector<std::uint32_t> order(nodes_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return depth[a] < depth[b]; });
  for (const std::uint32_t n : order) {
    const auto [parent, byte] = parents_[n];
    if (n == 0) continue;
    std::uint32_t fallback = 0;
    if (parent != 0) {
      std::uint32_t state = nodes_[parent].fallback;
      std::uint32_t next = child(state, byte);
      while (next == kNone && state != 0) {
        state = nodes_[state].fallback;
        next = child(state, byte);
      }
      if (next != kNone) fallback = next;
    }
    nodes_[n].fallback = fallback;
    if (nodes_[n].longest.id == kNoToken) nodes_[n].longest = nodes_[fallback].longest;
  }
}

std::size_t SpecialTokens::scan(std::string_view text, std::span<SpecialMatch> best) const {
  std::size_t looked_up = 0;
  std::uint32_t state = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    const auto byte = static_cast<unsigned char>(text[i]);
    std::uint32_t next = child(state, byte);
    ++looked_up;
    while (next == kNone && state != 0) {
      state = nodes_[state].fallback;
      next = child(state, byte);
      ++looked_up;
    }
    state = next == kNone ? 0 : next;
    if (nodes_[state].longest.length > best[i].length) best[i] = nodes_[state].longest;
  }
  return looked_up;
}

}  // namespace warpfold::text
