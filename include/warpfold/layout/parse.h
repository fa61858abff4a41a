// Reads the field's notation: 4:1, (4,(2,3)):(3,(12,1)), and a bare shape (4,8) as its column-major layout.
// A refusal names the column where the text stops being a layout. Works while the program compiles:
//   using namespace warpfold::layout::literals;   constexpr Layout l = "(4,(2,3)):(3,(12,1))"_layout;
#pragma once

#include "warpfold/layout/verdict.h"

namespace warpfold::layout {

// A position in a text. Each reader returns false and leaves `why` set when the text is not what it reads.
struct Cursor {
  std::string_view text;
  int at = 0;
  Why why = {};

  constexpr void skip_space() {
    while (at < static_cast<int>(text.size()) && (text[at] == ' ' || text[at] == '\t')) ++at;
  }
  // The next character that is not a space; 0 at the end, and for a NUL, which no reader takes.
  constexpr char peek() {
    skip_space();
    return at < static_cast<int>(text.size()) ? text[at] : '\0';
  }
  constexpr bool take(char c) {
    if (peek() != c) return false;
    ++at;
    return true;
  }
  constexpr bool take(std::string_view word) {
    skip_space();
    if (text.substr(at, word.size()) != word) return false;
    at += static_cast<int>(word.size());
    return true;
  }
  constexpr bool fail(Reason reason, int column, Expected expected = Expected::number) {
    why = because(reason, column + 1, static_cast<int64_t>(expected));
    return false;
  }
  constexpr bool want(Expected expected) {
    skip_space();
    return fail(Reason::syntax, at, expected);
  }
  constexpr bool at_end() {
    skip_space();
    return at == static_cast<int>(text.size()) || want(Expected::end);
  }

  constexpr bool number(int64_t& value, Expected expected) {
    skip_space();
    const int begin = at;
    const bool negative = take('-');
    const auto is_digit = [this] {
      return at < static_cast<int>(text.size()) && text[at] >= '0' && text[at] <= '9';
    };
    if (!is_digit()) {
      at = begin;
      return want(expected);
    }
    value = 0;
    for (; is_digit(); ++at) {
      const int64_t digit = text[at] - '0';
      if (!checked_mul(value, 10, value) || !checked_add(value, negative ? -digit : digit, value))
        return fail(Reason::number_overflow, begin);
    }
    return true;
  }

  // A number or a nested tuple of numbers, each at least `lowest`.
  constexpr bool tuple(IntTuple& result, int64_t lowest, Expected expected) {
    ProfileBuilder nesting;
    result = {};
    int depth = 0;
    do {
      while (take('(')) {
        nesting.begin();
        ++depth;
      }
      if (peek() == ')' && depth == 1 && nesting.profile.leaves == 0) {  // ()
        take(')');
        return true;
      }
      if (peek() == ')' && depth > 0 && text[at - 1] == '(') return want(Expected::not_empty);
      skip_space();
      const int begin = at;
      int64_t value = 0;
      if (!number(value, depth == 0 ? expected : Expected::number)) return false;
      if (value < lowest) return fail(Reason::syntax, begin, expected);
      const int leaf = nesting.profile.leaves;
      nesting.leaf();
      if (!nesting.fits) {
        why = because(Reason::too_many_modes, max_leaves);
        return false;
      }
      result.value[leaf] = value;
      while (depth > 0) {
        const bool comma = take(',');
        if (!take(')')) {
          if (!comma) return want(Expected::close_or_comma);
          break;
        }
        nesting.end();
        --depth;
      }
    } while (depth > 0);
    result.profile = nesting.profile;
    return true;
  }

  // shape:stride, or a shape alone.
  constexpr bool layout(Layout& result) {
    IntTuple shape, stride;
    if (!tuple(shape, 1, Expected::size)) return false;
    const bool strided = take(':');
    if (strided) {
      skip_space();
      const int column = at;
      if (!tuple(stride, int64_lowest, Expected::stride)) return false;
      if (stride.profile != shape.profile) return fail(Reason::profile_mismatch, column);
    }
    const Verdict<Layout> v = strided ? make_layout(shape, stride) : column_major(shape);
    why = v.why;
    result = v.value;
    return v.ok();
  }
};

constexpr Verdict<Layout> parse_layout(std::string_view text) {
  Cursor cursor{text};
  Layout l;
  if (!cursor.layout(l) || !cursor.at_end()) return refuse<Layout>(cursor.why);
  return accept(l);
}

// A shape, stride or coordinate.
constexpr Verdict<IntTuple> parse_tuple(std::string_view text) {
  Cursor cursor{text};
  IntTuple t;
  if (!cursor.tuple(t, int64_lowest, Expected::number) || !cursor.at_end())
    return refuse<IntTuple>(cursor.why);
  return accept(t);
}

inline namespace literals {
consteval Layout operator""_layout(const char* text, std::size_t length) {
  return require(parse_layout({text, length}));
}
consteval IntTuple operator""_tuple(const char* text, std::size_t length) {
  return require(parse_tuple({text, length}));
}
}  // namespace literals

}  // namespace warpfold::layout
