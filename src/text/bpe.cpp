// Byte-level BPE. Merging uses a doubly linked list of symbols and a priority queue of candidate pairs; a
// candidate whose symbols have changed since it was queued is skipped. n bytes give at most 2n candidates, so
// a run of n equal characters costs O(n log n).
#include "text/bpe.h"

#include <queue>

#include <fmt/format.h>

#include "text/utf8.h"

namespace warpfold::text {
namespace {

struct ByteAlphabet {
  std::array<char32_t, 256> character{};
  std::array<std::int16_t, 0x144> byte{};  // by character, -1 where it stands for none
};

constexpr ByteAlphabet make_alphabet() {
  ByteAlphabet alphabet;
  for (auto& b : alphabet.byte) b = -1;
  char32_t next = 0x100;
  for (unsigned b = 0; b < 256; ++b) {
    const bool itself = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    const char32_t character = itself ? char32_t{b} : next++;
    alphabet.character[b] = character;
    alphabet.byte[character] = static_cast<std::int16_t>(b);
  }
  return alphabet;
}

constexpr ByteAlphabet kAlphabet = make_alphabet();

std::uint64_t pair_key(TokenId left, TokenId right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

}  // namespace

char32_t byte_to_character(std::uint8_t byte) { return kAlphabet.character[byte]; }

std::optional<std::uint8_t> character_to_byte(char32_t character) {
  if (character >= kAlphabet.byte.size() || kAlphabet.byte[character] < 0) return std::nullopt;
  return static_cast<std::uint8_t>(kAlphabet.byte[character]);
}

std::string byte_level_bytes(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = next_utf8(text, at);
    const auto byte = step.valid ? character_to_byte(step.code_point) : std::nullopt;
    if (!byte) return std::string(text);
    bytes += static_cast<char>(*byte);
    at += step.length;
  }
  return bytes;
}

Result<ByteLevelBpe> ByteLevelBpe::make(const formats::Gguf& file, const Vocabulary& vocabulary) {
  constexpr std::string_view kMerges = "tokenizer.ggml.merges";
  auto pretokenizer = Pretokenizer::make(vocabulary.pre);
  if (!pretokenizer)
    return fail(pretokenizer.error().code, fmt::format("{}: {}", file.name(), pretokenizer.error().message));
  ByteLevelBpe bpe(std::move(*pretokenizer));

  // Merges may name any token; those of control tokens can never apply to text, and are dropped below.
  std::unordered_map<std::string_view, TokenId> others;
  for (TokenId id = 0; id < vocabulary.size(); ++id)
    if (vocabulary.find(vocabulary.texts[id]) == kNoToken) others.emplace(vocabulary.texts[id], id);

  WF_TRY(const std::span<const std::string_view> merges, file.strings(kMerges));
  bpe.merges_.reserve(merges.size());
  std::string whole;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const std::string_view merge = merges[i];
    const auto bad = [&](std::string_view what) {
      return fail(ErrorCode::kBadFile, fmt::format("{}: {}[{}] \"{}\": {}", file.name(), kMerges, i,
                                                   to_valid_utf8(merge.substr(0, 128)), what));
    };
    const std::size_t space = merge.find(' ');
    if (space == 0 || space == std::string_view::npos || space + 1 == merge.size())
      return bad("not two pieces with a space between them");
    const std::string_view left = merge.substr(0, space), right = merge.substr(space + 1);
    whole.assign(left).append(right);
    for (const std::string_view piece : {left, right, std::string_view(whole)})
      if (vocabulary.find(piece) == kNoToken && !others.contains(piece))
        return bad(fmt::format("\"{}\" is not in the vocabulary", to_valid_utf8(piece.substr(0, 128))));
    const TokenId ids[] = {vocabulary.find(left), vocabulary.find(right), vocabulary.find(whole)};
    if (ids[0] == kNoToken || ids[1] == kNoToken || ids[2] == kNoToken) continue;
    bpe.merges_.try_emplace(pair_key(ids[0], ids[1]), Merge{static_cast<std::uint32_t>(i), ids[2]});
  }

  std::string character;
  for (unsigned b = 0; b < 256; ++b) {
    character.clear();
    append_utf8(character, byte_to_character(static_cast<std::uint8_t>(b)));
    bpe.initial_[b] = vocabulary.find(character);
  }
  if (vocabulary.unknown != kNoToken && vocabulary.types[vocabulary.unknown] != TokenType::kControl)
    bpe.unknown_ = vocabulary.unknown;
  return bpe;
}

const ByteLevelBpe::Merge* ByteLevelBpe::find_merge(TokenId left, TokenId right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

Status ByteLevelBpe::encode(std::string_view text, const Vocabulary& vocabulary,
                            std::vector<TokenId>& out) const {
  WF_TRY(const std::vector<std::string_view> words, pretokenizer_.split(text));
  for (const std::string_view word : words) encode_word(word, vocabulary, out);
  return {};
}

void ByteLevelBpe::encode_word(std::string_view word, const Vocabulary& vocabulary,
                               std::vector<TokenId>& out) const {
  if (pretokenizer_.ignore_merges()) {
    std::string characters;
    for (const char c : word) append_utf8(characters, byte_to_character(static_cast<std::uint8_t>(c)));
    if (const TokenId id = vocabulary.find(characters); id != kNoToken) {
      out.push_back(id);
      return;
    }
  }
  std::vector<Symbol> symbols;
  append_initial(word, symbols);
  if (symbols.empty()) return;
  merge_all(symbols);
  for (std::int32_t i = 0; i >= 0; i = symbols[static_cast<std::size_t>(i)].next)
    out.push_back(symbols[static_cast<std::size_t>(i)].id);
}

void ByteLevelBpe::append_initial(std::string_view word, std::vector<Symbol>& symbols) const {
  symbols.reserve(word.size());
  const auto append = [&](TokenId id) {
    const auto index = static_cast<std::int32_t>(symbols.size());
    if (index > 0) symbols.back().next = index;
    symbols.push_back({id, index - 1, -1});
  };
  for (std::size_t at = 0; at < word.size();) {
    const std::string_view character = word.substr(at, next_utf8(word, at).length);
    at += character.size();
    bool complete = true;  // all bytes of a character or none: half a character decodes to rubbish
    for (const char c : character) complete = complete && initial_[static_cast<std::uint8_t>(c)] != kNoToken;
    if (complete) {
      for (const char c : character) append(initial_[static_cast<std::uint8_t>(c)]);
    } else if (unknown_ != kNoToken) {
      append(unknown_);
    }
  }
}

void ByteLevelBpe::merge_all(std::vector<Symbol>& symbols) const {
  // Lowest rank first, then leftmost.
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  };
  std::priority_queue<Candidate, std::vector<Candidate>, decltype(later)> queue(later);
  const auto at = [&](std::int32_t i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };
  const auto consider = [&](std::int32_t left) {
    if (left < 0 || at(left).next < 0) return;
    const TokenId left_id = at(left).id, right_id = at(at(left).next).id;
    if (const Merge* merge = find_merge(left_id, right_id))
      queue.push({merge->rank, left, left_id, right_id, merge->result});
  };
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(symbols.size()); ++i) consider(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = at(best.left);
    // Merged symbols get the id kNoToken, so a candidate that names one no longer applies.
    if (left.id != best.left_id || left.next < 0 || at(left.next).id != best.right_id) continue;
    Symbol& right = at(left.next);
    left.id = best.result;
    left.next = right.next;
    right.id = kNoToken;
    if (left.next >= 0) at(left.next).previous = best.left;
    consider(left.previous);
    consider(best.left);
  }
}

}  // namespace warpfold::text
