// Swizzles: Sw<B,M,S>(x) = x ^ ((x & mask) >> S) with mask = (2^B - 1) << (M + S); for S < 0 the bits move up. The B
// bits above are added, without carry, to the B bits from M on: a permutation of offsets, linear over GF(2), and its
// own inverse when |S| >= B. The unit of x (byte or element) is part of the meaning: seen in elements of 2^k bytes
// the base M is k lower. Sw<3,4,3> on bytes = Sw<3,3,3> on 16-bit = Sw<3,2,3> on 32-bit elements.
//
// A composed layout is x -> Sw(offset + L(x)).
#pragma once

#include "warpfold/layout/parse.h"

namespace warpfold::layout {

struct Swizzle {
  int bits = 0;   // B
  int base = 0;   // M
  int shift = 0;  // S

  WF_HD constexpr int64_t operator()(int64_t x) const {
    const int64_t field = (int64_t{1} << bits) - 1;
    if (shift >= 0) return x ^ (x & (field << (base + shift))) >> shift;
    return x ^ (x & (field << base)) << -shift;
  }
  constexpr bool operator==(const Swizzle&) const = default;
};

WF_HD constexpr Verdict<Swizzle> make_swizzle(int64_t bits, int64_t base, int64_t shift) {
  const bool in_range = bits >= 0 && bits <= 62 && base >= 0 && base <= 62 && shift >= -62 && shift <= 62;
  const int64_t distance = in_range && shift < 0 ? -shift : shift;
  if (!in_range || distance < bits || bits + base + distance > 62)
    return refuse<Swizzle>(because(Reason::swizzle_range, bits, base, shift));
  return accept(Swizzle{static_cast<int>(bits), static_cast<int>(base), static_cast<int>(shift)});
}

// The same permutation of memory for offsets in units of `to` bits instead of `from` bits.
WF_HD constexpr Verdict<Swizzle> recast(const Swizzle& s, int64_t from, int64_t to) {
  const int64_t wide = from < to ? to : from, narrow = from < to ? from : to;
  int steps = 0;
  if (narrow < 1 || wide % narrow != 0) return refuse<Swizzle>(because(Reason::swizzle_ratio, from, to));
  for (int64_t ratio = wide / narrow; ratio > 1; ratio /= 2, ++steps)
    if (ratio % 2 != 0) return refuse<Swizzle>(because(Reason::swizzle_ratio, from, to));
  const int base = from < to ? s.base - steps : s.base + steps;
  if (s.bits == 0) return accept(Swizzle{0, base < 0 ? 0 : base, s.shift});
  if (base < 0) return refuse<Swizzle>(because(Reason::swizzle_base, s.bits, s.base, s.shift, base));
  return make_swizzle(s.bits, base, s.shift);
}

struct ComposedLayout {
  Swizzle swizzle;
  int64_t offset = 0;
  Layout layout;

  WF_HD constexpr int64_t size() const { return layout.size(); }
  WF_HD constexpr int64_t operator()(int64_t x) const { return swizzle(offset + layout(x)); }
  WF_HD constexpr int64_t operator()(const IntTuple& c) const { return swizzle(offset + layout(c)); }
  template <class... Numbers>
  requires(sizeof...(Numbers) >= 1) WF_HD constexpr int64_t operator()(int64_t first, Numbers... rest) const {
    return (*this)(ints(first, rest...));
  }
  constexpr bool operator==(const ComposedLayout&) const = default;
};

constexpr Text to_text(const Swizzle& s) {
  Text t;
  return t << "Sw<" << s.bits << ',' << s.base << ',' << s.shift << '>';
}

constexpr Text to_text(const ComposedLayout& c) {
  Text t;
  if (c.swizzle.bits != 0 || c.offset != 0) {
    t << to_text(c.swizzle).view() << " o ";
    if (c.offset != 0) t << c.offset << " o ";
  }
  return t << c.layout;
}

// Reads Sw<3,4,3> at the cursor.
constexpr bool read_swizzle(Cursor& cursor, Swizzle& swizzle) {
  int64_t b = 0, m = 0, s = 0;
  if (!cursor.take("Sw") || !cursor.take('<')) return cursor.want(Expected::swizzle);
  if (!cursor.number(b, Expected::number) || (!cursor.take(',') && !cursor.want(Expected::swizzle)))
    return false;
  if (!cursor.number(m, Expected::number) || (!cursor.take(',') && !cursor.want(Expected::swizzle)))
    return false;
  if (!cursor.number(s, Expected::number) || (!cursor.take('>') && !cursor.want(Expected::swizzle)))
    return false;
  const Verdict<Swizzle> v = make_swizzle(b, m, s);
  cursor.why = v.why;
  swizzle = v.value;
  return v.ok();
}

constexpr Verdict<Swizzle> parse_swizzle(std::string_view text) {
  Cursor cursor{text};
  Swizzle s;
  if (!read_swizzle(cursor, s) || !cursor.at_end()) return refuse<Swizzle>(cursor.why);
  return accept(s);
}

// A layout, with or without a swizzle in front: Sw<3,3,3> o (8,64):(64,1), Sw<3,3,3>(8,64):(64,1),
// Sw<3,3,3> o 0 o (8,64):(64,1).
constexpr Verdict<ComposedLayout> parse_composed(std::string_view text) {
  Cursor cursor{text};
  ComposedLayout c;
  if (cursor.peek() == 'S') {
    if (!read_swizzle(cursor, c.swizzle)) return refuse<ComposedLayout>(cursor.why);
    cursor.take('o');
    Cursor ahead = cursor;
    int64_t offset = 0;
    if (ahead.number(offset, Expected::number) && ahead.take('o')) {
      c.offset = offset;
      cursor = ahead;
    }
  }
  if (!cursor.layout(c.layout) || !cursor.at_end()) return refuse<ComposedLayout>(cursor.why);
  int64_t low = 0, high = 0;
  if (!checked_add(c.offset, c.layout.lowest(), low) || !checked_add(c.offset, c.layout.highest(), high))
    return refuse<ComposedLayout>(
        because(Reason::shift_overflow, c.offset, c.layout.lowest(), c.layout.highest()));
  return accept(c);
}

}  // namespace warpfold::layout
