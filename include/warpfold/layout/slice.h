// Cutting a layout by a coordinate that fixes some modes and leaves others free, and grouping modes.
#pragma once

#include "warpfold/layout/canonical.h"

namespace warpfold::layout {

// In a coordinate: "all of this mode".
inline constexpr int64_t all = int64_lowest;

// What is left of a layout, and the offset that the fixed modes add.
struct Slice {
  Layout layout;
  int64_t offset = 0;

  constexpr bool operator==(const Slice&) const = default;
};

namespace detail {

WF_HD constexpr Verdict<Slice> refuse_coordinate(Reason reason, const IntTuple& at) {
  Why why = because(reason);
  why.witness = at;
  return refuse<Slice>(why);
}

}  // namespace detail

// slice((4,(2,3)):(3,(12,1)), (all,(1,all))) = (4,3):(3,1) at offset 12. One free mode comes out bare.
WF_HD constexpr Verdict<Slice> slice(const Layout& l, const IntTuple& at) {
  if (!l.profile.accepts(at.profile)) return detail::refuse_coordinate(Reason::coordinate, at);
  Slice s;
  if (at.profile.is_scalar()) {
    if (at.value[0] == all) return accept(Slice{l, 0});
    return extended_checked(l, at.value[0], s.offset)
               ? accept(s)
               : detail::refuse_coordinate(Reason::coordinate_overflow, at);
  }
  LayoutBuilder builder;
  int kept = 0;
  builder.begin();
  for (int i = 0, leaf = 0; i < at.leaves(); ++i) {
    const int inner = l.profile.open[leaf] - at.profile.open[i];
    const int end = l.profile.subtree_end(leaf, inner);
    int64_t x = at.value[i];
    const bool keep = x == all;
    kept += keep;
    int depth = inner;
    if (keep)
      for (int k = 0; k < inner; ++k) builder.begin();
    for (; leaf < end; ++leaf) {
      if (keep) {
        if (depth < 0) depth = 0;
        builder.add(l.shape[leaf], l.stride[leaf]);
        for (int k = 0; k < l.profile.close[leaf] && depth > 0; ++k, --depth) builder.end();
        for (int k = 0; leaf + 1 < end && k < l.profile.open[leaf + 1]; ++k, ++depth) builder.begin();
        continue;
      }
      const int64_t rest = leaf + 1 < end ? floor_div(x, l.shape[leaf]) : 0;
      const int64_t digit = leaf + 1 < end ? floor_mod(x, l.shape[leaf]) : x;
      if (!checked_mul_add(digit, l.stride[leaf], s.offset))
        return detail::refuse_coordinate(Reason::coordinate_overflow, at);
      x = rest;
    }
  }
  builder.end();
  s.layout = kept == 0 ? Layout{} : builder.layout();
  if (kept == 1) s.layout = s.layout.mode(0);
  return accept(s);
}

// Top-level modes [begin, end) put into one nested mode.
WF_HD constexpr Verdict<Layout> group(const Layout& l, int begin, int end) {
  if (begin < 0 || begin >= end || end > l.rank() || l.profile.is_scalar())
    return refuse<Layout>(because(Reason::mode_range, begin, end, l.rank()));
  LayoutBuilder builder;
  builder.begin();
  for (int m = 0; m < l.rank(); ++m) {
    if (m == begin) builder.begin();
    builder.append(l.mode(m));
    if (m + 1 == end) builder.end();
  }
  builder.end();
  return checked(builder);
}

}  // namespace warpfold::layout
