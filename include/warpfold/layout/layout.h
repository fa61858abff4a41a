// A layout: the function f(x) = sum of stride_i * x_i, where x_i are the digits of x in the mixed radix given by
// the shape, first mode fastest. (4,(2,3)):(3,(12,1)) maps coordinate (1,(1,2)) to 1*3 + 1*12 + 2*1 = 17.
//
// One fixed-size structural value, the same at compile time, at run time, on the device and as a template argument:
// no static/dynamic split, so an operation is an ordinary function. Sizes and strides are 64 bit. A shape is at
// least 1 in every mode; strides may be 0 (broadcast) or negative. `check` says whether all offsets fit 64 bits;
// every operation returns checked layouts.
//
// The extended function f^ lets the last digit run without bound (and below zero), which is the function that
// composition continues past the size.
#pragma once

#include "warpfold/layout/tuple.h"

namespace warpfold::layout {

// Layout{} is ():(), one element at offset 0.
struct Layout {
  Profile profile;
  int64_t shape[max_leaves] = {};
  int64_t stride[max_leaves] = {};

  WF_HD constexpr int leaves() const { return profile.leaves; }
  WF_HD constexpr int rank() const { return profile.rank(); }
  WF_HD constexpr int depth() const { return profile.depth(); }

  // Number of elements.
  WF_HD constexpr int64_t size() const {
    int64_t product = 1;
    for (int i = 0; i < profile.leaves; ++i) product *= shape[i];
    return product;
  }
  // Smallest and largest offset.
  WF_HD constexpr int64_t lowest() const {
    int64_t sum = 0;
    for (int i = 0; i < profile.leaves; ++i) sum += stride[i] < 0 ? (shape[i] - 1) * stride[i] : 0;
    return sum;
  }
  WF_HD constexpr int64_t highest() const {
    int64_t sum = 0;
    for (int i = 0; i < profile.leaves; ++i) sum += stride[i] > 0 ? (shape[i] - 1) * stride[i] : 0;
    return sum;
  }
  // Extent of the offsets: highest - lowest + 1.
  WF_HD constexpr int64_t cosize() const { return highest() - lowest() + 1; }

  // Offset of index x, 0 <= x < size().
  WF_HD constexpr int64_t operator()(int64_t x) const { return extended(x); }

  // Offset of any index under the extended function.
  WF_HD constexpr int64_t extended(int64_t x) const {
    int64_t sum = 0;
    for (int i = 0; i + 1 < profile.leaves; ++i) {
      const int64_t rest = floor_div(x, shape[i]);
      sum += (x - rest * shape[i]) * stride[i];
      x = rest;
    }
    return profile.leaves == 0 ? 0 : sum + x * stride[profile.leaves - 1];
  }

  // Offset of a coordinate. A coordinate may be nested like the shape, or give one number for a whole nested mode:
  // (1,5) and (1,(1,2)) name the same element of (4,(2,3)).
  WF_HD constexpr int64_t operator()(const IntTuple& c) const {
    if (c.profile.is_scalar()) return extended(c.value[0]);
    int64_t sum = 0;
    for (int leaf = 0, at = 0; at < c.leaves() && leaf < leaves(); ++at) {
      const int inner = profile.open[leaf] - c.profile.open[at];
      int64_t x = c.value[at];
      for (const int last = profile.subtree_end(leaf, inner) - 1; leaf < last; ++leaf) {
        const int64_t rest = floor_div(x, shape[leaf]);
        sum += (x - rest * shape[leaf]) * stride[leaf];
        x = rest;
      }
      sum += x * stride[leaf++];
    }
    return sum;
  }
  template <class... Numbers>
  requires(sizeof...(Numbers) >= 1) WF_HD constexpr int64_t operator()(int64_t first, Numbers... rest) const {
    return (*this)(ints(first, rest...));
  }

  // The coordinate of index x, nested like the shape; an index past the size wraps.
  WF_HD constexpr IntTuple coordinate(int64_t x) const {
    IntTuple c;
    c.profile = profile;
    for (int i = 0; i < profile.leaves; ++i) {
      const int64_t rest = floor_div(x, shape[i]);
      c.value[i] = x - rest * shape[i];
      x = rest;
    }
    return c;
  }
  // The index of a coordinate that is nested like the shape.
  WF_HD constexpr int64_t index(const IntTuple& c) const {
    int64_t x = 0;
    for (int i = profile.leaves - 1; i >= 0; --i) x = x * shape[i] + c.value[i];
    return x;
  }

  // Top-level mode m as a layout of its own.
  WF_HD constexpr Layout mode(int m) const {
    const int begin = profile.mode_begin(m);
    Layout l;
    l.profile = profile.mode(m);
    for (int i = 0; i < l.profile.leaves; ++i) {
      l.shape[i] = shape[begin + i];
      l.stride[i] = stride[begin + i];
    }
    return l;
  }
  WF_HD constexpr IntTuple shapes() const {
    IntTuple t;
    t.profile = profile;
    for (int i = 0; i < profile.leaves; ++i) t.value[i] = shape[i];
    return t;
  }
  WF_HD constexpr IntTuple strides() const {
    IntTuple t;
    t.profile = profile;
    for (int i = 0; i < profile.leaves; ++i) t.value[i] = stride[i];
    return t;
  }

  // Same shape, stride and nesting. For "same function" see `equal` in canonical.h.
  constexpr bool operator==(const Layout&) const = default;
};

// size:stride with one bare mode, unchecked as it is written; of tuples, and checked: verdict.h.
WF_HD constexpr Layout make_layout(int64_t size, int64_t stride) {
  Layout l;
  l.profile = Profile::scalar();
  l.shape[0] = size;
  l.stride[0] = stride;
  return l;
}

// Collects modes, nested as told, into a layout. `fits` turns false past the capacity.
struct LayoutBuilder {
  ProfileBuilder nesting;
  Layout result;

  WF_HD constexpr void begin() { nesting.begin(); }
  WF_HD constexpr void end() { nesting.end(); }
  WF_HD constexpr void add(int64_t size, int64_t step) {
    const int at = nesting.profile.leaves;
    nesting.leaf();
    if (!nesting.fits) return;
    result.shape[at] = size;
    result.stride[at] = step;
  }
  // All of l as one mode; ():() is written 1:0 there, because a tuple holds no empty one.
  WF_HD constexpr void append(const Layout& l) {
    if (l.leaves() == 0) return add(1, 0);
    const int at = nesting.profile.leaves;
    nesting.append(l.profile);
    if (!nesting.fits) return;
    for (int i = 0; i < l.leaves(); ++i) {
      result.shape[at + i] = l.shape[i];
      result.stride[at + i] = l.stride[i];
    }
  }
  WF_HD constexpr bool fits() const { return nesting.fits; }
  WF_HD constexpr Layout layout() const {
    Layout l = result;
    l.profile = nesting.profile;
    return l;
  }
};

}  // namespace warpfold::layout
