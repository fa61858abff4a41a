// Composition A o B: the layout R that refines B's modes with R(x) = A(B(x)) for every x, decided exactly.
//
// Let A be coalesced with prefix products P_t = M_0*...*M_(t-1) and gaps g_t = M_(t-1)*d_(t-1) - d_t, none of them 0.
// Then A(x) = d_0*x - sum_t g_t*floor(x/P_t), and for modes (n_k):(r_k) the candidate R = (n_k):(A(r_k)) is right iff
//     sum_t g_t * floor(sum_k x_k*(r_k mod P_t) / P_t) = 0   for all coordinates x.
// If all gaps have one sign nothing cancels, and that is: sum_k (n_k-1)*(r_k mod P_t) < P_t for every t: O(rank^2)
// and no enumeration. With mixed signs this is sufficient; where it fails the sum is searched for a coordinate with
// another value, in at most `work` steps (x_k > P_t repeats what x_k <= P_t showed).
//
// A mode N:r of B that crosses a boundary is cut into the coarsest pieces: n:r with n the first x at which A(x*r) is
// no longer x*A(r). A layout must turn exactly there, so n must divide N; this refinement is unique.
//
// A is the extended function: its last mode continues past the size. `in_domain` says whether it had to.
#pragma once

#include "warpfold/layout/recognise.h"

namespace warpfold::layout {

// Are all values of b indices of a, so that a is not continued past its size?
WF_HD constexpr bool in_domain(const Layout& a, const Layout& b) {
  return b.lowest() >= 0 && b.highest() < a.size();
}

namespace detail {

// Where A turns: prefix products and gaps of a coalesced A.
struct Boundaries {
  int count = 0;
  int64_t prefix[max_leaves];  // P_(t+1)
  int64_t gap[max_leaves];     // g_(t+1)
  bool positive = false, negative = false;

  WF_HD constexpr bool one_sign() const { return !(positive && negative); }
};

// One mode of the refinement of B.
struct Piece {
  int64_t size, step;  // size:step, a part of leaf `leaf` of B
  int64_t place;       // x_leaf grows by this when the piece's coordinate grows by one
  int leaf;
};

// Remainders and quotients of sum_k x_k*(r_k mod P_t) by P_t, kept apart so that nothing overflows.
struct Carries {
  uint64_t rest[max_leaves] = {};
  int64_t quotient[max_leaves] = {};
};

// Members without an initialiser are read only below their counts: clearing them would take a tenth of the time.
struct Composer {
  const Layout& a;  // coalesced
  const Layout& b;
  Why& why;               // why not
  const int64_t allowed;  // steps of search
  int64_t work;           // those that are left
  Boundaries at;
  Piece pieces[max_leaves];
  int count = 0;
  int64_t most[max_leaves];  // most[t]: largest sum_k x_k*(r_k mod P_t), cut off at int64_largest
  int64_t rho[max_leaves];   // r mod P_t of the mode being cut, for t >= lowest; below they are 0
  int lowest = 0;

  WF_HD constexpr Composer(const Layout& straight, const Layout& order, Why& reason, int64_t steps)
      : a(straight), b(order), why(reason), allowed(steps), work(steps) {}

  WF_HD constexpr bool fail(const Why& reason) {
    why = reason;
    return false;
  }
  WF_HD constexpr bool fail_undecided() { return fail(because(Reason::undecided, allowed)); }

  WF_HD constexpr void find_boundaries() {
    int64_t prefix = 1;
    at.count = a.leaves() - 1;
    for (int t = 0; t < at.count; ++t) {
      prefix *= a.shape[t];
      at.prefix[t] = prefix;
      at.gap[t] = gap(a.shape[t], a.stride[t], a.stride[t + 1]);
      most[t] = 0;
      (at.gap[t] > 0 ? at.positive : at.negative) = true;
    }
  }
  // size * stride - next, cut off where it does not fit 64 bits: the sign stays right, and only a mixed sum needs more.
  WF_HD static constexpr int64_t gap(int64_t size, int64_t stride, int64_t next) {
    int64_t product = 0, difference = 0;
    if (!checked_mul(size, stride, product)) return stride > 0 ? int64_largest : int64_lowest;
    if (next == int64_lowest) return product >= 0 ? int64_largest : product - next;
    if (!checked_add(product, -next, difference)) return product > 0 ? int64_largest : int64_lowest;
    return difference;
  }
  WF_HD static constexpr bool is_cut_off(int64_t gap) { return gap == int64_largest || gap == int64_lowest; }

