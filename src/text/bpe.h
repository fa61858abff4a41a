// Byte-level byte-pair encoding ("gpt2" models): a word's bytes, each written as one printable character, are
// merged pair by pair, the pair with the lowest merge number first, the leftmost of equal ones first.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/pretokenizer.h"
#include "text/vocabulary.h"

namespace warpfold::text {

// The character that stands for a byte: printable Latin-1 bytes stand for themselves, the others for U+0100
// on.
char32_t byte_to_character(std::uint8_t byte);
std::optional<std::uint8_t> character_to_byte(char32_t character);

// The bytes of a token's text. A text with a character that stands for no byte (an added token such as "\n")
// is returned as it is.
std::string byte_level_bytes(std::string_view text);

class ByteLevelBpe {
 public:
  // Reads tokenizer.ggml.merges. Errors: kBadFile (a merge without a space, or of pieces that are no tokens,
  // with its number), kUnsupported (pre-tokeniser by name).
  static Result<ByteLevelBpe> make(const formats::Gguf& file, const Vocabulary& vocabulary);

  // Appends the tokens of `text`, which must be valid UTF-8. A character with a byte that has no token
  // becomes the unknown token where the vocabulary has one that text may use, and is left out otherwise.
  Status encode(std::string_view text, const Vocabulary& vocabulary, std::vector<TokenId>& out) const;

 private:
  struct Merge {
    std::uint32_t rank;
    TokenId result;
  };
  struct Symbol {
    TokenId id;
    std::int32_t previous, next;  // indices, -1 at the ends
  };
  struct Candidate {
    std::uint32_t rank;
    std::int32_t left;  // index of the pair's left symbol
    TokenId left_id, right_id;
    TokenId result;
  };
  explicit ByteLevelBpe(Pretokenizer pretokenizer) : pretokenizer_(std::move(pretokenizer)) {}
  const Merge* find_merge(TokenId left, TokenId right) const;
  void encode_word(std::string_view word, const Vocabulary& vocabulary, std::vector<TokenId>& out) const;
  void merge_all(std::vector<Symbol>& symbols) const;
  void append_initial(std::string_view word, std::vector<Symbol>& symbols) const;

  Pretokenizer pretokenizer_;
  std::array<TokenId, 256> initial_{};  // byte -> token of its character, or kNoToken
  TokenId unknown_ = kNoToken;
  std::unordered_map<std::uint64_t, Merge> merges_;  // left id << 32 | right id
};

}  // namespace warpfold::text
