// The same memory seen in wider or narrower elements.
//
// upcast by n: n neighbouring offsets become one. A mode whose stride is a multiple of n keeps its size; a mode of
// stride d < n, d | n, gives up n/d of its elements to the group. The modes that give must fill a group exactly.
// downcast by n: every offset becomes n; the mode of stride 1 grows, or a mode n:1 is put in front.
#pragma once

#include "warpfold/layout/canonical.h"

namespace warpfold::layout {

WF_HD constexpr Verdict<Layout> upcast(const Layout& l, int64_t n) {
  if (n < 1) return refuse<Layout>(because(Reason::bad_size, 0, n));
  Layout wide = l, group;
  int given = 0;
  for (int i = 0; i < l.leaves(); ++i) {
    const int64_t size = l.shape[i], d = l.stride[i];
    if (d < 0) return refuse<Layout>(because(Reason::recast_negative, i, d));
    if (divides(n, d)) {
      wide.stride[i] = d / n;
      continue;
    }
    if (size == 1) {
      wide.stride[i] = 0;
      continue;
    }
    const int64_t in_group = n / (d < n ? d : n), take = in_group < size ? in_group : size;
    if (d > n || !divides(d, n) || !divides(take, size))
      return refuse<Layout>(because(Reason::recast_split, i, size, d, n));
    wide.shape[i] = size / take;
    wide.stride[i] = take == in_group ? 1 : 0;
    group.shape[given] = take;
    group.stride[given++] = d;
  }
  group = detail::from_modes(group, given);
  if (group.size() != n || !is_compact(group)) return refuse<Layout>(because(Reason::recast_gap, n));
  return checked(wide);
}

WF_HD constexpr Verdict<Layout> downcast(const Layout& l, int64_t n) {
  if (n < 1) return refuse<Layout>(because(Reason::bad_size, 0, n));
  LayoutBuilder builder;
  bool grown = false;
  for (int i = 0; i < l.leaves(); ++i) grown = grown || (l.stride[i] == 1 && l.shape[i] > 1);
  if (!grown && n > 1) {
    builder.begin();
    builder.add(n, 1);
  }
  bool first = true;
  for (int i = 0; i < l.leaves(); ++i) {
    int64_t size = l.shape[i], step = 0;
    if (l.stride[i] < 0) return refuse<Layout>(because(Reason::recast_negative, i, l.stride[i]));
    if (!checked_mul(l.stride[i], n, step))
      return refuse<Layout>(because(Reason::extent_overflow, i, n, l.stride[i]));
    if (first && l.stride[i] == 1 && size > 1) {
      if (!checked_mul(size, n, size)) return refuse<Layout>(because(Reason::size_overflow, i, l.shape[i], n));
      step = 1;
      first = false;
    }
    for (int k = 0; k < l.profile.open[i]; ++k) builder.begin();
    builder.add(size, step);
    for (int k = 0; k < l.profile.close[i]; ++k) builder.end();
  }
  if (!grown && n > 1) builder.end();
  return checked(builder);
}

// From elements of `from` bits to elements of `to` bits.
WF_HD constexpr Verdict<Layout> recast(const Layout& l, int64_t from, int64_t to) {
  if (from < 1 || to < 1) return refuse<Layout>(because(Reason::recast_width, from, to));
  const int64_t unit = gcd(from, to);
  if (from == unit) return upcast(l, to / unit);
  const Verdict<Layout> fine = downcast(l, from / unit);
  return fine.ok() && to != unit ? upcast(fine.value, to / unit) : fine;
}

}  // namespace warpfold::layout
