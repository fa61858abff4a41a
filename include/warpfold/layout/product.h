// Product A (x) B: copies of A laid out in the order of B. A (x) B = (A, A* o B), with A* the complement of A in
// [0, |A|*cosize(B)): mode 0 is A itself, mode 1 runs through the copies. Copies at different places do not overlap;
// where B meets a place twice, so does the product.
//
// By mode this holds for each mode by itself, but the modes do not know of each other: the copies along one may lie
// on elements of another. Every product says so in its grade: `overlapping` when two elements that do not broadcast
// (indices that differ in a mode of stride other than 0) share an offset; `overlap` names two such indices.
//
// A* ignores A's stride-0 modes and is continued past its size, so A needs a divisor chain but no size condition.
#pragma once

#include "warpfold/layout/divide.h"

namespace warpfold::layout {

namespace detail {

WF_HD constexpr Verdict<Layout> logical_product(const Layout& a, const Layout& b) {
  int64_t room = 0;
  if (!checked_mul(a.size(), b.cosize(), room))
    return refuse<Layout>(because(Reason::size_overflow, 0, a.size(), b.cosize()));
  const Verdict<Layout> free = complement_padded(a, room);
  if (!free.ok()) return free;
  const Verdict<Layout> copies = compose(free.value, b);
  if (!copies.ok()) return copies;
  LayoutBuilder both;
  both.begin();
  both.append(a);
  both.append(copies.value);
  both.end();
  return checked(both);
}

// l with its modes of stride 0 cut to one element: the same offsets, without the broadcast.
WF_HD constexpr Layout without_broadcast(Layout l) {
  for (int i = 0; i < l.leaves(); ++i)
    if (l.stride[i] == 0) l.shape[i] = 1;
  return l;
}

WF_HD constexpr Verdict<Layout> graded(Verdict<Layout> v) {
  if (v.ok() && !injective(without_broadcast(v.value)).ok()) v.grade = Grade::overlapping;
  return v;
}

}  // namespace detail

// Two coordinates of a product that share an offset: not_injective with their indices and the offset, or `undecided`;
// accepted when there are none.
WF_HD constexpr Verdict<Layout> overlap(const Layout& l) {
  Verdict<Layout> v = injective(detail::without_broadcast(l));
  if (v.why.reason != Reason::not_injective) return v.ok() ? accept(l) : v;
  const Layout moving = detail::without_broadcast(l);
  for (int i = 0; i < 2; ++i) v.why.n[i] = l.index(moving.coordinate(v.why.n[i]));
  return v;
}

WF_HD constexpr Verdict<Layout> product(const Layout& a, const Layout& b, Form form = Form::logical) {
  const Verdict<Layout> v = detail::logical_product(a, b);
  return detail::graded(form == Form::logical || form == Form::zipped ? v : detail::arrange_whole(v, form));
}

// Mode by mode; further modes of A stay.
WF_HD constexpr Verdict<Layout> product_modes(const Layout& a, const Layout& tiler,
                                              Form form = Form::logical) {
  const int rank = a.rank();
  if (tiler.rank() > rank) return refuse<Layout>(because(Reason::tiler_rank, tiler.rank(), rank));
  Layout parts[max_leaves];
  for (int m = 0; m < rank; ++m) {
    if (m >= tiler.rank()) {
      LayoutBuilder whole;
      whole.begin();
      whole.append(a.mode(m));
      whole.end();
      parts[m] = form == Form::logical ? a.mode(m) : whole.layout();
      continue;
    }
    Verdict<Layout> part = detail::logical_product(a.mode(m), tiler.mode(m));
    if (!part.ok()) {
      part.why.n[7] = m + 1;
      return part;
    }
    parts[m] = part.value;
  }
  return detail::graded(detail::arrange(parts, rank, form));
}

namespace detail {

// l with modes 1:0 appended up to the given rank.
WF_HD constexpr Layout pad_rank(const Layout& l, int rank) {
  LayoutBuilder builder;
  builder.begin();
  for (int m = 0; m < l.rank(); ++m) builder.append(l.mode(m));
  for (int m = l.rank(); m < rank; ++m) builder.add(1, 0);
  builder.end();
  return builder.layout();
}

WF_HD constexpr Verdict<Layout> interleaved_product(const Layout& block, const Layout& tiler,
                                                    bool tiler_first) {
  const int rank = block.rank() > tiler.rank() ? block.rank() : tiler.rank();
  const Verdict<Layout> both = logical_product(pad_rank(block, rank), pad_rank(tiler, rank));
  if (!both.ok()) return both;
  LayoutBuilder builder;
  builder.begin();
  for (int m = 0; m < rank; ++m) {
    builder.begin();
    builder.append(both.value.mode(tiler_first ? 1 : 0).mode(m));
    builder.append(both.value.mode(tiler_first ? 0 : 1).mode(m));
    builder.end();
  }
  builder.end();
  return graded(checked(builder));
}

}  // namespace detail

// Blocks side by side: ((A0,B0),(A1,B1),...).
WF_HD constexpr Verdict<Layout> blocked_product(const Layout& block, const Layout& tiler) {
  return detail::interleaved_product(block, tiler, false);
}

// Blocks interleaved element by element: ((B0,A0),(B1,A1),...).
WF_HD constexpr Verdict<Layout> raked_product(const Layout& block, const Layout& tiler) {
  return detail::interleaved_product(block, tiler, true);
}

}  // namespace warpfold::layout