  WF_HD constexpr void advance(Carries& c, int64_t step, int64_t times) const {
    for (int t = 0; t < at.count; ++t) {
      const uint64_t p = static_cast<uint64_t>(at.prefix[t]);
      c.rest[t] += static_cast<uint64_t>(floor_mod(step, at.prefix[t])) * static_cast<uint64_t>(times);
      while (c.rest[t] >= p) {
        c.rest[t] -= p;
        ++c.quotient[t];
      }
    }
  }
  // Does sum_t g_t*quotient_t vanish? Numbers past 64 bits count as not; `refuse_at` looks at the values again.
  WF_HD constexpr bool cancels(const Carries& c) const {
    int64_t sum = 0;
    for (int t = 0; t < at.count; ++t) {
      if (c.quotient[t] == 0) continue;
      if (is_cut_off(at.gap[t]) || !checked_mul_add(at.gap[t], c.quotient[t], sum)) return false;
    }
    return sum == 0;
  }

  // The first x in [1, size] at which A(x*step) is not x*A(step); `size` when there is none before, 0 when undecided.
  // A carry at P_t needs (size-1)*rho_t >= P_t, so only where A turns there is a quotient to compute.
  WF_HD constexpr int64_t straight_run(int64_t step, int64_t size) {
    // P_t divides P_(t+1), so each remainder follows from the one above it; most are the same, and below a 0 all are 0.
    int64_t rest = step, run = size, reached = saturated_mul(size - 1, step);
    for (lowest = at.count; lowest > 0; --lowest) {
      const int t = lowest - 1;
      const int64_t p = at.prefix[t];
      if (rest >= p || rest < 0) {
        rest = floor_mod(rest, p);
        if (rest == 0) break;
        reached = saturated_mul(run - 1, rest);
      }
      rho[t] = rest;
      if (reached < p) continue;
      run = ceil_div(p, rest);
      reached = saturated_mul(run - 1, rest);
    }
    if (run == size || at.one_sign()) return run;
    Carries c;
    advance(c, step, run);  // run*rho < 2*P_t
    const int64_t last = at.prefix[at.count - 1];
    for (; run < size && run <= last && cancels(c); ++run) {
      if (--work < 0) return 0;
      advance(c, step, 1);
    }
    return run > last ? size : run;
  }
  // a * b, cut off at int64_largest (a negative product that does not fit is never looked at).
  WF_HD static constexpr int64_t saturated_mul(int64_t a, int64_t b) {
    int64_t product = int64_largest;
    checked_mul(a, b, product);
    return product;
  }

  // Of the mode whose remainders are in rho.
  WF_HD constexpr bool add_piece(int64_t size, int64_t step, int64_t place, int leaf) {
    if (count == max_leaves) return fail(because(Reason::too_many_modes, max_leaves));
    Piece& piece = pieces[count++];
    piece.size = size;
    piece.step = step;
    piece.place = place;
    piece.leaf = leaf;
    if (size == 1) return true;
    int64_t rest = 0, reached = 0;
    for (int t = at.count - 1; t >= lowest; --t) {
      if (rho[t] != rest) reached = saturated_mul(size - 1, rest = rho[t]);
      if (!checked_add(most[t], reached, most[t])) most[t] = int64_largest;
    }
    return true;
  }

