// The complement of A in [0, M): the layout B for which (A,B) takes every value of [0, M) exactly once.
//
// Sort A's modes (N_i):(d_i) by stride. B exists iff 1 | d_0 | N_0*d_0 | d_1 | ... | N_a*d_a | M; the quotients of
// this chain are B's sizes and the left members its strides. The condition is also necessary for any bijective
// complement, so a refusal is final. `complement_padded` is the field's second use: it ignores stride-0 modes and
// rounds M up to whole blocks, and says so in the grade.
#pragma once

#include "warpfold/layout/canonical.h"

namespace warpfold::layout {

namespace detail {

// Appends the complement's modes to `modes` from leaf `count` on.
// Writes the reason and returns false when there is none.
WF_HD constexpr bool append_complement(const Layout& sorted, int64_t m, bool round_up, Layout& modes,
                                       int& count, Grade& grade, Why& why) {
  const auto no = [&why](const Why& reason) {
    why = reason;
    return false;
  };
  int64_t extent = 1;
  const auto append = [&](int64_t size) {
    if (size == 1) return true;
    if (count == max_leaves) return false;
    modes.shape[count] = size;
    modes.stride[count++] = extent;
    return true;
  };
  for (int i = 0; i < sorted.leaves() && sorted.shape[0] > 1; ++i) {
    const int64_t n = sorted.shape[i], d = sorted.stride[i];
    if (d < 0) return no(because(Reason::complement_negative, n, d));
    if (d == 0) return no(because(Reason::complement_broadcast, n, d));
    const int64_t size = divide_positive(d, extent);
    if (size * extent != d) {
      const int64_t before = i > 0 ? sorted.shape[i - 1] : 1;
      return no(because(Reason::complement_chain, before, extent / before, n, d));
    }
    if (!append(size)) return no(because(Reason::too_many_modes, max_leaves));
    if (!checked_mul(n, d, extent)) return no(because(Reason::extent_overflow, i, n, d));
  }
  const int64_t size = ceil_div(m, extent);
  const bool whole = m - (size - 1) * extent == extent;
  if (!whole && !round_up) {
    const int last = sorted.leaves() - 1;
    return no(because(Reason::complement_size, sorted.shape[last], sorted.stride[last], m, extent));
  }
  if (!append(size)) return no(because(Reason::too_many_modes, max_leaves));
  grade = whole ? Grade::exact : Grade::padded;
  return true;
}

WF_HD constexpr Verdict<Layout> complement_of_sorted(const Layout& sorted, int64_t m, bool round_up) {
  Verdict<Layout> v;
  int count = 0;
  const bool found = append_complement(sorted, m, round_up, v.value, count, v.grade, v.why);
  close_modes(v.value, count);
  if (!found || !fits(v.value, v.why)) v.value = {};
  return v;
}

}  // namespace detail

WF_HD constexpr Verdict<Layout> complement(const Layout& a, int64_t m) {
  if (m < 1) return refuse<Layout>(because(Reason::complement_room, m));
  return detail::complement_of_sorted(sort_modes(a), m, false);
}

// In the smallest M that works: N_a * d_a.
WF_HD constexpr Verdict<Layout> complement(const Layout& a) {
  return detail::complement_of_sorted(sort_modes(a), 1, true);
}

// Stride-0 modes ignored, M rounded up to a multiple of N_a * d_a: every offset of (A,B) is met at most once per
// broadcast repeat, and [0, M) is covered. Grade::padded when M was rounded or a broadcast mode ignored.
WF_HD constexpr Verdict<Layout> complement_padded(const Layout& a, int64_t m) {
  if (m < 1) return refuse<Layout>(because(Reason::complement_room, m));
  const Layout moving = filter(a);
  Verdict<Layout> v = detail::complement_of_sorted(sort_modes(moving), m, true);
  if (v.ok() && moving.size() != a.size()) v.grade = Grade::padded;
  return v;
}

}  // namespace warpfold::layout
