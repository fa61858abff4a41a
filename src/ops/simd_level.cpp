#include "ops/simd_level.h"

namespace warpfold::ops {

Simd simd_level() {
#if defined(__x86_64__)
  static const Simd level = [] {
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512vnni");
    return avx2 && avx512 ? Simd::kAvx512 : avx2 ? Simd::kAvx2 : Simd::kSse4;
  }();
  return level;
#else
  return Simd::kNeon;
#endif
}

const char* simd_name(Simd s) {
  switch (s) {
    case Simd::kSse4: return "SSE4";
    case Simd::kAvx2: return "AVX2";
    case Simd::kAvx512: return "AVX-512 VNNI";
    case Simd::kNeon: return "NEON";
  }
  return "?";
}

}  // namespace warpfold::ops
