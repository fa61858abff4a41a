// SentencePiece-style merging with the same list and queue as byte-level BPE (bpe.cpp); here a pair is looked
// up by its joined text, which is contiguous in the escaped input.
#include "text/spm.h"

#include <algorithm>
#include <cstdint>
#include <queue>
#include <string>

#include <fmt/format.h>

#include "text/utf8.h"

namespace warpfold::text {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581

struct Symbol {
  std::size_t begin, size;      // bytes of the escaped text; size 0 once merged away
  std::int64_t previous, next;  // indices, -1 at the ends
};

struct Candidate {
  float score;
  std::int64_t left;
  std::size_t size;  // of both symbols when queued
};

struct Later {  // highest score first, then leftmost
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.score != b.score ? a.score < b.score : a.left > b.left;
  }
};

std::string escape_spaces(std::string_view text, bool space_prefix) {
  std::string escaped(space_prefix ? kSpace : std::string_view());
  escaped.reserve(text.size() + kSpace.size());
  for (const char c : text) {
    if (c == ' ')
      escaped += kSpace;
    else
      escaped += c;
  }
  return escaped;
}

std::vector<Symbol> characters(std::string_view text) {
  std::vector<Symbol> symbols;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = next_utf8(text, at).length;
    const auto index = static_cast<std::int64_t>(symbols.size());
    symbols.push_back({at, size, index - 1, index + 1});
    at += size;
  }
  if (!symbols.empty()) symbols.back().next = -1;
  return symbols;
}

// A symbol without a token of its own is always one character: only pairs with a token are merged.
Status append_bytes(std::string_view character, const Vocabulary& vocabulary, std::vector<TokenId>& out) {
  const bool complete = std::all_of(character.begin(), character.end(), [&](char c) {
    return vocabulary.byte_tokens[static_cast<std::uint8_t>(c)] != kNoToken;
  });
  if (complete) {
    for (const char c : character) out.push_back(vocabulary.byte_tokens[static_cast<std::uint8_t>(c)]);
    return {};
  }
  if (vocabulary.unknown == kNoToken)
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("the vocabulary has neither a token nor byte tokens for \"{}\", and no unknown token",
                    character));
  out.push_back(vocabulary.unknown);
  return {};
}

}  // namespace

Status encode_sentence_piece(std::string_view text, bool space_prefix, const Vocabulary& vocabulary,
                             std::vector<TokenId>& out) {
  const std::string escaped = escape_spaces(text, space_prefix);
  std::vector<Symbol> symbols = characters(escaped);
  const auto at = [&](std::int64_t i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };
  const auto text_of = [&](std::size_t begin, std::size_t size) {
    return std::string_view(escaped).substr(begin, size);
  };

  std::priority_queue<Candidate, std::vector<Candidate>, Later> queue;
  const auto consider = [&](std::int64_t left) {
    if (left < 0 || at(left).next < 0) return;
    const std::size_t size = at(left).size + at(at(left).next).size;
    const TokenId id = vocabulary.find(text_of(at(left).begin, size));
    if (id != kNoToken) queue.push({vocabulary.scores[static_cast<std::size_t>(id)], left, size});
  };
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(symbols.size()); ++i) consider(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = at(best.left);
    // Symbols only grow, so an equal size means that neither changed since the pair was queued.
    if (left.size == 0 || left.next < 0 || left.size + at(left.next).size != best.size) continue;
    Symbol& right = at(left.next);
    left.size = best.size;
    left.next = right.next;
    right.size = 0;
    if (left.next >= 0) at(left.next).previous = best.left;
    consider(left.previous);
    consider(best.left);
  }

  for (std::int64_t i = symbols.empty() ? -1 : 0; i >= 0; i = at(i).next) {
    const std::string_view piece = text_of(at(i).begin, at(i).size);
    if (const TokenId id = vocabulary.find(piece); id != kNoToken) {
      out.push_back(id);
    } else {
      WF_CHECK(append_bytes(piece, vocabulary, out));
    }
  }
  return {};
}

std::string sentence_piece_text(std::string_view piece) {
  std::string text;
  text.reserve(piece.size());
  while (!piece.empty()) {
    if (piece.starts_with(kSpace)) {
      text += ' ';
      piece.remove_prefix(kSpace.size());
    } else {
      text += piece.front();
      piece.remove_prefix(1);
    }
  }
  return text;
}

}  // namespace warpfold::text
