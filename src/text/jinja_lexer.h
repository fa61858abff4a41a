// Cuts a chat template into text and tags, and tags into tokens, with Jinja's whitespace rules as model
// repositories use them: trim_blocks and lstrip_blocks on, one line end at the end of the template dropped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warpfold/core/error.h"

namespace warpfold::text::jinja {

enum class TokenKind {
  kText,        // outside of tags
  kPrintBegin,  // {{
  kPrintEnd,
  kBlockBegin,  // {%
  kBlockEnd,
  kName,
  kString,  // its value
  kInteger,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind;
  std::string text;  // of text, names, strings (decoded), operators
  std::int64_t number = 0;
  int line = 1;
};

// The last token is kEnd. Errors: kBadFile, kUnsupported, with the line.
Result<std::vector<Token>> tokenize(std::string_view source);

// Python's str.isspace() for one character: what strip() and Jinja's `-` remove.
bool is_space(char32_t character);
std::string_view strip_left(std::string_view text);
std::string_view strip_right(std::string_view text);

}  // namespace warpfold::text::jinja
