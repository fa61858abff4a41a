// Which instruction sets the kernels are compiled for.
// Include before hwy/foreach_target.h. Sources are compiled once for each of SSE4, AVX2 and AVX-512 (x86-64)
// or NEON (aarch64). The AVX-512 code also uses VNNI; processors with AVX-512 but without VNNI take AVX2.
#pragma once

#include "ops/simd_level.h"

#ifndef HWY_WANT_SSE4
#define HWY_WANT_SSE4 1
#endif
// Scalable vectors cannot be kept in arrays, which the register tiles are.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SCALAR | HWY_EMU128 | HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

// Picks the version of a function table for a level; the table is defined in every target's namespace.
#if defined(__x86_64__)
#define WARPFOLD_PICK(table, level)                                                                             \
  (level == ::warpfold::ops::Simd::kAvx512 ? &N_AVX3::table                                                     \
                                           : level == ::warpfold::ops::Simd::kAvx2 ? &N_AVX2::table : &N_SSE4::table)
#else
#define WARPFOLD_PICK(table, level) (&N_NEON::table)
#endif
