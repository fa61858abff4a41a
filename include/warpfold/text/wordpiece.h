// WordPiece: the tokenizer of BERT and MiniLM, from a tokenizer.json.
//
// The text is cleaned (control characters go, white space becomes a space, Chinese characters stand alone),
// stripped of accents and lowered where the file says so; white space and punctuation cut it into words; a
// word is cut from the left into the longest pieces of the vocabulary, those after the first with "##" in
// front, or becomes the unknown token as a whole. (Wu et al. 2016; Devlin et al. 2018)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/text/tokenizer.h"

namespace warpfold::text {

class WordPiece {
 public:
  // path: a tokenizer.json. Errors: kIo, kBadFile with the field, kUnsupported for another kind of tokenizer
  // by name.
  static Result<WordPiece> open(const std::string& path);
  // `name` stands for the file in messages.
  static Result<WordPiece> parse(std::string_view json, const std::string& name);

  // [CLS] pieces [SEP], at most max_tokens of them (>= 2): the pieces are cut at the right. Text never
  // becomes a control token.
  std::vector<TokenId> encode(std::string_view text, std::int64_t max_tokens) const;

  std::int64_t vocab_size() const { return static_cast<std::int64_t>(texts_.size()); }
  std::string_view token_text(TokenId id) const;  // as in the vocabulary, "##ing"; empty outside of it

 private:
  WordPiece() = default;
  void append_word(std::string_view word, std::vector<TokenId>& out) const;

  std::unordered_map<std::string, TokenId> ids_;
  std::vector<std::string> texts_;  // (vocab)
  std::string prefix_ = "##";
  std::int64_t longest_word_ = 100;  // characters; longer words are unknown
  TokenId unknown_ = kNoToken, begin_ = kNoToken, end_ = kNoToken;
  bool clean_ = true, chinese_ = true, strip_accents_ = true, lower_ = true;
};

}  // namespace warpfold::text
