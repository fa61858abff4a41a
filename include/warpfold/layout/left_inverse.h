// The left inverse of A: a layout J with J(A(x)) = x for every index x of A.
//
// When it exists. A layout with the boundaries 1 = P_0 | P_1 | ... | P_m (the prefix products of its sizes)
// is a sum
//     J(y) = sum_t c_t * floor(y / P_t)    with integers c_t, and every such sum is a layout
// (the floor form of composition.h). So A has a left inverse exactly when no offset is negative and some
// chain of divisors and integers c solve sum_t c_t * floor(A(x) / P_t) = x for all x. Boundaries above the
// largest offset add nothing, and a finer chain can do what a coarser one can, with c_t = 0: it is enough to
// try the chains that grow by one prime at a time. For a fixed chain the equations are linear, and c is found
// exactly over the integers.
//
// The search takes the boundaries in ascending order. An offset below the next boundary has no part in those
// after it, so its equation already holds or fails: most chains end early. The largest offset at which a
// chain had to end is the witness of a refusal: no layout takes back all offsets up to it.
//
// Before the search the chain P_k = largest multiple of P_(k-1) up to d_k is tried, with d_k the ascending
// strides. It is found in O(rank), and it is the answer whenever every stride exceeds what the smaller ones
// reach and the rest of a stride does not carry; among them are all strides that divide one another.
#pragma once

#include "warpfold/layout/inverse.h"

namespace warpfold::layout {

namespace detail {

// Offsets are searched below this: a chain of primes then fits the modes of a layout.
inline constexpr int64_t left_inverse_offsets = int64_t{1} << 20;

// All integer solutions c of the equations so far: c = at + an integer combination of the rows of `free`.
struct IntegerSolutions {
  int unknowns = 0, dimension = 0;
  int64_t at[max_leaves] = {};
  int64_t free[max_leaves][max_leaves] = {};
  bool fits = true;  // did all numbers fit 64 bits?

  WF_HD constexpr void add_unknown() {
    for (int t = 0; t < max_leaves; ++t) free[dimension][t] = 0;
    free[dimension++][unknowns++] = 1;
  }
  WF_HD constexpr int64_t dot(const int64_t* row, const int64_t* c) {
    int64_t sum = 0;
    for (int t = 0; t < unknowns; ++t) fits = fits && checked_mul_add(row[t], c[t], sum);
    return sum;
  }
  // c -= times * d
  WF_HD constexpr void subtract(int64_t* c, int64_t times, const int64_t* d) {
    for (int t = 0; t < unknowns; ++t) fits = fits && checked_mul_add(-times, d[t], c[t]);
  }
  // Adds row * c = value; false when no solution is left. Euclid's algorithm on the free rows leaves one with
  // a nonzero product, which is then spent on the equation.
  WF_HD constexpr bool add_equation(const int64_t* row, int64_t value) {
    int64_t product[max_leaves] = {};
    for (int j = 0; j < dimension; ++j) product[j] = dot(row, free[j]);
    int pivot = -1;
    for (int j = 0; j < dimension && fits; ++j) {
      if (product[j] == 0) continue;
      if (pivot < 0) {
        pivot = j;
        continue;
      }
      for (int big = j, small = pivot; fits;) {
        const int64_t times = product[big] / product[small];
        subtract(free[big], times, free[small]);
        product[big] -= times * product[small];
        if (product[big] == 0) {
          pivot = small;
          break;
        }
        const int next = big;
        big = small;
        small = next;
      }
    }
    const int64_t missing = dot(row, at) - value;
    if (!fits || pivot < 0) return fits && missing == 0;
    if (missing % product[pivot] != 0) return false;
    subtract(at, missing / product[pivot], free[pivot]);
    --dimension;
    for (int t = 0; t < unknowns; ++t) free[pivot][t] = free[dimension][t];
    return fits;
  }
};

struct LeftInverseSearch {
  SortedPlaces l;
  int64_t size, highest, work;
  int64_t boundary[max_leaves] = {1};
  int64_t solution[max_leaves] = {};
  int count = 0;  // boundaries of the solution
  int64_t reached = 0, reached_index = 0;

  // The equations of all offsets in [low, high).
  WF_HD constexpr bool impose(IntegerSolutions& c, int64_t low, int64_t high) {
    int64_t last = 0, last_index = 0;
    for (int64_t x = 0; x < size && work > 0; ++x) {
      int64_t offset = 0, index = 0, rest = x;
      for (int k = 0; k < l.count; ++k) {
        const int64_t digit = rest % l.sorted.shape[k];
        rest /= l.sorted.shape[k];
        offset += digit * l.sorted.stride[k];
        index += digit * l.place[k];
      }
      --work;
      if (offset < low || offset >= high) continue;
      if (offset > last) last = offset, last_index = index;
      int64_t row[max_leaves] = {};
      for (int t = 0; t < c.unknowns; ++t) row[t] = offset / boundary[t];
      if (c.add_equation(row, index)) continue;
      if (!c.fits) work = 0;
      if (last > reached) reached = last, reached_index = last_index;
      return false;
    }
    return work > 0;
  }

