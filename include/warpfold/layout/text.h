// Text in a fixed buffer: layouts, tuples and sentences are printed without allocation, so that a reason can be
// composed while the program compiles. (4,(2,3)):(3,(12,1)) prints as it is read.
#pragma once

#include <string_view>

#include "warpfold/layout/layout.h"

namespace warpfold::layout {

// At most `capacity` characters; `complete` turns false when something did not fit.
struct Text {
  static constexpr int capacity = 1600;  // a layout of 24 modes of 20 digits each fits

  char data[capacity] = {};
  int length = 0;
  bool complete = true;

  constexpr std::string_view view() const { return {data, static_cast<std::size_t>(length)}; }
  constexpr operator std::string_view() const { return view(); }  // NOLINT

  constexpr Text& operator<<(char c) {
    if (length < capacity)
      data[length++] = c;
    else
      complete = false;
    return *this;
  }
  constexpr Text& operator<<(std::string_view s) {
    for (const char c : s) *this << c;
    return *this;
  }
  constexpr Text& operator<<(const char* s) { return *this << std::string_view(s); }
  constexpr Text& operator<<(int64_t number) {
    char digits[20] = {};
    int count = 0;
    uint64_t rest = number < 0 ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
    do {
      digits[count++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (number < 0) *this << '-';
    while (count > 0) *this << digits[--count];
    return *this;
  }
  constexpr Text& operator<<(int number) { return *this << static_cast<int64_t>(number); }
  constexpr Text& operator<<(const IntTuple& t) { return nested(t.profile, t.value); }
  constexpr Text& operator<<(const Layout& l) {
    nested(l.profile, l.shape) << ':';
    return nested(l.profile, l.stride);
  }

 private:
  constexpr Text& nested(const Profile& p, const int64_t* numbers) {
    if (p.leaves == 0) return *this << "()";
    for (int i = 0; i < p.leaves; ++i) {
      if (i > 0) *this << ',';
      for (int k = 0; k < p.open[i]; ++k) *this << '(';
      *this << numbers[i];
      for (int k = 0; k < p.close[i]; ++k) *this << ')';
    }
    return *this;
  }
};

template <class T>
constexpr Text to_text(const T& value) {
  Text text;
  text << value;
  return text;
}

}  // namespace warpfold::layout
