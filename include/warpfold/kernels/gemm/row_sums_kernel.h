// The kernel of row_sums.h: a warp sums a row, 16 bytes a lane and step where the row starts on a multiple of 16.
//
// Four bytes are added in two halves of 16 bits of a word: with 128 added, which is a flipped sign bit, they are 0 to 255.
#pragma once

#include "warpfold/hopper/hopper.h"
#include "warpfold/kernels/gemm/row_sums.h"

namespace warpfold::kernels::gemm {
inline namespace WF_TARGET {

struct alignas(16) Bytes16 {
  uint32_t word[4];
};

inline constexpr int row_sums_threads = 256;

WF_ATOM int32_t sum_of_bytes(uint32_t x) {
  x ^= 0x80808080u;
  x = (x & 0x00FF00FFu) + (x >> 8 & 0x00FF00FFu);
  return int32_t((x & 0xFFFF) + (x >> 16)) - 4 * 128;
}

WF_KERNEL(row_sums_threads)
row_sums_kernel(RowSums p) {
  const int lane = hopper::lane_id();
  constexpr int warps = row_sums_threads / 32;
  for (int64_t r = int64_t{hopper::block_id()} * warps + hopper::warp_id(); r < p.rows * p.batches;
       r += int64_t{hopper::grid_blocks()} * warps) {
    const int8_t* row = p.matrix + r / p.rows * p.batch_stride + r % p.rows * p.stride;
    const int64_t whole = reinterpret_cast<uintptr_t>(row) % 16 == 0 ? p.k / 16 * 16 : 0;
    int32_t sum = 0;
    for (int64_t k = lane * 16; k < whole; k += 32 * 16) {
      const auto x = hopper::load_global(reinterpret_cast<const Bytes16*>(row + k));
      WF_UNROLL
      for (int i = 0; i < 4; ++i) sum += sum_of_bytes(x.word[i]);
    }
    for (int64_t k = whole + lane; k < p.k; k += 32) sum += hopper::load_global(row + k);
    WF_UNROLL
    for (int mask = 1; mask < 32; mask *= 2) sum += hopper::shuffle_xor(sum, mask);
    if (lane == 0) hopper::store_global(p.sums + r, sum);
  }
}

inline Status launch_row_sums(const RowSums& p, int blocks, void* stream) {
  const int64_t bytes = p.rows == 0 ? 0 : (p.rows - 1) * p.stride + (p.batches - 1) * p.batch_stride + p.k;
  const hopper::GlobalBuffer buffers[] = {{p.matrix, bytes, "the matrix"}, {p.sums, 4 * p.rows * p.batches, "sums"}};
  return hopper::launch({.blocks = blocks, .threads = row_sums_threads, .stream = stream, .buffers = buffers},
                        row_sums_kernel, p);
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
