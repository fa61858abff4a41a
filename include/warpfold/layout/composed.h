// Composed layouts x -> Sw(o + L(x)): the operations that act on L alone, and those that need the swizzle as a matrix.
//
// Whatever changes only the order in which indices are walked acts on L: composition on the right, division, slicing,
// coalescing. A complement or a product would have to know which offsets Sw(o + L) leaves free, and composition on the
// left would need Sw as a layout; neither is offered.
//
// Equality: the same swizzle and offset before equal layouts are equal. Otherwise, where both are linear over GF(2)
// (power-of-two layouts whose bits do not carry, o = 0), their matrices decide: the first difference is the index 2^i
// of the first column that differs. Otherwise the values are compared, if there are at most `work`.
//
// Inverse: a bijection f = Sw o L of [0, 2^n) has the matrix W * A, the inverse A^-1 * W^-1 = (A^-1 * W^-1 * A) * A^-1.
// It is a composed layout again when the factor in front is one Sw.
#pragma once

#include "warpfold/layout/divide.h"
#include "warpfold/layout/gf2.h"
#include "warpfold/layout/inverse.h"
#include "warpfold/layout/permutation.h"
#include "warpfold/layout/slice.h"

namespace warpfold::layout {

namespace detail {

// c with another layout inside, or the reason why there is none.
WF_HD constexpr Verdict<ComposedLayout> with_layout(const ComposedLayout& c, const Verdict<Layout>& inside) {
  if (!inside.ok()) return refuse<ComposedLayout>(inside.why);
  return accept(ComposedLayout{c.swizzle, c.offset, inside.value}, inside.grade);
}

}  // namespace detail

WF_HD constexpr ComposedLayout coalesce(const ComposedLayout& c) {
  return {c.swizzle, c.offset, coalesce(c.layout)};
}

WF_HD constexpr Verdict<ComposedLayout> compose(const ComposedLayout& c, const Layout& b) {
  return detail::with_layout(c, compose(c.layout, b));
}

WF_HD constexpr Verdict<ComposedLayout> compose_modes(const ComposedLayout& c, const Layout& tiler) {
  return detail::with_layout(c, compose_modes(c.layout, tiler));
}

WF_HD constexpr Verdict<ComposedLayout> divide(const ComposedLayout& c, const Layout& b,
                                               Form form = Form::logical) {
  return detail::with_layout(c, divide(c.layout, b, form));
}

WF_HD constexpr Verdict<ComposedLayout> divide_modes(const ComposedLayout& c, const Layout& tiler,
                                                     Form form = Form::logical) {
  return detail::with_layout(c, divide_modes(c.layout, tiler, form));
}

// The fixed modes go into the offset, before the swizzle.
WF_HD constexpr Verdict<ComposedLayout> slice(const ComposedLayout& c, const IntTuple& at) {
  const Verdict<Slice> s = slice(c.layout, at);
  if (!s.ok()) return refuse<ComposedLayout>(s.why);
  ComposedLayout out{c.swizzle, 0, s->layout};
  if (!checked_add(c.offset, s->offset, out.offset))
    return refuse<ComposedLayout>(because(Reason::shift_overflow, c.offset, s->offset, s->offset));
  return accept(out);
}

// The matrix of a composed layout that starts at 0.
WF_HD constexpr Verdict<Gf2Matrix> to_gf2(const ComposedLayout& c) {
  const Verdict<Gf2Matrix> inside = to_gf2(c.layout);
  if (!inside.ok()) return inside;
  if (c.offset != 0) return refuse<Gf2Matrix>(because(Reason::not_linear_offset, c.offset));
  return multiply(to_gf2(c.swizzle, inside->rows), inside.value);
}

// The first index of both at which they differ; -1 when there is none.
WF_HD constexpr Verdict<int64_t> first_difference(const ComposedLayout& a, const ComposedLayout& b,
                                                  int64_t work = default_work) {
  if (equal(a.swizzle, b.swizzle) && a.offset == b.offset)
    return accept(first_difference(a.layout, b.layout));
  const Verdict<Gf2Matrix> x = to_gf2(a), y = to_gf2(b);
  if (x.ok() && y.ok()) {
    int i = 0;
    while (i < x->columns && i < y->columns && x->column[i] == y->column[i]) ++i;
    return accept(i < x->columns && i < y->columns ? int64_t{1} << i : int64_t{-1});
  }
  const int64_t size = a.size() < b.size() ? a.size() : b.size();
  for (int64_t i = 0; i < size && i < work; ++i)
    if (a(i) != b(i)) return accept(i);
  return size > work ? refuse<int64_t>(because(Reason::undecided, work)) : accept(int64_t{-1});
}

// The inverse of a bijection of [0, 2^n).
WF_HD constexpr Verdict<ComposedLayout> inverse(const ComposedLayout& c) {
  const Verdict<Gf2Matrix> inside = to_gf2(c.layout);
  if (!inside.ok()) return refuse<ComposedLayout>(inside.why);
  if (c.offset != 0) return refuse<ComposedLayout>(because(Reason::not_linear_offset, c.offset));
  const Gf2Matrix swizzle = to_gf2(c.swizzle, inside->rows);
  if (!is_permutation(c.layout) || swizzle.rows != inside->rows)
    return refuse<ComposedLayout>(because(Reason::not_a_bijection, c.layout.size()));
  const Verdict<Gf2Matrix> back = inverse(inside.value);
  if (!back.ok()) return refuse<ComposedLayout>(back.why);
  const Gf2Matrix front = multiply(multiply(back.value, *inverse(swizzle)).value, inside.value).value;
  const Verdict<Swizzle> one = to_swizzle(front);
  if (!one.ok()) return refuse<ComposedLayout>(one.why);
  return accept(ComposedLayout{one.value, 0, right_inverse(c.layout)});
}

}  // namespace warpfold::layout
