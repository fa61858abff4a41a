// 64-bit integer arithmetic that reports overflow, and floor division.
// Plain comparisons instead of compiler builtins: the same code is constant-evaluated by g++, clang and nvcc
// and runs on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define WF_HD __host__ __device__
#else
#define WF_HD
#endif

namespace warpfold::layout {

inline constexpr int64_t int64_largest = INT64_MAX;
inline constexpr int64_t int64_lowest = INT64_MIN;

// sum = a + b; false when the sum does not fit.
WF_HD constexpr bool checked_add(int64_t a, int64_t b, int64_t& sum) {
  if (b > 0 ? a > int64_largest - b : a < int64_lowest - b) return false;
  sum = a + b;
  return true;
}

// product = a * b; false when the product does not fit.
WF_HD constexpr bool checked_mul(int64_t a, int64_t b, int64_t& product) {
  const bool small = a == static_cast<int32_t>(a) && b == static_cast<int32_t>(b);
  if (!small && a != 0 && b != 0) {
    const bool overflow = a > 0 ? (b > 0 ? a > int64_largest / b : b < int64_lowest / a)
                                : (b > 0 ? a < int64_lowest / b : b < int64_largest / a);
    if (overflow) return false;
  }
  product = a * b;
  return true;
}

// sum += a * b; false when product or sum does not fit.
WF_HD constexpr bool checked_mul_add(int64_t a, int64_t b, int64_t& sum) {
  int64_t product = 0;
  return checked_mul(a, b, product) && checked_add(sum, product, sum);
}

// a / b for a >= 0, b > 0; the 32-bit instruction where it suffices, because it is several times faster.
WF_HD constexpr int64_t divide_positive(int64_t a, int64_t b) {
  if (((a | b) >> 32) == 0) return static_cast<int64_t>(static_cast<uint32_t>(a) / static_cast<uint32_t>(b));
  return a / b;
}

// The largest q with q * b <= a, for b > 0 and any a.
WF_HD constexpr int64_t floor_div(int64_t a, int64_t b) {
  if (a >= 0) return a < b ? 0 : divide_positive(a, b);
  return -1 - divide_positive(-1 - a, b);
}

// a - b * floor(a / b), in [0, b), for b > 0. Powers of two, the common case, need no division.
WF_HD constexpr int64_t floor_mod(int64_t a, int64_t b) {
  if ((b & (b - 1)) == 0) return a & (b - 1);
  if (a >= 0) return a < b ? a : a - b * divide_positive(a, b);
  const int64_t below = -1 - a;  // b * floor_div(a, b) need not fit
  return b - 1 - (below - b * divide_positive(below, b));
}

// The smallest q with q * b >= a, for a >= 0, b > 0.
WF_HD constexpr int64_t ceil_div(int64_t a, int64_t b) { return a == 0 ? 0 : 1 + divide_positive(a - 1, b); }

// Does b divide a? (a >= 0, b > 0)
WF_HD constexpr bool divides(int64_t b, int64_t a) { return a - b * divide_positive(a, b) == 0; }

WF_HD constexpr int64_t gcd(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

}  // namespace warpfold::layout
