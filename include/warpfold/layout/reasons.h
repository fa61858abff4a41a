// Why an operation on layouts has no result: the codes, the numbers that go with each, and the sentences.
#pragma once

#include "warpfold/layout/text.h"

namespace warpfold::layout {

enum class Reason : uint8_t {
  none,
  // Text. n = column (from 1), Expected
  syntax,
  number_overflow,   // n = column
  profile_mismatch,  // n = column of the stride
  // Values. n as in the sentence
  bad_size,
  size_overflow,
  offset_overflow,
  cosize_overflow,
  too_many_modes,
};

// What the parser wanted at the column of a syntax error.
enum class Expected : uint8_t { number, close_or_comma, end, size, stride, swizzle, tiler, not_empty };

// How good an accepted answer is.
enum class Grade : uint8_t {
  exact,
  padded,  // covers more than was asked: the caller predicates
};

struct Why {
  Reason reason = Reason::none;
  int64_t n[8] = {};
  IntTuple witness;  // a coordinate at which the answer would be wrong

  constexpr bool operator==(const Why&) const = default;
};

constexpr std::string_view words(Expected expected) {
  switch (expected) {
    case Expected::number: return "a number or '('";
    case Expected::close_or_comma: return "',' or ')'";
    case Expected::end: return "the end";
    case Expected::size: return "a size of at least 1";
    case Expected::stride: return "a stride";
    case Expected::swizzle: return "a swizzle such as Sw<3,4,3>";
    case Expected::tiler: return "a tiler such as <4:1,8:2>";
    case Expected::not_empty: return "a number (an empty tuple inside another is no shape)";
  }
  return "";
}

// The reason in one sentence with its numbers; empty for Reason::none.
constexpr Text sentence(const Why& why) {
  Text t;
  const int64_t* n = why.n;
  switch (why.reason) {
    case Reason::none: break;
    case Reason::syntax: t << "column " << n[0] << ": expected " << words(static_cast<Expected>(n[1])); break;
    case Reason::number_overflow: t << "column " << n[0] << ": overflow: the number does not fit 64 bits"; break;
    case Reason::profile_mismatch: t << "column " << n[0] << ": the stride is not nested like the shape"; break;
    case Reason::bad_size: t << "mode " << n[0] << " has size " << n[1] << "; a size is at least 1"; break;
    case Reason::size_overflow:
      t << "overflow: the size " << n[1] << " * " << n[2] << " at mode " << n[0] << " does not fit 64 bits";
      break;
    case Reason::offset_overflow:
      t << "overflow: the offset (" << n[1] << " - 1) * " << n[2] << " of mode " << n[0] << " does not fit 64 bits";
      break;
    case Reason::cosize_overflow:
      t << "overflow: offsets from " << n[0] << " to " << n[1] << " span more than 64 bits";
      break;
    case Reason::too_many_modes: t << "the result needs more than " << n[0] << " modes"; break;
  }
  return t;
}

}  // namespace warpfold::layout
