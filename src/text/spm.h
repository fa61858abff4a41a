// SentencePiece-style merging ("llama" models): the characters of a text, spaces written as U+2581, are
// merged pair by pair, the pair whose joined text has the highest score first, the leftmost of equal ones
// first. A character that ends without a token becomes its bytes' <0xXX> tokens.
#pragma once

#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace warpfold::text {

// Appends the tokens of `text`, which must be valid UTF-8; with `space_prefix` a space is put before it.
// Errors: kInvalidArgument for a character without token, byte tokens and unknown token.
Status encode_sentence_piece(std::string_view text, bool space_prefix, const Vocabulary& vocabulary,
                             std::vector<TokenId>& out);

// The text of a piece: U+2581 becomes a space.
std::string sentence_piece_text(std::string_view piece);

}  // namespace warpfold::text
