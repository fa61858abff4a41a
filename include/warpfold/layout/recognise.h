// Recognises a layout from its values: is f[0..N) the function of a layout, and of which?
//
// With d = f(1) and n the first i with f(i) != i*d, a layout needs n | N and f(i) = d*(i mod n) + f(n*floor(i/n));
// the same test on j -> f(n*j) gives the next mode. The answer is canonical and unique. Where it stops being a
// layout, the first failing index is the witness. N + N/n + ... evaluations.
#pragma once

#include "warpfold/layout/canonical.h"

namespace warpfold::layout {

namespace detail {

// The refusal at index i, where the value is `have` and a layout would have times * d + base.
WF_HD constexpr Verdict<Layout> refuse_value(int64_t i, int64_t have, int64_t times, int64_t d,
                                             int64_t base) {
  const bool fits = checked_mul_add(times, d, base);
  return refuse<Layout>(
      because(fits ? Reason::not_a_layout : Reason::not_a_layout_wide, i, have, fits ? base : 0));
}

// Is value = times * d + base?
WF_HD constexpr bool is_sum(int64_t value, int64_t times, int64_t d, int64_t base) {
  return checked_mul_add(times, d, base) && base == value;
}

}  // namespace detail

// f is called as f(i) for 0 <= i < size.
template <class Function>
WF_HD constexpr Verdict<Layout> recognise_function(const Function& f, int64_t size) {
  if (size < 1) return refuse<Layout>(because(Reason::bad_size, 0, size));
  if (f(0) != 0) return detail::refuse_value(0, f(0), 0, 0, 0);
  Layout modes;
  int count = 0;
  for (int64_t step = 1; step < size;) {
    const int64_t rest = size / step, d = f(step);
    int64_t n = 2;
    while (n < rest && detail::is_sum(f(step * n), n, d, 0)) ++n;
    if (n > rest) n = rest;
    if (rest % n != 0) return detail::refuse_value(step * n, f(step * n), n, d, 0);
    for (int64_t i = n; i < rest; ++i) {
      const int64_t base = f(step * (i - i % n)), have = f(step * i);
      if (!detail::is_sum(have, i % n, d, base)) return detail::refuse_value(step * i, have, i % n, d, base);
    }
    if (count == max_leaves) return refuse<Layout>(because(Reason::too_many_modes, max_leaves));
    modes.shape[count] = n;
    modes.stride[count++] = d;
    step *= n;
  }
  return checked(detail::from_modes(modes, count));
}

WF_HD constexpr Verdict<Layout> recognise(const int64_t* table, int64_t size) {
  return recognise_function([table](int64_t i) { return table[i]; }, size);
}

}  // namespace warpfold::layout
