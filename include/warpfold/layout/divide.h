// Division A / B: the elements of A in tiles of the shape and order of B. A/B = A o (B, B*), with B* the complement of
// B in [0, |A|): mode 0 runs through a tile, mode 1 through the tiles.
//
// (B,B*) meets every index of A once iff B has a complement, so the grade is
//   exact   the offsets of A, each as often as in A;
//   padded  |A| rounds up to whole tiles: the indices from |A| to the size of A/B lie outside (by mode: of each mode),
//           the caller predicates;
// and a tile that would miss or repeat elements is refused as lossy, with these indices (lost_indices) and the
// nearest strides that tile. A tile that A cannot follow is refused by the composition.
#pragma once

#include "warpfold/layout/complement.h"
#include "warpfold/layout/composition.h"

namespace warpfold::layout {

// How the modes of tiles (T_i) and of the rest (R_i) are nested, for a division or product of rank n.
enum class Form : uint8_t {
  logical,  // ((T0,R0),(T1,R1),...)
  zipped,   // ((T0,T1,...),(R0,R1,...))
  tiled,    // ((T0,T1,...),R0,R1,...)
  flat,     // (T0,T1,...,R0,R1,...)
};

namespace detail {

// Why a tile without complement loses elements of [0, m).
WF_HD constexpr Why why_lossy(const Layout& tile, int64_t m) {
  const Layout sorted = sort_modes(tile);
  int64_t extent = 1;
  for (int i = 0; i < sorted.leaves(); ++i) {
    const int64_t n = sorted.shape[i], d = sorted.stride[i];
    if (d == 0) return because(Reason::lossy_broadcast, n);
    if (d < 0) return because(Reason::complement_negative, n, d);
    if (divides(extent, d)) {
      if (!checked_mul(n, d, extent)) return because(Reason::extent_overflow, i, n, d);
      continue;
    }
    const bool last = i + 1 == sorted.leaves();
    const int64_t target = last ? m : sorted.stride[i + 1];
    int64_t tile_size = int64_largest, limit = target;
    const bool fits = checked_mul(n, d, tile_size);
    if (last && tile_size > m) limit = tile_size;
    if (!last && fits && tile_size <= target) limit -= target % tile_size;
    LostIndices lost{extent, n, d, limit};
    if (lost.limit <= lost.first()) lost.limit = lost.first() + 1;
    Why why = because(Reason::lossy, extent, n, d, lost.limit);
    why.n[4] = lost.count();
    int64_t block = 0;
    if (checked_mul(extent, n, block) && divides(block, target)) {
      const int64_t whole = target / block, near = d / extent;
      for (int64_t q = near; q >= 1 && q > near - 4096 && why.n[5] == 0; --q)
        if (divides(q, whole)) why.n[5] = q * extent;
      for (int64_t q = near + 1; q <= whole && q < near + 4096 && why.n[6] == 0; ++q)
        if (divides(q, whole)) why.n[6] = q * extent;
    }
    return why;
  }
  return because(Reason::bad_size, 0, m);
}

// Joins the parts in the given form: a part of rank 2 is (tile, rest), a part of rank 1 is all rest.
WF_HD constexpr Verdict<Layout> arrange(const Layout* parts, int rank, Form form) {
  LayoutBuilder builder;
  builder.begin();
  if (form == Form::logical) {
    for (int m = 0; m < rank; ++m) builder.append(parts[m]);
  } else {
    if (form != Form::flat) builder.begin();
    for (int m = 0; m < rank; ++m)
      if (parts[m].rank() == 2) builder.append(parts[m].mode(0));
    if (form != Form::flat) builder.end();
    if (form == Form::zipped) builder.begin();
    for (int m = 0; m < rank; ++m) builder.append(parts[m].rank() == 2 ? parts[m].mode(1) : parts[m].mode(0));
    if (form == Form::zipped) builder.end();
  }
  builder.end();
  return checked(builder);
}

// (tile, rest) in the given form when the tile is a layout over all of A: the modes of the rest step out one level.
WF_HD constexpr Verdict<Layout> arrange_whole(const Verdict<Layout>& parted, Form form) {
  if (!parted.ok()) return parted;
  const Layout tile = parted.value.mode(0), rest = parted.value.mode(1);
  LayoutBuilder builder;
  builder.begin();
  if (form == Form::tiled) builder.append(tile);
  for (int m = 0; form == Form::flat && m < tile.rank(); ++m) builder.append(tile.mode(m));
  for (int m = 0; m < rest.rank(); ++m) builder.append(rest.mode(m));
  builder.end();
  Verdict<Layout> v = checked(builder);
  v.grade = parted.grade;
  return v;
}

// (B, B*) as one layout of two modes, with the grade of the complement.
WF_HD constexpr Verdict<Layout> tile_and_rest(const Layout& b, int64_t size) {
  if (b.leaves() == 0) return tile_and_rest(make_layout(1, 0), size);
  Verdict<Layout> v;
  Layout& both = v.value;
  int count = b.leaves();
  for (int i = 0; i < count; ++i) {
    both.shape[i] = b.shape[i];
    both.stride[i] = b.stride[i];
  }
  if (!append_complement(sort_modes(b), size, true, both, count, v.grade, v.why)) {
    const bool lossy =
        v.why.reason == Reason::complement_chain || v.why.reason == Reason::complement_broadcast;
    return refuse<Layout>(lossy ? why_lossy(b, size) : v.why);
  }
  if (count == b.leaves()) {
    if (count == max_leaves) return refuse<Layout>(because(Reason::too_many_modes, max_leaves));
    both.shape[count++] = 1;
  }
  ProfileBuilder nesting;
  nesting.begin();
  nesting.append(b.profile);
  nesting.append(count - b.leaves() == 1 ? Profile::scalar() : Profile::flat(count - b.leaves()));
  nesting.end();
  if (!nesting.fits || nesting.profile.leaves != count)
    return refuse<Layout>(because(Reason::too_many_modes, max_leaves));
  both.profile = nesting.profile;
  fits(both, v.why);
  return v;
}

WF_HD constexpr Verdict<Layout> logical_divide(const Layout& a, const Layout& b) {
  const Verdict<Layout> both = tile_and_rest(b, a.size());
  if (!both.ok()) return both;
  Verdict<Layout> v = compose(a, both.value);
  v.grade = both.grade;
  return v;
}

}  // namespace detail

// The indices that a lossy verdict is about; for a division by mode those of mode n[7] - 1.
WF_HD constexpr LostIndices lost_indices(const Why& lossy) {
  return {lossy.n[0], lossy.n[1], lossy.n[2], lossy.n[3]};
}

// By one tile over all of A.
WF_HD constexpr Verdict<Layout> divide(const Layout& a, const Layout& b, Form form = Form::logical) {
  if (form == Form::logical || form == Form::zipped) return detail::logical_divide(a, b);
  return detail::arrange_whole(detail::logical_divide(a, b), form);
}

// Mode by mode: mode m of A by mode m of the tiler; further modes of A stay whole. Padded if any mode is.
WF_HD constexpr Verdict<Layout> divide_modes(const Layout& a, const Layout& tiler,
                                             Form form = Form::logical) {
  const int rank = a.rank();
  if (tiler.rank() > rank) return refuse<Layout>(because(Reason::tiler_rank, tiler.rank(), rank));
  Layout parts[max_leaves];
  Grade grade = Grade::exact;
  for (int m = 0; m < rank; ++m) {
    if (m >= tiler.rank()) {
      parts[m] = a.mode(m);
      if (form == Form::logical) continue;
      LayoutBuilder whole;  // one mode, so that it counts as rest
      whole.begin();
      whole.append(parts[m]);
      whole.end();
      parts[m] = whole.layout();
      continue;
    }
    Verdict<Layout> part = detail::logical_divide(a.mode(m), tiler.mode(m));
    if (!part.ok()) {
      part.why.n[7] = m + 1;
      return part;
    }
    if (part.grade == Grade::padded) grade = Grade::padded;
    parts[m] = part.value;
  }
  Verdict<Layout> v = detail::arrange(parts, rank, form);
  v.grade = grade;
  return v;
}

}  // namespace warpfold::layout
