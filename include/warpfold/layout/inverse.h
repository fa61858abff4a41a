// Inverses of layout functions, the null space, and the vectors that two layouts share.
//
// right_inverse R: L(R(i)) = i for i in [0, |R|). Of the modes of the coalesced L, those that continue the running
//   extent 1, N_0, N_0*N_1, ... in order of stride; R's strides are their places in L.
// The left inverse, J(L(i)) = i, is in left_inverse.h.
#pragma once

#include "warpfold/layout/composition.h"

namespace warpfold::layout {

namespace detail {

// The modes of coalesced l sorted by stride; place = what one step along the mode adds to the index.
struct SortedPlaces {
  Layout sorted;
  int64_t place[max_leaves] = {};
  int count = 0;
};

WF_HD constexpr SortedPlaces sort_places(const Layout& l) {
  SortedPlaces s;
  const Layout flat = coalesce(l);
  int64_t place = 1;
  for (int i = 0; i < flat.leaves() && flat.size() > 1; ++i) {
    int at = s.count++;
    for (; at > 0 && (s.sorted.stride[at - 1] > flat.stride[i]); --at) {
      s.sorted.stride[at] = s.sorted.stride[at - 1];
      s.sorted.shape[at] = s.sorted.shape[at - 1];
      s.place[at] = s.place[at - 1];
    }
    s.sorted.stride[at] = flat.stride[i];
    s.sorted.shape[at] = flat.shape[i];
    s.place[at] = place;
    place *= flat.shape[i];
  }
  return s;
}

}  // namespace detail

WF_HD constexpr Layout right_inverse(const Layout& l) {
  const detail::SortedPlaces s = detail::sort_places(l);
  Layout modes;
  int count = 0;
  int64_t extent = 1;
  for (int i = 0; i < s.count; ++i) {
    if (s.sorted.stride[i] != extent) continue;
    modes.shape[count] = s.sorted.shape[i];
    modes.stride[count++] = s.place[i];
    extent *= s.sorted.shape[i];
  }
  return detail::from_modes(modes, count);
}

// The coordinate with this offset, the largest stride taking its digit first. Also for layouts without a
// left inverse; right whenever each stride exceeds what the smaller ones reach together.
WF_HD constexpr Verdict<IntTuple> coordinate_of_offset(const Layout& l, int64_t offset) {
  IntTuple c;
  c.profile = l.profile;
  int64_t rest = offset;
  bool used[max_leaves] = {};
  for (int k = 0; k < l.leaves(); ++k) {
    int largest = -1;
    for (int i = 0; i < l.leaves(); ++i)
      if (!used[i] && (largest < 0 || l.stride[i] > l.stride[largest])) largest = i;
    used[largest] = true;
    const int64_t d = l.stride[largest], most = l.shape[largest] - 1;
    if (d <= 0 || rest < 0) continue;
    const int64_t digit = divide_positive(rest, d);
    c.value[largest] = digit < most ? digit : most;
    rest -= c.value[largest] * d;
  }
  if (rest != 0) return refuse<IntTuple>(because(Reason::no_coordinate, offset, rest));
  return accept(c);
}

// The layout of all indices that move nothing: the stride-0 modes of l with their places. L(N(i)) = 0.
WF_HD constexpr Layout nullspace(const Layout& l) {
  Layout modes;
  int count = 0;
  int64_t place = 1;
  for (int i = 0; i < l.leaves(); ++i) {
    if (l.stride[i] == 0 && l.shape[i] > 1) {
      modes.shape[count] = l.shape[i];
      modes.stride[count++] = place;
    }
    place *= l.shape[i];
  }
  return detail::from_modes(modes, count);
}

// The largest n for which the same indices are the offsets 0..n-1 of both a and b: what one copy instruction could
// move if size and alignment were free.
WF_HD constexpr int64_t max_common_vector(const Layout& a, const Layout& b) {
  const Layout inverse = right_inverse(b);
  for (int modes = inverse.leaves(); modes > 0; --modes) {
    const Verdict<Layout> common = compose(a, detail::from_modes(inverse, modes));
    if (!common.ok()) continue;
    const Layout merged = coalesce(common.value);
    if (merged.stride[0] == 1) return merged.shape[0];
  }
  return 1;
}

// The widest vector, at most `most` elements, that copies a to b without remainder or misaligned access: divides the
// common vector and every stride beyond it.
WF_HD constexpr int64_t vector_width(const Layout& a, const Layout& b, int64_t most) {
  const int64_t common = max_common_vector(a, b);
  int64_t width = gcd(common, most);
  for (const Layout* l : {&a, &b}) {
    const Layout merged = coalesce(*l);
    for (int i = 0; i < merged.leaves(); ++i)
      if (merged.stride[i] != 1 && merged.shape[i] > 1) width = gcd(width, merged.stride[i]);
  }
  return width;
}

}  // namespace warpfold::layout
