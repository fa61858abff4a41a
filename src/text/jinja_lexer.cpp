// The lexer of the template language.
#include "text/jinja_lexer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "text/utf8.h"

namespace warpfold::text::jinja {
namespace {

tl::unexpected<Error> error_at(int line, ErrorCode code, std::string_view what) {
  return fail(code, fmt::format("chat template, line {}: {}", line, what));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Longest first.
constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", "<=", ">=", "+", "-", "*",
                                           "/",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                           "<",  ">",  "=",  ".",  ":",  "|",  ",", ";"};

// \r\n and \r become \n; one line end at the end is dropped; ill-formed UTF-8 becomes U+FFFD.
std::string normalize(std::string_view source) {
  const std::string valid = to_valid_utf8(source);
  std::string out;
  out.reserve(valid.size());
  for (std::size_t i = 0; i < valid.size(); ++i) {
    if (valid[i] != '\r')
      out += valid[i];
    else if (i + 1 == valid.size() || valid[i + 1] != '\n')
      out += '\n';
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) {
      const std::size_t tag = find_tag();
      WF_CHECK(text(tag));
      if (at_ >= source_.size()) break;
      WF_CHECK(tag_at());
    }
    push(TokenKind::kEnd);
    return std::move(tokens_);
  }

 private:
  bool next_is(std::string_view what) const {
    return std::string_view(source_).substr(at_).starts_with(what);
  }
  void push(TokenKind kind, std::string text = {}, std::int64_t number = 0) {
    tokens_.push_back({kind, std::move(text), number, line_});
  }
  void advance(std::size_t count) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(at_ + count), '\n'));
    at_ += count;
  }

  std::size_t find_tag() const {
    for (std::size_t i = source_.find('{', at_); i != std::string::npos; i = source_.find('{', i + 1)) {
      const char next = i + 1 < source_.size() ? source_[i + 1] : ' ';
      if (next == '{' || next == '%' || next == '#') return i;
    }
    return source_.size();
  }

  // The text up to `end`, less what the tag there takes away on its left.
  Status text(std::size_t end) {
    std::string_view data = std::string_view(source_).substr(at_, end - at_);
    const bool tag = end < source_.size();
    const char sign = tag && end + 2 < source_.size() ? source_[end + 2] : ' ';
    if (tag && sign == '-') {
      data = strip_right(data);
    } else if (tag && sign != '+' && source_[end + 1] != '{') {
      // lstrip_blocks: a block or comment that is first on its line takes the blanks before it.
      const std::size_t newline = data.rfind('\n');
      const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
      const bool at_line_start = newline != std::string_view::npos || line_starting_;
      if (at_line_start && strip_left(data.substr(begin)).empty()) data = data.substr(0, begin);
    }
    if (!data.empty()) push(TokenKind::kText, std::string(data));
    advance(end - at_);
    return {};
  }

  Status tag_at() {
    const char type = source_[at_ + 1];
    advance(2);
    if (type == '#') return comment();
    if (next_is("-") || next_is("+")) advance(1);
    push(type == '{' ? TokenKind::kPrintBegin : TokenKind::kBlockBegin);
    const int begin_line = line_;
    std::vector<char> brackets;
    while (at_ < source_.size()) {
      const std::string_view rest = std::string_view(source_).substr(at_);
      const std::size_t blanks = rest.size() - strip_left(rest).size();
      if (blanks > 0) {
        advance(blanks);
        continue;
      }
      if (brackets.empty() && tag_end(type)) return {};
      WF_CHECK(token(brackets));
    }
    return error_at(begin_line, ErrorCode::kBadFile,
                    type == '{' ? "{{ is never closed" : "{% is never closed");
  }

  // At the tag's end: takes it, and the white space that goes with it.
  bool tag_end(char type) {
    const std::string_view close = type == '{' ? "}}" : "%}";
    const bool strips = next_is(std::string("-").append(close));
    const bool keeps = type == '%' && next_is("+%}");
    if (!strips && !keeps && !next_is(close)) return false;
    push(type == '{' ? TokenKind::kPrintEnd : TokenKind::kBlockEnd);
    advance(strips || keeps ? 3 : 2);
    after_tag(strips, !keeps && type == '%');
    return true;
  }

  // `trims`: a line end right after the tag belongs to it (trim_blocks).
  void after_tag(bool strips, bool trims) {
    const std::string_view rest = std::string_view(source_).substr(at_);
    std::size_t taken = 0;
    if (strips)
      taken = rest.size() - strip_left(rest).size();
    else if (trims && rest.starts_with('\n'))
      taken = 1;
    line_starting_ = taken > 0 && rest[taken - 1] == '\n';
    advance(taken);
  }

  Status comment() {
    if (next_is("-") || next_is("+")) advance(1);
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) return error_at(line_, ErrorCode::kBadFile, "{# is never closed");
    const char sign = end > at_ ? source_[end - 1] : ' ';
    advance(end + 2 - at_);
    after_tag(sign == '-', sign != '+');
    return {};
  }

  Status token(std::vector<char>& brackets) {
    const char c = source_[at_];
    if (is_name_start(c)) {
      std::size_t end = at_;
      while (end < source_.size() && (is_name_start(source_[end]) || is_digit(source_[end]))) ++end;
      if (tokens_.back().kind == TokenKind::kBlockBegin && source_.compare(at_, end - at_, "raw") == 0)
        return error_at(line_, ErrorCode::kUnsupported, "the statement 'raw' is not supported");
      push(TokenKind::kName, source_.substr(at_, end - at_));
      advance(end - at_);
      return {};
    }
    if (is_digit(c)) return integer();
    if (c == '"' || c == '\'') return string(c);
    for (const std::string_view op : kOperators) {
      if (!next_is(op)) continue;
      if (c == '(' || c == '[' || c == '{') brackets.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
      if (c == ')' || c == ']' || c == '}') {
        if (brackets.empty() || brackets.back() != c)
          return error_at(line_, ErrorCode::kBadFile, fmt::format("unexpected '{}'", c));
        brackets.pop_back();
      }
      push(TokenKind::kOperator, std::string(op));
      advance(op.size());
      return {};
    }
    const std::size_t length = next_utf8(source_, at_).length;
    return error_at(line_, ErrorCode::kBadFile,
                    fmt::format("unexpected character '{}'", source_.substr(at_, length)));
  }

  Status integer() {
    std::int64_t value = 0;
    std::size_t end = at_;
    for (; end < source_.size() && is_digit(source_[end]); ++end) {
      if (__builtin_mul_overflow(value, std::int64_t{10}, &value) ||
          __builtin_add_overflow(value, std::int64_t{source_[end] - '0'}, &value))
        return error_at(line_, ErrorCode::kUnsupported, "an integer above 2^63 - 1 is not supported");
    }
    const bool fraction = end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1]);
    if (fraction || (end < source_.size() && is_name_start(source_[end])))
      return error_at(line_, ErrorCode::kUnsupported,
                      "numbers other than decimal integers are not supported");
    push(TokenKind::kInteger, {}, value);
    advance(end - at_);
    return {};
  }

  Status string(char quote) {
    const int begin_line = line_;
    std::string value;
    std::size_t i = at_ + 1;
    while (i < source_.size() && source_[i] != quote) {
      if (source_[i] != '\\') {
        value += source_[i++];
        continue;
      }
      if (i + 1 >= source_.size()) break;
      WF_TRY(i, escape(i, value));
    }
    if (i >= source_.size()) return error_at(begin_line, ErrorCode::kBadFile, "a string is never closed");
    push(TokenKind::kString, std::move(value));
    advance(i + 1 - at_);
    return {};
  }

  // The escape at source_[i] == '\\'; returns the place after it.
  Result<std::size_t> escape(std::size_t i, std::string& value) const {
    const char c = source_[i + 1];
    constexpr std::string_view kNames = "abfnrtv\\'\"", kValues = "\a\b\f\n\r\t\v\\'\"";
    if (const std::size_t k = kNames.find(c); k != std::string_view::npos) {
      value += kValues[k];
      return i + 2;
    }
    if (c == '\n') return i + 2;
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {
      if (is_digit(c) || c == 'N')
        return error_at(line_, ErrorCode::kUnsupported, fmt::format("the escape \\{} is not supported", c));
      value += '\\';  // as Python: an unknown escape stands for itself
      return i + 1;
    }
    char32_t code_point = 0;
    for (std::size_t k = 0; k < digits; ++k) {
      const char d = i + 2 + k < source_.size() ? source_[i + 2 + k] : ' ';
      const char low = static_cast<char>(d | 0x20);
      if (!is_digit(d) && !(low >= 'a' && low <= 'f'))
        return error_at(line_, ErrorCode::kBadFile,
                        fmt::format("\\{} needs {} hexadecimal digits", c, digits));
      code_point = code_point << 4 | static_cast<char32_t>(is_digit(d) ? d - '0' : low - 'a' + 10);
    }
    if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF))
      return error_at(line_, ErrorCode::kBadFile, "an escape names no Unicode character");
    append_utf8(value, code_point);
    return i + 2 + digits;
  }

  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

std::string_view strip_left(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = next_utf8(text, 0);
    if (!is_space(step.code_point)) break;
    text.remove_prefix(step.length);
  }
  return text;
}

std::string_view strip_right(std::string_view text) {
  while (!text.empty()) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    if (!is_space(next_utf8(text, begin).code_point)) break;
    text.remove_suffix(text.size() - begin);
  }
  return text;
}

Result<std::vector<Token>> tokenize(std::string_view source) { return Lexer(normalize(source)).run(); }

}  // namespace warpfold::text::jinja