  // Cuts leaf k of B into the coarsest pieces on which A is straight.
  WF_HD constexpr bool cut(int k) {
    int64_t rest = b.shape[k], step = b.stride[k], place = 1;
    while (true) {
      const int64_t n = rest == 1 ? 1 : straight_run(step, rest);
      if (n == 0) return fail_undecided();
      if (n >= rest) return add_piece(rest, step, place, k);
      if (!divides(n, rest)) return fail_turn(k, n, rest, step, place);
      if (!add_piece(n, step, place, k)) return false;
      rest = divide_positive(rest, n);
      step *= n;
      place *= n;
    }
  }

  // Refuses because at why.witness, where B has this value, A(B) is not what the layout gives: the sum `given`, if
  // `fits`.
  WF_HD constexpr bool refuse_at(int64_t value, int64_t given, bool fits) {
    int64_t there = 0;
    why.witness.profile = b.profile;
    fits = extended_checked(a, value, there) && fits;
    if (!fits) {
      why.reason = Reason::composed_overflow;
      why.n[0] = value;
      return false;
    }
    if (there == given) return fail_undecided();
    why.n[3] = there;
    why.n[4] = given;
    return false;
  }

  WF_HD constexpr bool fail_turn(int k, int64_t n, int64_t rest, int64_t step, int64_t place) {
    int64_t once = 0, given = 0;
    why = because(Reason::turns, k, n, rest);
    why.witness.value[k] = n * place;
    const bool fits = extended_checked(a, step, once) && checked_mul(once, n, given);
    return refuse_at(n * step, given, fits);
  }

  // Refuses with the coordinate given by one digit a piece.
  WF_HD constexpr bool fail_carry(int t, const int64_t* digit) {
    int64_t input = 0, given = 0, leaves = 0;
    bool fits = true;
    why = because(Reason::carries, t + 1, at.prefix[t], most[t]);
    for (int p = 0; p < count; ++p) {
      if (digit[p] == 0) continue;
      int64_t once = 0;
      fits = fits && extended_checked(a, pieces[p].step, once) && checked_mul_add(digit[p], once, given);
      input += digit[p] * pieces[p].step;
      why.witness.value[pieces[p].leaf] += digit[p] * pieces[p].place;
      leaves |= int64_t{1} << pieces[p].leaf;
    }
    why.n[5] = leaves;
    return refuse_at(input, given, fits);
  }

  // Mixed signs: looks for digits of pieces [0, p) that leave a carry which does not cancel.
  WF_HD constexpr bool find_carry(int p, const Carries& carried, int64_t* digit) {
    if (p == 0) return !cancels(carried);
    Carries c = carried;
    const int64_t bound = at.prefix[at.count - 1];
    for (int64_t x = 0; x < pieces[p - 1].size && x <= bound && work > 0; ++x) {
      digit[p - 1] = x;
      --work;
      if (find_carry(p - 1, c, digit)) return true;
      if (still(pieces[p - 1].step)) break;
      advance(c, pieces[p - 1].step, 1);
    }
    digit[p - 1] = 0;
    return false;
  }
  // Does a step add to no carry that can occur?
  WF_HD constexpr bool still(int64_t step) const {
    for (int t = 0; t < at.count; ++t)
      if (most[t] >= at.prefix[t] && floor_mod(step, at.prefix[t]) != 0) return false;
    return true;
  }

  // Do all pieces together stay straight? The last coordinates of the pieces that add up past P_t are the witness; with
  // mixed signs their carries may cancel, and others are searched.
  WF_HD constexpr bool joint() {
    int t = 0;
    while (t < at.count && most[t] < at.prefix[t]) ++t;
    if (t >= at.count) return true;
    int64_t digit[max_leaves] = {}, sum = 0;
    for (int p = 0; p < count; ++p)
      if (floor_mod(pieces[p].step, at.prefix[t]) != 0) digit[p] = pieces[p].size - 1;
    bool cancelled = !at.one_sign();
    for (int u = 0; u < at.count && cancelled; ++u) {
      int64_t carried = 0;
      for (int p = 0; p < count && cancelled; ++p)
        cancelled = checked_mul_add(digit[p], floor_mod(pieces[p].step, at.prefix[u]), carried);
      const int64_t quotient = divide_positive(carried, at.prefix[u]);
      cancelled = cancelled &&
                  (quotient == 0 || (!is_cut_off(at.gap[u]) && checked_mul_add(at.gap[u], quotient, sum)));
    }
    if (!cancelled || sum != 0) return fail_carry(t, digit);
    if (find_carry(count, Carries{}, digit)) return fail_carry(t, digit);
    return work > 0 || fail_undecided();
  }

