// UTF-8, one step at a time, with Unicode's rule for broken input: every maximal prefix of a well-formed
// sequence that is not continued, and every other stray byte, counts as one error (Unicode 15, table 3-7 and
// "U+FFFD Substitution of Maximal Subparts").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace warpfold::text {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

struct Utf8Step {
  std::size_t length = 1;        // bytes of the character, or of the ill-formed part
  char32_t code_point = 0xFFFD;  // U+FFFD when ill-formed
  bool valid = false;
  bool cut = false;  // ill-formed only because the text ends here
};

// The step at text[at]; `at` must be inside the text.
Utf8Step next_utf8(std::string_view text, std::size_t at);

void append_utf8(std::string& out, char32_t code_point);

// The text with every ill-formed part replaced by U+FFFD.
std::string to_valid_utf8(std::string_view text);

}  // namespace warpfold::text
