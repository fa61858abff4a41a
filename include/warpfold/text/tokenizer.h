// Text <-> token ids, with the vocabulary of a GGUF file: byte-level BPE ("gpt2" model) and
// SentencePiece-style merges ("llama" model).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/formats/gguf.h"

namespace warpfold::text {

using TokenId = std::int32_t;
inline constexpr TokenId kNoToken = -1;

struct EncodeOptions {
  bool add_bos = true;         // where the model's vocabulary asks for one; never twice
  bool parse_special = false;  // recognise control tokens in the text; off for anything a user typed
  bool add_eos = false;        // where the model's vocabulary asks for one; never twice
};

// A stretch of a longer text. Stretches are encoded as one text, but control tokens are recognised only inside
// of what neighbouring stretches with `parse_special` hold.
struct TextPart {
  std::string_view text;
  bool parse_special;
};

class Tokenizer {
 public:
  // Errors: kBadFile (lengths or types that disagree, ids outside the vocabulary), kUnsupported (model or
  // pre-tokeniser by name).
  static Result<Tokenizer> from_gguf(const formats::Gguf& file);

  // Ill-formed UTF-8 is read as U+FFFD. User-defined tokens are recognised always, control tokens on request, the
  // longest one at each place; no other text turns into a control token. A character that a byte-level vocabulary
  // cannot spell becomes its unknown token if that is no control token, and is left out otherwise.
  // Errors: kInvalidArgument for a character that a SentencePiece-style vocabulary cannot spell in any way.
  Result<std::vector<TokenId>> encode(std::string_view text, EncodeOptions options = {}) const;
  Result<std::vector<TokenId>> encode(std::span<const TextPart> parts, EncodeOptions options) const;
  // Bytes of one token; control tokens give nothing unless `special`. The bytes may be part of a character.
  std::string piece(TokenId id, bool special = false) const;
  // The text of `ids`; invalid UTF-8 becomes U+FFFD. Where the vocabulary puts a space before each text (at the
  // beginning and after control tokens), that space is removed again.
  std::string decode(std::span<const TokenId> ids, bool special = false) const;

  std::int32_t vocab_size() const;
  TokenId bos() const;  // kNoToken when there is none
  TokenId eos() const;
  bool is_end_of_generation(TokenId id) const;  // eos, end of turn
  std::string_view token_text(TokenId id) const;  // as in the vocabulary, e.g. "Ġthe"; empty outside of it

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  struct Impl;

 private:
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Collects the bytes of a token stream and hands out whole UTF-8 characters.
class Utf8Stream {
 public:
  // Appends bytes; returns what is complete. An invalid sequence gives U+FFFD; an incomplete tail is held back.
  std::string push(std::string_view bytes);
  // The end of the stream: a held-back tail becomes U+FFFD.
  std::string finish();

 private:
  std::string held_;
};

}  // namespace warpfold::text
