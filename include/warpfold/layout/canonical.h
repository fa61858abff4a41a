// Canonical form and equality of layout functions, in O(rank) and without enumerating a value.
//
// Coalescing drops modes of size 1 and merges neighbours where size * stride = next stride. Of two layouts of one
// size the functions agree iff the coalesced forms are identical, because the first mode of the form can be read
// off the function: stride f(1), size the first i with f(i) != i * f(1), and so on for f(size * j).
//
// The extended function f^ continues the last mode without bound, so its canonical form keeps that mode even when
// its size is 1: (4,1):(1,0) and 4:1 agree on [0,4) but f^(4) is 0 for one and 4 for the other.
#pragma once

#include "warpfold/layout/verdict.h"

namespace warpfold::layout {

// The modes of l in one flat tuple (a bare mode stays bare).
WF_HD constexpr Layout flatten(Layout l) {
  if (!l.profile.is_scalar()) l.profile = Profile::flat(l.leaves());
  return l;
}

namespace detail {

// Makes a layout of a flat list of modes: bare when it is one mode, 1:0 when it is none. In place, because copies of a
// layout would take a third of the time of sorting or coalescing one.
WF_HD constexpr void close_modes(Layout& modes, int count) {
  if (count == 0) modes.shape[count++] = 1;
  modes.profile = count == 1 ? Profile::scalar() : Profile::flat(count);
}
WF_HD constexpr Layout from_modes(Layout modes, int count) {
  close_modes(modes, count);
  return modes;
}

WF_HD constexpr Layout merge_modes(const Layout& l, bool keep_last) {
  Layout modes;
  int count = 0;
  for (int i = 0; i < l.leaves(); ++i) {
    const bool last = i + 1 == l.leaves();
    if (l.shape[i] == 1 && !(keep_last && last)) continue;
    int64_t continued = 0;
    if (count > 0 && checked_mul(modes.shape[count - 1], modes.stride[count - 1], continued) &&
        continued == l.stride[i]) {
      modes.shape[count - 1] *= l.shape[i];
    } else {
      modes.shape[count] = l.shape[i];
      modes.stride[count++] = l.stride[i];
    }
  }
  close_modes(modes, count);
  return modes;
}

}  // namespace detail

// The canonical form: 12:1 for (2,(1,6)):(1,(6,2)).
WF_HD constexpr Layout coalesce(const Layout& l) { return detail::merge_modes(l, false); }

// The canonical form of the extended function.
WF_HD constexpr Layout coalesce_extended(const Layout& l) { return detail::merge_modes(l, true); }

// Every top-level mode coalesced by itself; the rank stays.
WF_HD constexpr Layout coalesce_modes(const Layout& l) {
  if (l.profile.is_scalar()) return coalesce(l);
  LayoutBuilder builder;
  builder.begin();
  for (int m = 0; m < l.rank(); ++m) builder.append(coalesce(l.mode(m)));
  builder.end();
  return builder.layout();
}

// Without the modes that do not move: sizes 1 and strides 0 dropped, then coalesced.
WF_HD constexpr Layout filter(const Layout& l) {
  Layout modes;
  int count = 0;
  for (int i = 0; i < l.leaves(); ++i) {
    if (l.shape[i] == 1 || l.stride[i] == 0) continue;
    modes.shape[count] = l.shape[i];
    modes.stride[count++] = l.stride[i];
  }
  return coalesce(detail::from_modes(modes, count));
}

// The modes ordered by (stride, size), sizes 1 dropped; flat.
WF_HD constexpr Layout sort_modes(const Layout& l) {
  Layout modes;
  int count = 0;
  for (int i = 0; i < l.leaves(); ++i) {
    if (l.shape[i] == 1) continue;
    int at = count++;
    for (; at > 0; --at) {
      const bool after = modes.stride[at - 1] < l.stride[i] ||
                         (modes.stride[at - 1] == l.stride[i] && modes.shape[at - 1] <= l.shape[i]);
      if (after) break;
      modes.stride[at] = modes.stride[at - 1];
      modes.shape[at] = modes.shape[at - 1];
    }
    modes.stride[at] = l.stride[i];
    modes.shape[at] = l.shape[i];
  }
  detail::close_modes(modes, count);
  return modes;
}

// Same size and same offset at every index?
WF_HD constexpr bool equal(const Layout& a, const Layout& b) { return coalesce(a) == coalesce(b); }

// Same extended function?
WF_HD constexpr bool equal_extended(const Layout& a, const Layout& b) {
  const Layout x = coalesce_extended(a), y = coalesce_extended(b);
  if (x.leaves() != y.leaves()) return false;
  for (int i = 0; i < x.leaves(); ++i) {
    const bool last = i + 1 == x.leaves();  // the last size is no part of the extended function
    if (x.stride[i] != y.stride[i] || (!last && x.shape[i] != y.shape[i])) return false;
  }
  return true;
}

namespace detail {

// Two canonical forms agree up to the first mode in which they differ. With P the product of the sizes before it, the
// functions differ at index P where the strides do, else where the shorter mode ends and its form turns, at P * size;
// unless that form ends there. Extended forms do not end: their last mode has no size.
WF_HD constexpr int64_t first_difference(const Layout& x, const Layout& y, bool extended) {
  const int64_t x_end = extended ? 0 : x.size(), y_end = extended ? 0 : y.size();
  int64_t place = 1;
  for (int i = 0; place != x_end && place != y_end; ++i) {
    if (x.stride[i] != y.stride[i]) return place;
    const int64_t n = extended && i + 1 == x.leaves() ? 0 : x.shape[i];  // 0: without bound
    const int64_t m = extended && i + 1 == y.leaves() ? 0 : y.shape[i];
    if (n == 0 && m == 0) return -1;
    place *= n == 0 || (m != 0 && m < n) ? m : n;
    if (n != m) return place == x_end || place == y_end ? -1 : place;
  }
  return -1;
}

}  // namespace detail

// The first index of both at which a and b have different offsets; -1 when there is none. O(rank).
WF_HD constexpr int64_t first_difference(const Layout& a, const Layout& b) {
  return detail::first_difference(coalesce(a), coalesce(b), false);
}

// The first index from 0 on, past the sizes too, at which the extended functions differ; -1 when there is none.
WF_HD constexpr int64_t first_extended_difference(const Layout& a, const Layout& b) {
  return detail::first_difference(coalesce_extended(a), coalesce_extended(b), true);
}

// Do a and b agree, and mode by mode too?
WF_HD constexpr bool equal_modes(const Layout& a, const Layout& b) {
  if (a.rank() != b.rank()) return false;
  for (int m = 0; m < a.rank(); ++m)
    if (!equal(a.mode(m), b.mode(m))) return false;
  return true;
}

namespace detail {

// Depth-first search for numbers y_i, |y_i| < shape_i, with sum y_i * stride_i = -target over the first k modes of
// a sorted layout of positive strides; y_k is tried only where the smaller strides can still make up the rest.
struct DifferenceSearch {
  Layout sorted;                       // positive strides, ascending
  int64_t reach[max_leaves + 1] = {};  // reach[k] = largest sum of the first k modes
  int64_t y[max_leaves] = {};
  int64_t work = 0, limit = 0;

