// Nested tuples of 64-bit integers, such as (4,(2,3)): shapes, strides and coordinates.
//
// The leaves are stored in order; the nesting is stored as the number of parentheses that open before each leaf
// and close after it: (4,(2,3)) has open = 1,1,0 and close = 0,0,2. So a tuple is a flat array of numbers with a
// profile beside it: a fixed-size value without pointers that works as a template argument and on the device,
// and an operation on the flat numbers keeps or drops the profile as it likes. The types are aggregates, because
// nvcc's host code spells a template argument as Layout{...}.
//
// A bare number is a profile with one leaf and no parenthesis; () is the profile without leaves. An empty tuple
// inside another one cannot be written.
#pragma once

#include "warpfold/layout/checked.h"

namespace warpfold::layout {

inline constexpr int max_leaves = 24;

struct Profile {
  uint8_t leaves = 0;
  uint8_t open[max_leaves] = {};
  uint8_t close[max_leaves] = {};

  // One bare number.
  WF_HD static constexpr Profile scalar() {
    Profile p;
    p.leaves = 1;
    return p;
  }

  // (_,_,...): n leaves in one tuple.
  WF_HD static constexpr Profile flat(int n) {
    Profile p;
    p.leaves = static_cast<uint8_t>(n);
    if (n > 0) {
      p.open[0] = 1;
      p.close[n - 1] = 1;
    }
    return p;
  }

  WF_HD constexpr bool is_scalar() const { return leaves == 1 && open[0] == 0; }

  // Number of top-level modes: 1 for a bare number.
  WF_HD constexpr int rank() const {
    int depth = 0, modes = 0;
    for (int i = 0; i < leaves; ++i) {
      if (depth <= 1) ++modes;
      depth += open[i] - close[i];
    }
    return modes;
  }

  // Deepest nesting: 0 for a bare number, 1 for a flat tuple.
  WF_HD constexpr int depth() const {
    int depth = leaves == 0 ? 1 : 0, deepest = depth;
    for (int i = 0; i < leaves; ++i) {
      depth += open[i];
      if (depth > deepest) deepest = depth;
      depth -= close[i];
    }
    return deepest;
  }

  // The first leaf of top-level mode m; for m = rank() the number of leaves.
  WF_HD constexpr int mode_begin(int m) const {
    int depth = 0, modes = 0;
    for (int i = 0; i < leaves; ++i) {
      if (depth <= 1) {
        if (modes == m) return i;
        ++modes;
      }
      depth += open[i] - close[i];
    }
    return leaves;
  }

  // The profile of top-level mode m alone.
  WF_HD constexpr Profile mode(int m) const {
    if (is_scalar()) return *this;
    const int begin = mode_begin(m), end = mode_begin(m + 1);
    Profile p;
    p.leaves = static_cast<uint8_t>(end - begin);
    for (int i = begin; i < end; ++i) {
      p.open[i - begin] = open[i];
      p.close[i - begin] = close[i];
    }
    if (begin == 0) --p.open[0];
    if (end == leaves) --p.close[end - begin - 1];
    return p;
  }

  // One past the last leaf of the subtree that starts at `leaf` with `inner` parentheses of its own.
  WF_HD constexpr int subtree_end(int leaf, int inner) const {
    while (leaf < leaves) {
      inner -= close[leaf++];
      if (inner <= 0) break;
      if (leaf < leaves) inner += open[leaf];
    }
    return leaf;
  }

  // Can a coordinate nested like `c` name an element of a shape nested like this? A number in c may stand for a
  // whole nested mode.
  WF_HD constexpr bool accepts(const Profile& c) const {
    if (c.is_scalar()) return true;
    int leaf = 0, here = 0, depth = 0;
    for (int at = 0; at < c.leaves; ++at) {
      if (leaf >= leaves) return false;
      const int inner = depth + open[leaf] - here - c.open[at];
      if (inner < 0) return false;
      here += c.open[at] - c.close[at];
      for (const int end = subtree_end(leaf, inner); leaf < end; ++leaf) depth += open[leaf] - close[leaf];
      if (depth != here) return false;
    }
    return leaf == leaves;
  }

  constexpr bool operator==(const Profile&) const = default;
};

// Builds a profile leaf by leaf: begin() and end() are the parentheses. `fits` turns false past the capacity.
struct ProfileBuilder {
  Profile profile;
  int pending = 0;
  bool fits = true;

  WF_HD constexpr void begin() { ++pending; }
  WF_HD constexpr void end() {
    if (profile.leaves > 0 && pending == 0) ++profile.close[profile.leaves - 1];
    if (pending > 0) --pending;
  }
  WF_HD constexpr void leaf() {
    if (profile.leaves >= max_leaves || pending > 255) {
      fits = false;
      return;
    }
    profile.open[profile.leaves++] = static_cast<uint8_t>(pending);
    pending = 0;
  }
  // All leaves of p, nested as in p.
  WF_HD constexpr void append(const Profile& p) {
    for (int i = 0; i < p.leaves; ++i) {
      for (int k = 0; k < p.open[i]; ++k) begin();
      leaf();
      if (!fits) return;
      for (int k = 0; k < p.close[i]; ++k) end();
    }
  }
};

struct IntTuple {
  Profile profile;
  int64_t value[max_leaves] = {};

  WF_HD constexpr int leaves() const { return profile.leaves; }
  WF_HD constexpr int rank() const { return profile.rank(); }
  WF_HD constexpr int depth() const { return profile.depth(); }
  WF_HD constexpr int64_t operator[](int leaf) const { return value[leaf]; }

  WF_HD constexpr IntTuple mode(int m) const {
    IntTuple t;
    t.profile = profile.mode(m);
    const int begin = profile.mode_begin(m);
    for (int i = 0; i < t.profile.leaves; ++i) t.value[i] = value[begin + i];
    return t;
  }

  constexpr bool operator==(const IntTuple&) const = default;
};

// A bare number, or a flat tuple of several: ints(7) is 7, ints(1,2) is (1,2).
template <class... Numbers>
  requires(sizeof...(Numbers) >= 1 && sizeof...(Numbers) <= max_leaves)
WF_HD constexpr IntTuple ints(Numbers... numbers) {
  constexpr int count = sizeof...(Numbers);
  const int64_t list[] = {static_cast<int64_t>(numbers)...};
  IntTuple t;
  t.profile = count == 1 ? Profile::scalar() : Profile::flat(count);
  for (int i = 0; i < count; ++i) t.value[i] = list[i];
  return t;
}

}  // namespace warpfold::layout
