// Layouts that are permutations of [0, N), and the layouts L_(E,alpha) of prime lists.
//
// A layout permutes [0, N) iff its sorted strides are 1, N_0, N_0*N_1, ...: an ordered factorisation of N in order
// of stride, and an order of these factors as modes. Two factorisations give one function only when neighbours
// coalesce, so the canonical ones count the functions: 1, 1, 2, 3, 6, 2, 14 for N = 2, 3, 4, 6, 8, 9, 12. The inverse
// is again a layout (the right inverse); the composition need not be one.
#pragma once

#include "warpfold/layout/inverse.h"

namespace warpfold::layout {

WF_HD constexpr bool is_permutation(const Layout& l) {
  for (int i = 0; i < l.leaves(); ++i)
    if (l.shape[i] > 1 && l.stride[i] <= 0) return false;
  return is_compact(l);
}

// E = (p_1,...,p_k), alpha a map into {1..k}: shape (p_alpha(1), p_alpha(2), ...), strides the products of the
// entries of E before alpha(i). E = [2,2,2], alpha = (2,3,1) is (2,2,2):(2,4,1).
WF_HD constexpr Verdict<Layout> prime_list_layout(const IntTuple& e, const IntTuple& alpha) {
  Layout modes;
  for (int i = 0; i < alpha.leaves(); ++i) {
    const int64_t to = alpha.value[i];
    if (to < 1 || to > e.leaves()) return refuse<Layout>(because(Reason::permutation_map, i, to, e.leaves()));
    int64_t stride = 1;
    for (int k = 0; k + 1 < to; ++k)
      if (!checked_mul(stride, e.value[k], stride))
        return refuse<Layout>(because(Reason::size_overflow, k, stride, e.value[k]));
    modes.shape[i] = e.value[to - 1];
    modes.stride[i] = stride;
  }
  return checked(detail::from_modes(modes, alpha.leaves()));
}

namespace detail {

// Calls f(layout) for every order of the first `count` sorted factors that does not coalesce.
template <class Function>
constexpr void for_each_order(const Layout& factors, int count, Layout& order, int placed, uint32_t used, Function& f) {
  if (placed == count) {
    f(from_modes(order, count));
    return;
  }
  for (int i = 0; i < count; ++i) {
    if (used >> i & 1) continue;
    if (placed > 0 && order.shape[placed - 1] * order.stride[placed - 1] == factors.stride[i]) continue;
    order.shape[placed] = factors.shape[i];
    order.stride[placed] = factors.stride[i];
    for_each_order(factors, count, order, placed + 1, used | uint32_t{1} << i, f);
  }
}

template <class Function>
constexpr void for_each_factorisation(int64_t rest, int64_t extent, Layout& factors, int count, Function& f) {
  if (rest == 1) {
    Layout order;
    for_each_order(factors, count, order, 0, 0, f);
    return;
  }
  for (int64_t p = 2; p <= rest; ++p) {
    if (rest % p != 0) continue;
    factors.shape[count] = p;
    factors.stride[count] = extent;
    for_each_factorisation(rest / p, extent * p, factors, count + 1, f);
  }
}

}  // namespace detail

// Calls f once for every permutation of [0, n) that is a layout function, with its canonical layout; 1 <= n < 2^20.
template <class Function>
constexpr void for_each_permutation(int64_t n, Function f) {
  Layout factors;
  detail::for_each_factorisation(n, 1, factors, 0, f);
}

constexpr int64_t count_permutations(int64_t n) {
  int64_t count = 0;
  for_each_permutation(n, [&](const Layout&) { ++count; });
  return count;
}

}  // namespace warpfold::layout
