// Unigram: the tokenizer of T5 and other SentencePiece models, from a tokenizer.json.
//
// The text is normalised (NFKC, control characters go, white space becomes single spaces where the file asks
// for it), spaces are written as U+2581, and of all ways to cut it into pieces the one with the largest sum
// of log probabilities is taken (Viterbi's algorithm). Characters without a piece become the unknown token, a
// run of them one. (Kudo 2018)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/text/tokenizer.h"

namespace warpfold::text {

class Unigram {
 public:
  Unigram(Unigram&&) = default;
  Unigram& operator=(Unigram&&) = default;

  // path: a tokenizer.json. Errors: kIo, kBadFile with the field, kUnsupported for another kind of tokenizer
  // by name.
  static Result<Unigram> open(const std::string& path);
  // `name` stands for the file in messages.
  static Result<Unigram> parse(std::string_view json, const std::string& name);

  // The pieces, then the end token where the file adds one. Text never becomes a control token.
  std::vector<TokenId> encode(std::string_view text) const;
  // Without control tokens; U+2581 becomes a space, and the one in front goes where encoding puts one there.
  std::string decode(std::span<const TokenId> ids) const;

  std::int64_t vocab_size() const { return static_cast<std::int64_t>(pieces_.size()); }
  std::string_view token_text(TokenId id) const;  // as in the vocabulary; empty outside of it

 private:
  struct Piece {
    std::string text;
    double score;
    bool control;
  };
  Unigram() = default;
  void append_pieces(std::string_view text, std::vector<TokenId>& out) const;

  std::vector<Piece> pieces_;                          // (vocab)
  std::unordered_map<std::string_view, TokenId> ids_;  // of those that text can become; views of pieces_
  std::size_t longest_ = 0;                            // bytes of a piece
  double unknown_score_ = 0;
  TokenId unknown_ = kNoToken;
  std::vector<TokenId> suffix_;                              // after each text
  bool normalise_ = false, split_ = false, prefix_ = false;  // NFKC; at white space; a space before each word
};

}  // namespace warpfold::text
