// Thread-value layouts: which element of a tile each register of each thread holds, for the operands that
// Hopper's matrix instructions keep in registers.
//
// A fragment is a layout (thread, value) -> element index in its tile, rows fastest: element (row, column) of
// a tile of R rows has index row + R * column. With g = lane / 4, q = lane % 4 and w = warp of the warpgroup:
//   accumulator m64nN     value v: row 16w + g + 8 (v/2 % 2),     column 8 (v/4) + 2q + v%2
//   A, 16 bits, 64 x 16   value v: row 16w + g + 8 (v/2 % 2),     column 8 (v/4) + 2q + v%2
//   A,  8 bits, 64 x 32   value v: row 16w + g + 8 (v/4 % 2),     column 16 (v/8) + 4q + v%4
//   A, 32 bits, 64 x 8    value v: row 16w + g + 8 (v % 2),       column 4 (v/2) + q
//   ldmatrix, stmatrix    value v of matrix j: row g, column 2q + v    (8 x 8 matrices of 16 bits)
//   .trans                value v of matrix j: row 2q + v, column g
#pragma once

#include "warpfold/layout/hardware/wgmma.h"

namespace warpfold::layout::hardware {

namespace detail {

// A layout of two modes, each a list of (size, stride).
struct SizeStride {
  int64_t size, stride;
};
template <int Threads, int Values>
WF_HD constexpr Layout thread_value(const SizeStride (&threads)[Threads],
                                    const SizeStride (&values)[Values]) {
  LayoutBuilder b;
  b.begin();
  b.begin();
  for (const SizeStride& m : threads) b.add(m.size, m.stride);
  b.end();
  b.begin();
  for (const SizeStride& m : values) b.add(m.size, m.stride);
  b.end();
  b.end();
  return b.layout();
}

}  // namespace detail

// The accumulator of m64nNk*: 128 threads, N/2 values of 32 bits, tile 64 x N.
//   ((4,8,4),(2,2,N/8)):((128,1,16),(64,8,512))
WF_HD constexpr Verdict<Layout> accumulator_fragment(int64_t n) {
  if (!wgmma_has_n(n, false)) return illegal<Layout>(broken(Rule::fragment_shape, 64, n));
  return legal(detail::thread_value({{4, 128}, {8, 1}, {4, 16}}, {{2, 64}, {2, 8}, {n / 8, 512}}));
}

// A of one wgmma in registers: 128 threads, tile 64 x (32 / element_bytes), packed low to high into four
// registers.
WF_HD constexpr Verdict<Layout> a_fragment(int element_bytes) {
  switch (element_bytes) {
    case 1:  // ((4,8,4),(4,2,2)):((256,1,16),(64,8,1024))
      return legal(detail::thread_value({{4, 256}, {8, 1}, {4, 16}}, {{4, 64}, {2, 8}, {2, 1024}}));
    case 2:  // ((4,8,4),(2,2,2)):((128,1,16),(64,8,512))
      return legal(detail::thread_value({{4, 128}, {8, 1}, {4, 16}}, {{2, 64}, {2, 8}, {2, 512}}));
    case 4:  // ((4,8,4),(2,2)):((64,1,16),(8,256))
      return legal(detail::thread_value({{4, 64}, {8, 1}, {4, 16}}, {{2, 8}, {2, 256}}));
    default:
      return illegal<Layout>(broken(Rule::wgmma_element, 8 * element_bytes));
  }
}

// The registers of ldmatrix or stmatrix of 1, 2 or 4 matrices: 32 threads, 2 values of 16 bits a matrix. The
// tile is the 8 x 8 matrices side by side: element (row, column) of matrix j has index row + 8 column + 64 j.
// A row is what one address names: 8 values of 16 bits that lie together in shared memory.
//   ((4,8),(2,j)):((16,1),(8,64))        transposed ((4,8),(2,j)):((2,8),(1,64))
WF_HD constexpr Verdict<Layout> matrix_fragment(int matrices, bool transposed) {
  if (matrices != 1 && matrices != 2 && matrices != 4)
    return illegal<Layout>(broken(Rule::fragment_shape, 8, 8 * matrices));
  if (transposed) return legal(detail::thread_value({{4, 2}, {8, 8}}, {{2, 1}, {matrices, 64}}));
  return legal(detail::thread_value({{4, 16}, {8, 1}}, {{2, 8}, {matrices, 64}}));
}

// Which row of which matrix lane l addresses, as the index of that row's first element in the tile above:
// (8,j):(1,64).
WF_HD constexpr Layout matrix_row_lanes(int matrices) { return *make_layout(ints(8, matrices), ints(1, 64)); }

// The lanes' rows when the four matrices of an x4 are the quarters of a 16 x 16 tile of 16-bit elements,
// upper left, lower left, upper right, lower right, so that the registers are a 16 x 16 piece of an A operand
// or of an accumulator: lane l addresses row l % 16, column 8 (l / 16), index (16,2):(1,128).
WF_HD constexpr Layout quarter_row_lanes() { return *make_layout(ints(16, 2), ints(1, 128)); }
// ((4,8),(2,2,2)):((32,1),(16,8,128)): thread, value -> index in the 16 x 16 tile.
WF_HD constexpr Layout quarter_fragment() {
  return detail::thread_value({{4, 32}, {8, 1}}, {{2, 16}, {2, 8}, {2, 128}});
}

}  // namespace warpfold::layout::hardware
