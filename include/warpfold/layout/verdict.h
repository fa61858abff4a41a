// Verdicts: every operation returns its result, or the reason why there is none, as a number code with the numbers
// of the case and a witness coordinate. `sentence` prints the reason (reasons.h has the words).
//
// At compile time:  constexpr Layout l = require(compose(a, b));
// A failed verdict stops the build. `require_v<compose(a, b)>` does the same and shows the whole sentence in the
// compiler's message, for arguments that are constants.
#pragma once

#include "warpfold/layout/reasons.h"

namespace warpfold::layout {

// A value or a reason. `grade` says how good an accepted answer is; see the operation. The rules of the chip have
// reasons of their own (hardware/verdict.h): a W has none(), numbers n, and a `sentence`.
template <class T, class W = Why>
struct Verdict {
  T value = {};
  W why = {};
  Grade grade = Grade::exact;

  WF_HD constexpr bool ok() const { return why.none(); }
  WF_HD constexpr explicit operator bool() const { return ok(); }
  WF_HD constexpr const T& operator*() const { return value; }
  WF_HD constexpr const T* operator->() const { return &value; }

  // The reason in one sentence; empty when there is a value.
  constexpr Text reason() const { return sentence(why); }

  constexpr bool operator==(const Verdict&) const = default;
};

WF_HD constexpr Why because(Reason reason, int64_t a = 0, int64_t b = 0, int64_t c = 0, int64_t d = 0) {
  Why why;
  why.reason = reason;
  why.n[0] = a;
  why.n[1] = b;
  why.n[2] = c;
  why.n[3] = d;
  return why;
}

template <class T>
WF_HD constexpr Verdict<T> refuse(const Why& why) {
  Verdict<T> v;
  v.why = why;
  return v;
}

template <class T>
WF_HD constexpr Verdict<T> accept(const T& value, Grade grade = Grade::exact) {
  Verdict<T> v;
  v.value = value;
  v.grade = grade;
  return v;
}

namespace detail {

// `check`, which writes only a reason: most layouts have none.
WF_HD constexpr bool fits(const Layout& l, Why& why) {
  const auto no = [&why](const Why& reason) {
    why = reason;
    return false;
  };
  int64_t size = 1, low = 0, high = 0, extent = 0;
  for (int i = 0; i < l.leaves(); ++i) {
    if (l.shape[i] < 1) return no(because(Reason::bad_size, i, l.shape[i]));
    if (!checked_mul(size, l.shape[i], size)) return no(because(Reason::size_overflow, i, size, l.shape[i]));
    int64_t& bound = l.stride[i] < 0 ? low : high;
    if (!checked_mul_add(l.shape[i] - 1, l.stride[i], bound))
      return no(because(Reason::offset_overflow, i, l.shape[i], l.stride[i]));
  }
  if (low == int64_lowest || !checked_add(high, -low, extent) || extent == int64_largest)
    return no(because(Reason::cosize_overflow, low, high));
  return true;
}

}  // namespace detail

// Does every size and offset of l fit 64 bits, and is every mode at least 1?
WF_HD constexpr Why check(const Layout& l) {
  Why why;
  detail::fits(l, why);
  return why;
}

// f^(x), or false when it does not fit 64 bits.
WF_HD constexpr bool extended_checked(const Layout& l, int64_t x, int64_t& offset) {
  offset = 0;
  for (int i = 0; i + 1 < l.leaves() && x != 0; ++i) {
    const int64_t rest = floor_div(x, l.shape[i]);
    // The quotient's multiple fits wherever x is not negative.
    const int64_t within = x >= 0 ? x - rest * l.shape[i] : floor_mod(x, l.shape[i]);
    if (within != 0 && !checked_mul_add(within, l.stride[i], offset)) return false;
    x = rest;
  }
  return l.leaves() == 0 || checked_mul_add(x, l.stride[l.leaves() - 1], offset);
}

// l, or why it is no layout.
WF_HD constexpr Verdict<Layout> checked(const Layout& l) {
  Verdict<Layout> v;
  if (detail::fits(l, v.why)) v.value = l;
  return v;
}

// The layout in a builder, if it fits its capacity and 64 bits.
WF_HD constexpr Verdict<Layout> checked(const LayoutBuilder& builder) {
  if (!builder.fits()) return refuse<Layout>(because(Reason::too_many_modes, max_leaves));
  return checked(builder.layout());
}

// shape:stride, nested alike.
WF_HD constexpr Verdict<Layout> make_layout(const IntTuple& shape, const IntTuple& stride) {
  if (shape.profile != stride.profile) return refuse<Layout>(because(Reason::profile_mismatch));
  Layout l;
  l.profile = shape.profile;
  for (int i = 0; i < l.profile.leaves; ++i) {
    l.shape[i] = shape.value[i];
    l.stride[i] = stride.value[i];
  }
  return checked(l);
}

namespace detail {

// The compact layout of a shape whose leaf `first`, then first + step, ... are the fastest.
WF_HD constexpr Verdict<Layout> compact(const IntTuple& shape, int first, int step) {
  Layout l;
  l.profile = shape.profile;
  int64_t size = 1;
  for (int i = first; i >= 0 && i < shape.leaves(); i += step) {
    l.shape[i] = shape.value[i];
    l.stride[i] = size;
    if (!checked_mul(size, shape.value[i], size))
      return refuse<Layout>(because(Reason::size_overflow, i, size, shape.value[i]));
  }
  return checked(l);
}

}  // namespace detail

// Column-major compact layout of a shape: (4,(2,3)) -> (4,(2,3)):(1,(4,8)).
WF_HD constexpr Verdict<Layout> column_major(const IntTuple& shape) { return detail::compact(shape, 0, 1); }

// Row-major compact layout of a shape: (4,(2,3)) -> (4,(2,3)):(6,(3,1)).
WF_HD constexpr Verdict<Layout> row_major(const IntTuple& shape) {
  return detail::compact(shape, shape.leaves() - 1, -1);
}

namespace detail {

// Not constexpr, so that reaching it while the program compiles is an error that shows its name.
template <class W>
void layout_verdict_is_a_refusal(const W&) {}

template <int N>
struct Sentence {
  char text[N + 1] = {};
};

template <auto verdict>
constexpr auto sentence_of() {
  constexpr Text text = verdict.reason();
  Sentence<text.length> s;
  for (int i = 0; i < text.length; ++i) s.text[i] = text.data[i];
  return s;
}

template <Sentence reason>
struct Refused {
  static_assert(reason.text[0] == 0,
                "the layout operation has no result; the reason is in the template argument");
};

}  // namespace detail

// The value of a constant verdict; a refusal stops the build.
template <class T, class W>
consteval T require(const Verdict<T, W>& verdict) {
  if (!verdict.ok()) detail::layout_verdict_is_a_refusal(verdict.why);
  return verdict.value;
}

// The same, with the sentence in the compiler's message.
template <auto verdict>
inline constexpr auto require_v = (sizeof(detail::Refused<detail::sentence_of<verdict>()>), verdict.value);

}  // namespace warpfold::layout
