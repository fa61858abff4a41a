// m64n128 WGMMA of each type, with A in shared memory or in registers. d has 64 registers.
#pragma once

#include "support.h"

namespace device_check {

enum class MatrixType { bf16, s8, e4m3, tf32 };

constexpr int matrix_n = 128;

// clang-format off
#define WF_D4(c, i) "+" c(d[i]), "+" c(d[i + 1]), "+" c(d[i + 2]), "+" c(d[i + 3])
#define WF_D16(c, i) WF_D4(c, i), WF_D4(c, i + 4), WF_D4(c, i + 8), WF_D4(c, i + 12)
#define WF_D64(c) WF_D16(c, 0), WF_D16(c, 16), WF_D16(c, 32), WF_D16(c, 48)
#define WF_REGS64                                                                                            \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27," \
  "%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53," \
  "%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}"
// clang-format on

#define WF_WGMMA_SHARED(c, shape, flags)                                                                 \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned." shape " " WF_REGS64 \
               ", %64, %65, p" flags ";}"                                                                \
               : WF_D64(c)                                                                               \
               : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)), "n"(TransA), "n"(TransB))
#define WF_WGMMA_REGISTERS(c, shape, flags)                                                              \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %69, 0; wgmma.mma_async.sync.aligned." shape " " WF_REGS64 \
               ", {%64,%65,%66,%67}, %68, p" flags ";}"                                                  \
               : WF_D64(c)                                                                               \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)),  \
                 "n"(TransB))

// D (+)= A * B^T for one step of K: A (M,K), B (N,K) by descriptor. TransA, TransB: 1 where MN-major.
template <MatrixType T, int TransA, int TransB, class Acc>
__device__ __forceinline__ void wgmma(Acc (&d)[64], uint64_t a, uint64_t b, bool accumulate) {
  if constexpr (T == MatrixType::bf16)
    WF_WGMMA_SHARED("f", "m64n128k16.f32.bf16.bf16", ", 1, 1, %67, %68");
  else if constexpr (T == MatrixType::s8)
    WF_WGMMA_SHARED("r", "m64n128k32.s32.s8.s8", "");
  else if constexpr (T == MatrixType::e4m3)
    WF_WGMMA_SHARED("f", "m64n128k32.f32.e4m3.e4m3", ", 1, 1");
  else
    WF_WGMMA_SHARED("f", "m64n128k8.f32.tf32.tf32", ", 1, 1");
}
template <MatrixType T, int TransB, class Acc>
__device__ __forceinline__ void wgmma(Acc (&d)[64], const uint32_t (&a)[4], uint64_t b, bool accumulate) {
  if constexpr (T == MatrixType::bf16)
    WF_WGMMA_REGISTERS("f", "m64n128k16.f32.bf16.bf16", ", 1, 1, %70");
  else if constexpr (T == MatrixType::s8)
    WF_WGMMA_REGISTERS("r", "m64n128k32.s32.s8.s8", "");
  else if constexpr (T == MatrixType::e4m3)
    WF_WGMMA_REGISTERS("f", "m64n128k32.f32.e4m3.e4m3", ", 1, 1");
  else
    WF_WGMMA_REGISTERS("f", "m64n128k8.f32.tf32.tf32", ", 1, 1");
}

template <class Acc>
__device__ __forceinline__ void pin(Acc (&d)[64]) {
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    if constexpr (std::is_same_v<Acc, float>)
      asm volatile("" : "+f"(d[i])::"memory");
    else
      asm volatile("" : "+r"(d[i])::"memory");
  }
}

}  // namespace device_check
