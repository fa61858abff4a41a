// Layouts and swizzles as matrices over GF(2): index bits in, offset bits out.
//
// A layout of power-of-two shape is linear over GF(2) iff the numbers stride*2^b, over all modes and all bits b of
// their coordinates, have pairwise disjoint binary supports: only then does their sum never carry, so that + is xor.
// Matrices compose where swizzles of different shift do not: every product exists, and every bijection inverts.
#pragma once

#include "warpfold/layout/swizzle.h"

namespace warpfold::layout {

struct Gf2Matrix {
  int rows = 0;     // bits of the result
  int columns = 0;  // bits of the argument
  uint64_t column[64] = {};

  WF_HD constexpr uint64_t operator()(uint64_t x) const {
    uint64_t y = 0;
    for (int i = 0; i < columns; ++i)
      if (x >> i & 1) y ^= column[i];
    return y;
  }
  constexpr bool operator==(const Gf2Matrix&) const = default;
};

namespace detail {

WF_HD constexpr int bit_width(uint64_t x) {
  int width = 0;
  for (; x != 0; x >>= 1) ++width;
  return width;
}

}  // namespace detail

// The matrix of l, or the two strides that collide.
WF_HD constexpr Verdict<Gf2Matrix> to_gf2(const Layout& l) {
  Gf2Matrix m;
  uint64_t support[64] = {};
  int mode[64] = {};
  for (int i = 0; i < l.leaves(); ++i) {
    const int64_t size = l.shape[i], stride = l.stride[i];
    if ((size & (size - 1)) != 0) return refuse<Gf2Matrix>(because(Reason::not_linear_size, i, size));
    if (size > 1 && stride < 0) return refuse<Gf2Matrix>(because(Reason::recast_negative, i, stride));
    for (int64_t bit = 1; bit < size; bit *= 2) {
      const uint64_t value = static_cast<uint64_t>(stride * bit);
      for (int k = 0; k < m.columns; ++k)
        if ((support[k] & value) != 0)
          return refuse<Gf2Matrix>(
              because(Reason::not_linear, mode[k], i, static_cast<int64_t>(support[k]), static_cast<int64_t>(value)));
      support[m.columns] = value;
      mode[m.columns] = i;
      m.column[m.columns++] = value;
      const int width = detail::bit_width(value);
      if (width > m.rows) m.rows = width;
    }
  }
  return accept(m);
}

// The matrix of a swizzle on `size` bits; at least the bits it touches.
WF_HD constexpr Gf2Matrix to_gf2(const Swizzle& s, int size) {
  const int least = s.bits == 0 ? 0 : s.bits + s.base + (s.shift < 0 ? -s.shift : s.shift);
  Gf2Matrix m;
  m.rows = m.columns = size < least ? least : size;
  for (int i = 0; i < m.columns; ++i) m.column[i] = static_cast<uint64_t>(s(int64_t{1} << i));
  return m;
}

// a after b.
WF_HD constexpr Verdict<Gf2Matrix> multiply(const Gf2Matrix& a, const Gf2Matrix& b) {
  if (b.rows > a.columns) return refuse<Gf2Matrix>(because(Reason::gf2_shape, b.rows, a.columns));
  Gf2Matrix m;
  m.rows = a.rows;
  m.columns = b.columns;
  for (int i = 0; i < b.columns; ++i) m.column[i] = a(b.column[i]);
  return accept(m);
}

// By elimination on columns; `identity` follows each step.
WF_HD constexpr Verdict<Gf2Matrix> inverse(Gf2Matrix m) {
  Gf2Matrix identity = to_gf2(Swizzle{}, m.columns);
  int rank = 0;
  for (int row = 0; row < m.rows; ++row) {
    int pivot = rank;
    while (pivot < m.columns && (m.column[pivot] >> row & 1) == 0) ++pivot;
    if (pivot == m.columns) continue;
    for (uint64_t* column : {m.column, identity.column}) {
      const uint64_t swap = column[pivot];
      column[pivot] = column[rank];
      column[rank] = swap;
    }
    for (int i = 0; i < m.columns; ++i) {
      if (i == rank || (m.column[i] >> row & 1) == 0) continue;
      m.column[i] ^= m.column[rank];
      identity.column[i] ^= identity.column[rank];
    }
    ++rank;
  }
  if (rank != m.columns || rank != m.rows) return refuse<Gf2Matrix>(because(Reason::gf2_singular, rank, m.rows));
  return accept(identity);
}

// The single swizzle with this matrix, if there is one.
WF_HD constexpr Verdict<Swizzle> to_swizzle(const Gf2Matrix& m) {
  Swizzle found;
  if (m.rows != m.columns) return refuse<Swizzle>(because(Reason::not_one_swizzle));
  for (int i = 0; i < m.columns; ++i) {
    const uint64_t moved = m.column[i] ^ uint64_t{1} << i;
    if (moved == 0) continue;
    const int to = detail::bit_width(moved) - 1;
    if (found.bits++ == 0) {
      found.shift = i - to;
      found.base = found.shift >= 0 ? to : i;
    }
  }
  const int distance = found.shift < 0 ? -found.shift : found.shift;
  if (distance < found.bits || to_gf2(found, m.columns) != m) return refuse<Swizzle>(because(Reason::not_one_swizzle));
  return accept(found);
}

// b first, then a, as one swizzle where there is one. As a matrix the composition always exists (multiply).
WF_HD constexpr Verdict<Swizzle> compose(const Swizzle& a, const Swizzle& b) {
  const Gf2Matrix wide_a = to_gf2(a, to_gf2(b, 0).columns), wide_b = to_gf2(b, wide_a.columns);
  const Verdict<Gf2Matrix> m = multiply(wide_a, wide_b);
  return m.ok() ? to_swizzle(m.value) : refuse<Swizzle>(m.why);
}

// Do two swizzles move every offset alike?
WF_HD constexpr bool equal(const Swizzle& a, const Swizzle& b) {
  const int size = to_gf2(a, 0).columns > to_gf2(b, 0).columns ? to_gf2(a, 0).columns : to_gf2(b, 0).columns;
  return to_gf2(a, size) == to_gf2(b, size);
}

}  // namespace warpfold::layout