  // The pieces as modes, nested as B; a leaf that was cut is a tuple.
  WF_HD constexpr void refined(Verdict<Layout>& v) const {
    ProfileBuilder nesting;
    for (int p = 0; p < count; ++p) {
      const int leaf = pieces[p].leaf;
      const bool first = p == 0 || pieces[p - 1].leaf != leaf;
      const bool last = p + 1 == count || pieces[p + 1].leaf != leaf;
      for (int i = 0; first && i < b.profile.open[leaf]; ++i) nesting.begin();
      if (first && !last) nesting.begin();
      nesting.leaf();
      v.value.shape[p] = pieces[p].size;
      if (!extended_checked(a, pieces[p].step, v.value.stride[p])) {
        if (pieces[p].size > 1) {
          v = refuse<Layout>(because(Reason::composed_overflow, pieces[p].step));
          v.why.witness.profile = b.profile;
          v.why.witness.value[leaf] = pieces[p].place;
          return;
        }
        v.value.stride[p] = 0;
      }
      if (last && !first) nesting.end();
      for (int i = 0; last && i < b.profile.close[leaf]; ++i) nesting.end();
    }
    v.value.profile = nesting.profile;
    if (!fits(v.value, v.why)) v.value = {};
  }
};

}  // namespace detail

inline constexpr int64_t composition_work = default_work;

WF_HD constexpr Verdict<Layout> compose(const Layout& a, const Layout& b, int64_t work = composition_work) {
  const Layout straight = coalesce_extended(a);
  Verdict<Layout> v;
  detail::Composer composer(straight, b, v.why, work);
  composer.find_boundaries();
  bool composable = true;
  for (int k = 0; composable && k < b.leaves(); ++k) composable = composer.cut(k);
  if (composable && composer.joint()) composer.refined(v);
  return v;
}

// Some layout with the function A(B(x)), even if it does not refine B's modes: what is left when `compose` refuses.
// B's own canonical form is tried first, then the values are recognised, if there are at most `work` of them.
WF_HD constexpr Verdict<Layout> compose_flat(const Layout& a, const Layout& b, int64_t work = default_work) {
  const Verdict<Layout> merged = compose(a, coalesce(b), work);
  if (merged.ok()) return accept(coalesce(merged.value));
  if (b.size() > work) return refuse<Layout>(because(Reason::undecided, work));
  Why overflow;
  const auto f = [&](int64_t x) {
    int64_t offset = 0;
    if (!extended_checked(a, b(x), offset) && overflow.none()) {
      overflow = because(Reason::composed_overflow, b(x));
      overflow.witness = b.coordinate(x);
    }
    return offset;
  };
  const Verdict<Layout> v = recognise_function(f, b.size());
  return overflow.none() ? v : refuse<Layout>(overflow);
}

// Mode by mode: mode m of A composed with mode m of the tiler; further modes of A stay. A tiler <3:4,8:2> is the
// layout (3,8):(4,2).
WF_HD constexpr Verdict<Layout> compose_modes(const Layout& a, const Layout& tiler) {
  if (tiler.rank() > a.rank()) return refuse<Layout>(because(Reason::tiler_rank, tiler.rank(), a.rank()));
  LayoutBuilder builder;
  builder.begin();
  for (int m = 0; m < a.rank(); ++m) {
    if (m >= tiler.rank()) {
      builder.append(a.mode(m));
      continue;
    }
    Verdict<Layout> part = compose(a.mode(m), tiler.mode(m));
    if (!part.ok()) {
      part.why.n[7] = m + 1;
      return part;
    }
    builder.append(part.value);
  }
  builder.end();
  return checked(builder);
}

}  // namespace warpfold::layout
