// Brute-force deciders that share no code with the library: values are computed digit by digit, and the existence of
// a layout is decided by trying every ordered factorisation of the size.
#pragma once

#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "warpfold/layout/algebra.h"

namespace warpfold::layout::oracle {

inline int64_t modulo(int64_t a, int64_t b) { return ((a % b) + b) % b; }

// The extended function of l.
inline int64_t value(const Layout& l, int64_t x) {
  int64_t sum = 0;
  for (int i = 0; i < l.leaves(); ++i) {
    const bool last = i + 1 == l.leaves();
    const int64_t digit = last ? x : modulo(x, l.shape[i]);
    sum += digit * l.stride[i];
    if (!last) x = (x - digit) / l.shape[i];
  }
  return sum;
}

inline std::vector<int64_t> values(const Layout& l) {
  std::vector<int64_t> v(l.size());
  for (int64_t x = 0; x < l.size(); ++x) v[x] = value(l, x);
  return v;
}

// Is some layout's table f? Tries every first size n, fixes its stride f(1), and goes on with every n-th value.
inline bool is_layout(const std::vector<int64_t>& f) {
  if (f[0] != 0) return false;
  const int64_t size = static_cast<int64_t>(f.size());
  if (size == 1) return true;
  for (int64_t n = 2; n <= size; ++n) {
    if (size % n != 0) continue;
    bool fits = true;
    for (int64_t i = 0; i < size && fits; ++i) fits = f[i] == (i % n) * f[1] + f[i - i % n];
    if (!fits) continue;
    std::vector<int64_t> rest(size / n);
    for (int64_t j = 0; j < size / n; ++j) rest[j] = f[j * n];
    if (is_layout(rest)) return true;
  }
  return false;
}

// Does a layout exist that refines b's modes and has the function a(b(x))? Along each mode its function is forced.
inline bool composable(const Layout& a, const Layout& b) {
  std::vector<std::vector<int64_t>> along(b.leaves());
  for (int k = 0; k < b.leaves(); ++k) {
    for (int64_t x = 0; x < b.shape[k]; ++x) along[k].push_back(value(a, x * b.stride[k]));
    if (!is_layout(along[k])) return false;
  }
  for (int64_t x = 0; x < b.size(); ++x) {
    int64_t rest = x, sum = 0;
    for (int k = 0; k < b.leaves(); ++k) {
      sum += along[k][rest % b.shape[k]];
      rest /= b.shape[k];
    }
    if (sum != value(a, value(b, x))) return false;
  }
  return true;
}

// Does r have the function a(b(x)) and refine b's modes: mode by mode the same sizes?
inline bool is_composition(const Layout& r, const Layout& a, const Layout& b) {
  if (r.size() != b.size()) return false;
  for (int64_t x = 0; x < b.size(); ++x)
    if (value(r, x) != value(a, value(b, x))) return false;
  int leaf = 0;
  for (int k = 0; k < b.leaves(); ++k) {
    int64_t product = 1;
    do {
      if (leaf == r.leaves()) return false;
      product *= r.shape[leaf++];
    } while (product < b.shape[k]);
    if (product != b.shape[k]) return false;
  }
  return leaf == r.leaves() && (b.profile.is_scalar() || b.profile.rank() == r.profile.rank());
}

inline Layout flat(const std::vector<int64_t>& shape, const std::vector<int64_t>& stride) {
  Layout l;
  l.profile = shape.size() == 1 ? Profile::scalar() : Profile::flat(static_cast<int>(shape.size()));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    l.shape[i] = shape[i];
    l.stride[i] = stride[i];
  }
  return l;
}

inline std::string text(const Layout& l) { return std::string(to_text(l).view()); }
inline std::string text(const Text& t) { return std::string(t.view()); }

// The value, or the reason: what the tables compare.
template <class T>
std::string text(const Verdict<T>& v) {
  return v.ok() ? text(to_text(v.value)) : text(v.reason());
}

inline Layout read(const char* notation) {
  const Verdict<Layout> v = parse_layout(notation);
  if (!v.ok()) throw std::runtime_error(std::string(notation) + ": " + text(v.reason()));
  return v.value;
}

}  // namespace warpfold::layout::oracle
