// The instruction sets whose kernels can be tested on this machine.
#pragma once

#include <vector>

#include "ops/simd_level.h"

namespace warpfold::test {

inline std::vector<ops::Simd> simd_levels() {
  using ops::Simd;
  if (ops::simd_level() == Simd::kNeon) return {Simd::kNeon};
  std::vector<Simd> v;
  for (Simd s : {Simd::kSse4, Simd::kAvx2, Simd::kAvx512})
    if (s <= ops::simd_level()) v.push_back(s);
  return v;
}

}  // namespace warpfold::test
