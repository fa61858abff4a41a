// Tractable layouts: those that the categorical account of layouts describes, as maps between tuples of sizes.
//
// l is tractable when its modes s_i:d_i, sorted by (stride, size), have d_i = 0 or s_i * d_i | d_(i+1): the extent of
// each mode divides the stride of the next, without the 1 | d_0 and the end that a complement needs. Then a codomain
// tuple E and a map alpha give it back: d_i is the product of E before alpha(i) (prime_list_layout).
// Padded layouts whose pitch no extent divides, such as (8,6):(3,16), and overlapping windows are not.
//
// Two shapes of one size need not share their boundaries. Their mutual refinement cuts the modes of both at the
// boundaries of either, when each cut divides; composition of such layouts goes through it.
#pragma once

#include "warpfold/layout/canonical.h"

namespace warpfold::layout {

// Modes of size 1 never move and do not count; a negative stride is not tractable.
WF_HD constexpr bool is_tractable(const Layout& l) {
  const Layout sorted = sort_modes(l);
  for (int i = 0; i < sorted.leaves(); ++i) {
    if (sorted.stride[i] < 0 && sorted.shape[i] > 1) return false;
    if (sorted.stride[i] == 0 || i + 1 == sorted.leaves()) continue;
    if (!divides(sorted.shape[i] * sorted.stride[i], sorted.stride[i + 1])) return false;
  }
  return true;
}

// Mode by mode the sizes into which the first and the second shape are cut; a mode that stays is a bare number.
struct Refinement {
  IntTuple first, second;

  constexpr bool operator==(const Refinement&) const = default;
};

namespace detail {

// Writes the modes of a shape, a mode in several parts as a tuple of its own.
struct CutShape {
  ProfileBuilder nesting;
  IntTuple shape;
  bool in_mode = false;

  WF_HD constexpr void add(int64_t part, bool last_of_mode) {
    if (!in_mode && !last_of_mode) nesting.begin();
    if (nesting.profile.leaves < max_leaves) shape.value[nesting.profile.leaves] = part;
    nesting.leaf();
    if (in_mode && last_of_mode) nesting.end();
    in_mode = !last_of_mode;
  }
};

}  // namespace detail

// The first shape must be used up; what is left of the second stays whole.
//   ((6,6), (2,6,6)) -> ((2,3),(2,3)) and (2,(3,2),(3,2))
WF_HD constexpr Verdict<Refinement> mutual_refinement(const IntTuple& first, const IntTuple& second) {
  detail::CutShape a, b;
  a.nesting.begin();
  b.nesting.begin();
  int i = 0, j = 0;
  int64_t p = 0, q = 0;  // what is left of mode i of the first and mode j of the second; 0: nothing taken yet
  while (i < first.leaves()) {
    p = p == 0 ? first[i] : p;
    if (p == 1) {
      a.add(p, true), p = 0, ++i;
      continue;
    }
    if (j == second.leaves()) return refuse<Refinement>(because(Reason::refinement_end, i, p));
    q = q == 0 ? second[j] : q;
    if (q == 1) {
      b.add(q, true), q = 0, ++j;
      continue;
    }
    const int64_t part = p < q ? p : q;
    if (part < 1 || p % part != 0 || q % part != 0)
      return refuse<Refinement>(because(Reason::refinement, i, p, j, q));
    a.add(part, p == part);
    b.add(part, q == part);
    p = p == part ? 0 : p / part;
    q = q == part ? 0 : q / part;
    i += p == 0;
    j += q == 0;
  }
  for (; j < second.leaves(); ++j, q = 0) b.add(q == 0 ? second[j] : q, true);
  a.nesting.end();
  b.nesting.end();
  if (!a.nesting.fits || !b.nesting.fits)
    return refuse<Refinement>(because(Reason::too_many_modes, max_leaves));
  a.shape.profile = a.nesting.profile;
  b.shape.profile = b.nesting.profile;
  return accept(Refinement{a.shape, b.shape});
}

}  // namespace warpfold::layout