  WF_HD constexpr bool find(int k, int64_t target, bool nonzero) {
    if (++work > limit) return false;
    if (k == 0) return nonzero && target == 0;
    const int64_t d = sorted.stride[k - 1], n = sorted.shape[k - 1];
    int64_t low = -floor_div(target + reach[k - 1], d), high = floor_div(reach[k - 1] - target, d);
    if (low < 1 - n) low = 1 - n;
    if (high > n - 1) high = n - 1;
    if (!nonzero && low < 0) low = 0;  // the mirror image is the same pair
    for (int64_t v = low; v <= high && work <= limit; ++v) {
      y[k - 1] = v;
      if (find(k - 1, target + v * d, nonzero || v != 0)) return true;
    }
    return false;
  }
};

}  // namespace detail

inline constexpr int64_t default_work = int64_t{1} << 20;

// Do different indices have different offsets? The verdict's value is the layout itself; a refusal carries a pair of
// indices with one offset. Exact, with at most `work` search steps; past that the reason is `undecided`.
WF_HD constexpr Verdict<Layout> injective(const Layout& l, int64_t work = default_work) {
  Layout positive = l;
  for (int i = 0; i < l.leaves(); ++i) {
    if (l.shape[i] > 1 && l.stride[i] == 0) {
      int64_t x = 1;
      for (int k = 0; k < i; ++k) x *= l.shape[k];
      return refuse<Layout>(because(Reason::not_injective, 0, x, 0));
    }
    if (l.shape[i] > 1 && l.stride[i] < 0) positive.stride[i] = -l.stride[i];  // mirrors a coordinate
  }
  detail::DifferenceSearch search;
  search.sorted = sort_modes(positive);
  search.limit = work;
  const int count = search.sorted.shape[0] == 1 ? 0 : search.sorted.leaves();
  for (int k = 0; k < count; ++k)
    search.reach[k + 1] = search.reach[k] + (search.sorted.shape[k] - 1) * search.sorted.stride[k];
  if (!search.find(count, 0, false)) {
    if (search.work > work) return refuse<Layout>(because(Reason::undecided, work));
    return accept(l);
  }
  // Put each y back on a mode of l: the positive parts make one index, the negative parts the other.
  int64_t first = 0, second = 0, place = 1, offset = 0;
  bool used[max_leaves] = {};
  for (int i = 0; i < l.leaves(); ++i) {
    for (int k = 0; k < count && l.shape[i] > 1; ++k) {
      if (used[k] || search.sorted.shape[k] != l.shape[i] || search.sorted.stride[k] != positive.stride[i])
        continue;
      used[k] = true;
      const int64_t y = l.stride[i] < 0 ? -search.y[k] : search.y[k];
      (y > 0 ? first : second) += place * (y > 0 ? y : -y);
      break;
    }
    place *= l.shape[i];
  }
  offset = l(first);
  return refuse<Layout>(because(Reason::not_injective, first < second ? first : second,
                                first < second ? second : first, offset));
}

// Do the offsets of l cover [0, size) exactly once? Decided by the chain of sorted strides.
WF_HD constexpr bool is_compact(const Layout& l) {
  const Layout sorted = sort_modes(l);
  int64_t extent = 1;
  for (int i = 0; i < sorted.leaves() && l.size() > 1; ++i) {
    if (sorted.stride[i] != extent) return false;
    extent *= sorted.shape[i];
  }
  return true;
}

}  // namespace warpfold::layout
