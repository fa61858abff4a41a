// WGMMA: one asynchronous matrix product of a warpgroup. The instructions themselves are generated from the table in
// src/hopper/wgmma_table.py, one header an operand type (warpfold/hopper/device/wgmma_TYPE.h), of which a translation
// unit includes those that it needs.
#pragma once

#include <type_traits>

#include "warpfold/hopper/types.h"

namespace warpfold::hopper {
inline namespace WF_TARGET {

namespace ptx {

// ss<sign_a, sign_b, transpose_a, transpose_b>(d, a, b, accumulate) and rs<sign_a, sign_b, transpose_b>.
template <class A, class B, int kN>
struct WgmmaInstruction;

}  // namespace ptx

// d (64, N) = accumulate * d + A (64, k) * B (N, k)^T, both in shared memory, named by descriptors.
template <class Op>
WF_ATOM void wgmma(typename Op::Accumulator (&d)[Op::accumulators], uint64_t a, uint64_t b, bool accumulate) {
  ptx::WgmmaInstruction<typename Op::A, typename Op::B, Op::n>::template ss<
      int(Op::sign_a), int(Op::sign_b), Op::major_a == Major::mn, Op::major_b == Major::mn>(d, a, b, int(accumulate));
}
// A from registers: the fragment of 64 x k that four ldmatrix.x4 a warpgroup give.
template <class Op>
WF_ATOM void wgmma(typename Op::Accumulator (&d)[Op::accumulators], const uint32_t (&a)[4], uint64_t b,
                   bool accumulate) {
  static_assert(Op::major_a == Major::k, "WGMMA: A from registers has no major");
  ptx::WgmmaInstruction<typename Op::A, typename Op::B, Op::n>::template rs<int(Op::sign_a), int(Op::sign_b),
                                                                          Op::major_b == Major::mn>(d, a, b,
                                                                                                    int(accumulate));
}

// Before the first wgmma and after registers or A fragments were touched.
WF_ATOM void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
WF_ATOM void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kPending>
WF_ATOM void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// Pins the order of register accesses around the asynchronous use; emits no instruction.
template <class T, int kRegisters>
WF_ATOM void keep_in_registers(T (&d)[kRegisters]) {
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) {
    if constexpr (std::is_same_v<T, float>)
      asm volatile("" : "+f"(d[i])::"memory");
    else
      asm volatile("" : "+r"(d[i])::"memory");
  }
}

// Makes registers anew, with the values they have. A WGMMA may read registers that were made while another
// one ran only where the compiler serialises the two; this comes between. The zero is one that the compiler
// cannot know.
template <int kCount, int kRegisters>
WF_ATOM void define_again(uint32_t (&d)[kCount][kRegisters]) {
  uint32_t zero;
  asm volatile("mov.u32 %0, %%ctaid.y;" : "=r"(zero));
#pragma unroll
  for (int i = 0; i < kCount * kRegisters; ++i)
    asm volatile("or.b32 %0, %0, %1;" : "+r"(d[i / kRegisters][i % kRegisters]) : "r"(zero));
}

}  // namespace WF_TARGET
}  // namespace warpfold::hopper
