// Inverses of layout functions, the image, the null space, and the vectors that two layouts share.
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

namespace detail {

// Depth-first search for an index x with l(x) = offset and other(x) = offset. The largest stride takes its digit first,
// among those with which the smaller strides can still make up the rest.
struct CommonIndex {
  const Layout& other;
  int64_t size, work;  // indices below size, at most `work` steps
  int count = 0;
  int64_t shape[max_leaves] = {}, stride[max_leaves] = {}, place[max_leaves] = {};
  int64_t low[max_leaves + 1] = {}, high[max_leaves + 1] = {};  // what the modes from k on can reach
  int64_t offset = 0, found = 0;

  WF_HD constexpr CommonIndex(const Layout& l, const Layout& also, int64_t steps)
      : other(also), size(l.size() < also.size() ? l.size() : also.size()), work(steps) {
    const auto length = [](int64_t d) { return d < 0 ? -d : d; };
    int64_t step = 1;
    for (int i = 0; i < l.leaves(); step *= l.shape[i++]) {
      if (l.shape[i] == 1) continue;
      int at = count++;
      for (; at > 0 && length(stride[at - 1]) < length(l.stride[i]); --at) {
        shape[at] = shape[at - 1];
        stride[at] = stride[at - 1];
        place[at] = place[at - 1];
      }
      shape[at] = l.shape[i];
      stride[at] = l.stride[i];
      place[at] = step;
    }
    for (int k = count - 1; k >= 0; --k) {
      const int64_t end = (shape[k] - 1) * stride[k];
      low[k] = low[k + 1] + (end < 0 ? end : 0);
      high[k] = high[k + 1] + (end > 0 ? end : 0);
    }
  }

  WF_HD constexpr bool find(int64_t wanted) {
    offset = wanted;
    return wanted >= low[0] && wanted <= high[0] && find(0, wanted, 0);
  }
  WF_HD constexpr bool find(int k, int64_t rest, int64_t index) {
    if (--work < 0) return false;
    if (k == count) {
      found = index;
      return index < size && other(index) == offset;
    }
    const int64_t d = stride[k], most = shape[k] - 1;
    int64_t from = 0, to = most;
    if (d > 0) {
      if (rest > high[k + 1]) from = ceil_div(rest - high[k + 1], d);
      to = floor_div(rest - low[k + 1], d);
    } else if (d < 0) {
      if (rest < low[k + 1]) from = ceil_div(low[k + 1] - rest, -d);
      to = floor_div(high[k + 1] - rest, -d);
    }
    if (to > most) to = most;
    for (int64_t x = from; x <= to && work >= 0; ++x)
      if (find(k + 1, rest - x * d, index + x * place[k])) return true;
    return false;
  }
};

}  // namespace detail

// An index with this offset: is the offset in the image of l? Exact for every layout, in at most `work` steps of search;
// past that the reason is `undecided`.
WF_HD constexpr Verdict<int64_t> index_of(const Layout& l, int64_t offset, int64_t work = default_work) {
  detail::CommonIndex search(l, l, work);
  if (search.find(offset)) return accept(search.found);
  if (search.work < 0) return refuse<int64_t>(because(Reason::undecided, work));
  return refuse<int64_t>(because(Reason::not_in_image, offset, l.lowest(), l.highest()));
}

// The largest n for which the same indices are the offsets 0..n-1 of both a and b: what one copy instruction could
// move if size and alignment were free. Where no offset has two indices these are the right inverses, up to their
// first difference, in O(rank). Beyond, an index of each further offset is searched in at most `work` steps in a and
// as many in b; past that the reason is `undecided`.
WF_HD constexpr Verdict<int64_t> max_common_vector(const Layout& a, const Layout& b,
                                                   int64_t work = default_work) {
  const Layout of_a = right_inverse(a), of_b = right_inverse(b);
  int64_t n = first_difference(of_a, of_b);
  if (n < 0) n = of_a.size() < of_b.size() ? of_a.size() : of_b.size();
  detail::CommonIndex by_a(a, b, work), by_b(b, a, work);
  while (by_a.find(n) || (by_a.work < 0 && by_b.find(n))) ++n;
  if (by_a.work < 0 && by_b.work < 0) return refuse<int64_t>(because(Reason::undecided, work));
  return accept(n);
}

// The widest vector, at most `most` elements, that copies a to b without remainder or misaligned access: it lies in one
// mode of stride 1 at the same place in both, divides that mode's size, and divides every other stride.
WF_HD constexpr int64_t vector_width(const Layout& a, const Layout& b, int64_t most) {
  const int64_t along = right_inverse(a)(1);
  if (right_inverse(a).size() == 1 || right_inverse(b).size() == 1 || right_inverse(b)(1) != along) return 1;
  int64_t width = most;
  for (const Layout* l : {&a, &b}) {
    const Layout merged = coalesce(*l);
    int64_t place = 1;
    for (int i = 0; i < merged.leaves(); place *= merged.shape[i++])
      width = gcd(width, place == along ? merged.shape[i] : merged.stride[i]);
  }
  return width;
}

}  // namespace warpfold::layout