  // Can the chain that ends at boundary[unknowns - 1] be continued? All smaller offsets are settled.
  WF_HD constexpr bool find(const IntegerSolutions& c) {
    const int64_t top = boundary[c.unknowns - 1];
    const int64_t before = reached, before_index = reached_index;
    IntegerSolutions last = c;
    if (impose(last, top, highest + 1)) {
      count = last.unknowns;
      for (int t = 0; t < count; ++t) solution[t] = last.at[t];
      return true;
    }
    if (top > highest / 2) return false;
    reached = before, reached_index = before_index;  // a finer chain may get further or end earlier
    for (int64_t p = 2; p <= highest / top && work > 0; ++p) {
      if (!is_prime(p)) continue;
      IntegerSolutions next = c;
      if (!impose(next, top, top * p)) continue;
      boundary[c.unknowns] = top * p;
      next.add_unknown();
      if (find(next)) return true;
    }
    return false;
  }

  WF_HD static constexpr bool is_prime(int64_t p) {
    for (int64_t q = 2; q * q <= p; ++q)
      if (divides(q, p)) return false;
    return true;
  }

  // sum_t c_t * floor(y / P_t) for y up to the highest offset.
  WF_HD constexpr Verdict<Layout> layout() const {
    Layout modes;
    for (int t = 0; t < count; ++t) {
      const int64_t size_here = t + 1 < count ? boundary[t + 1] / boundary[t] : highest / boundary[t] + 1;
      int64_t stride = solution[t];
      if (t > 0 && !checked_mul_add(modes.stride[t - 1], modes.shape[t - 1], stride))
        return refuse<Layout>(because(Reason::offset_overflow, t, size_here, stride));
      modes.shape[t] = size_here;
      modes.stride[t] = stride;
    }
    return checked(coalesce(from_modes(modes, count)));
  }
};

// The candidate of the chain P_k = largest multiple of P_(k-1) up to d_k; it need not be right.
WF_HD constexpr Verdict<Layout> greedy_left_inverse(const SortedPlaces& l, int64_t highest) {
  Layout modes;
  int count = 0;
  int64_t extent = 1;
  for (int k = 0; k < l.count; ++k) {
    const int64_t d = l.sorted.stride[k], size = divide_positive(d, extent);
    if (count + 2 > max_leaves) return refuse<Layout>(because(Reason::too_many_modes, max_leaves));
    if (k > 0 || size > 1) {
      modes.shape[count] = size;
      modes.stride[count] = k > 0 ? modes.stride[count] : 0;
      ++count;
    }
    extent *= size;
    int64_t stride = l.place[k],
            rest = d - extent;  // the digit of this mode is 1, those below spell the rest
    for (int t = 0; t < count; ++t) {
      const int64_t up = divide_positive(rest, modes.shape[t]);
      if (!checked_mul_add(-(rest - up * modes.shape[t]), modes.stride[t], stride))
        return refuse<Layout>(because(Reason::offset_overflow, k, d, stride));
      rest = up;
    }
    modes.shape[count] = divide_positive(highest, extent) + 1;
    modes.stride[count] = stride;
  }
  return checked(from_modes(modes, count + 1));
}

}  // namespace detail

// Exact, with at most `work` offsets looked at; past that, or for offsets past 2^20 where the O(rank)
// candidate is not the answer, the reason is `undecided`.
WF_HD constexpr Verdict<Layout> left_inverse(const Layout& l, int64_t work = default_work) {
  const int64_t size = l.size(), highest = l.highest();
  if (size == 1) return accept(make_layout(1, 0));
  for (int i = 0; i < l.leaves(); ++i) {
    if (l.shape[i] == 1 || l.stride[i] >= 0) continue;
    Why why = because(Reason::left_inverse_negative, l.stride[i]);
    why.witness.profile = l.profile;
    why.witness.value[i] = 1;
    return refuse<Layout>(why);
  }
  const Verdict<Layout> one_to_one = injective(l, work);
  if (one_to_one.why.reason == Reason::not_injective) return one_to_one;
  const detail::SortedPlaces places = detail::sort_places(l);
  const Verdict<Layout> candidate = detail::greedy_left_inverse(places, highest);
  if (candidate.ok()) {
    const Verdict<Layout> index = compose(candidate.value, l, work);
    if (index.ok() && equal(index.value, make_layout(size, 1))) return candidate;
  }
  if (highest >= detail::left_inverse_offsets) return refuse<Layout>(because(Reason::undecided, work));
  detail::LeftInverseSearch search{places, size, highest, work};
  detail::IntegerSolutions solutions;
  solutions.add_unknown();
  if (search.find(solutions)) return search.layout();
  if (search.work <= 0) return refuse<Layout>(because(Reason::undecided, work));
  Why why = because(Reason::left_inverse_none, search.reached_index, search.reached);
  why.witness = l.coordinate(search.reached_index);
  return refuse<Layout>(why);
}

}  // namespace warpfold::layout
