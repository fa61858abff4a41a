// The instruction sets that kernels are compiled for, and the best that this machine runs.
#pragma once

namespace warpfold::ops {

enum class Simd { kSse4, kAvx2, kAvx512, kNeon };

Simd simd_level();  // the best that this machine runs; it runs those before it in the list too
const char* simd_name(Simd s);   // "AVX-512 VNNI"

}  // namespace warpfold::ops
