// Finds added and special tokens in text: at each place the longest one that starts there, in linear time
// whatever the tokens are.
//
// An Aho-Corasick automaton over the reversed token texts runs over the text from right to left. After the
// byte at i it is in the state of the longest prefix of a reversed text that ends (reversed: begins) at i;
// the longest whole token among that state and its fallbacks, known per state, is the longest token that
// starts at i. The usual left-to-right automaton cannot do this: it has to rescan what follows a short match
// inside a longer try.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "warpfold/text/tokenizer.h"

namespace warpfold::text {

struct SpecialMatch {
  TokenId id = kNoToken;
  std::uint32_t length = 0;  // bytes
};

class SpecialTokens {
 public:
  // Adds a token; empty texts are ignored, of two equal texts the first counts.
  void add(std::string_view text, TokenId id);
  // Ends construction: computes the fallback states.
  void finish();
  bool empty() const { return nodes_.size() == 1; }

  // For each position i of `text` with a token starting there, wholly inside the text: best[i] becomes the
  // longest such token unless it already holds a longer one. best.size() == text.size().
  // Returns the number of transitions looked up, at most 2 * text.size() + 1.
  std::size_t scan(std::string_view text, std::span<SpecialMatch> best) const;

 private:
  struct Node {
    std::uint32_t fallback = 0;
    SpecialMatch longest;  // of this state and its fallbacks
  };
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  std::uint32_t child(std::uint32_t node, unsigned char byte) const;

  std::vector<Node> nodes_{Node{}};
  std::vector<std::pair<std::uint32_t, unsigned char>> parents_{{0, 0}};  // of each node: parent and edge
  std::unordered_map<std::uint64_t, std::uint32_t> edges_;                // node << 8 | byte -> node
};

}  // namespace warpfold::text
