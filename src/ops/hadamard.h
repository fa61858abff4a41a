// Rotation of a head by a Walsh-Hadamard matrix: y = H x, H symmetric and orthogonal, so H is its own inverse.
//
// An int8 cache has one scale for all dimensions of a head, and models have heads in which one dimension is many
// times larger than the rest: it alone would use the 8 bits. H spreads it over all dimensions (QuaRot, Ashkboos et
// al. 2024). Scores stay the same because (H q)(H k) = q k; outputs are rotated back, H (sum_j p_j H v_j).
#pragma once

#include <cmath>
#include <cstdint>

namespace warpfold::ops {

// x (n) in place, in independent blocks of the largest power of two that divides n.
inline void hadamard(float* x, std::int64_t n) {
  const std::int64_t block = n & -n;
  for (std::int64_t base = 0; base < n; base += block)
    for (std::int64_t half = 1; half < block; half *= 2)
      for (std::int64_t i = base; i < base + block; i += 2 * half)
        for (std::int64_t j = i; j < i + half; ++j) {
          const float a = x[j], b = x[j + half];
          x[j] = a + b;
          x[j + half] = a - b;
        }
  const float scale = 1.0f / std::sqrt(static_cast<float>(block));
  for (std::int64_t i = 0; i < n; ++i) x[i] *= scale;
}

}  // namespace warpfold::ops
