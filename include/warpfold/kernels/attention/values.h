// How P and V meet in O = P V.
//
// Accumulators of P become operand A as they lie. With 16-bit elements a thread holds of every 16 keys just
// those that operand A wants. With 8-bit elements it holds 2 of every 8 keys but should hold 4 of 16 in a
// row; since the order of keys in a sum is free, A's position p stands for key key_of_position(p), and V's
// keys are put into the same order:
//
//   position  16 h + 4 q + 2 a + e   holds key   16 h + 8 a + 2 q + e      (q < 4: the lane of a quad; a, e <
//   2)
//
// WGMMA takes 8-bit operands only with K contiguous, and V comes with the head dim contiguous. So two warps
// transpose each tile: a transposing ldmatrix moves pairs of bytes, 2 keys by 2 columns a register, byte
// permutes part the columns, and what results is V's keys in just this order.
#pragma once

#include "warpfold/hopper/tile.h"
#include "warpfold/kernels/pack.h"

namespace warpfold::kernels::attention {

constexpr int key_of_position(int p) { return p / 16 * 16 + p / 2 % 2 * 8 + p / 4 % 4 * 2 + p % 2; }

inline namespace WF_TARGET {

// Operand A of an instruction, from the accumulators of its 16 (8-bit: 32) keys.
template <class Element, int kScores>
WF_ATOM void to_fragment(uint32_t (&p)[4], const float (&s)[kScores]) {
  WF_UNROLL
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(Element) == 2) {  // row i % 2, 8 keys of half i / 2
      p[i] = pack<Element>(s[2 * i], s[2 * i + 1]);
    } else {  // row i % 2, 2 keys of half i / 2 and the 2 keys 8 further on
      const int at = i / 2 * 8 + i % 2 * 2;
      p[i] = hopper::pack_e4m3(s[at], s[at + 1]) | hopper::pack_e4m3(s[at + 4], s[at + 5]) << 16;
    }
  }
}
// P (64, keys) as operands A.
template <class Element, int kFragments, int kScores>
WF_ATOM void to_operand(uint32_t (&p)[kFragments][4], const float (&s)[kScores]) {
  constexpr int some = kScores / kFragments;
  WF_UNROLL
  for (int f = 0; f < kFragments; ++f) {
    float part[some];
    WF_UNROLL
    for (int i = 0; i < some; ++i) part[i] = s[f * some + i];
    to_fragment<Element>(p[f], part);
  }
}

// Transposes V (keys, columns) into V^T (columns, keys in the order above): the share of one of two warps.
template <class From, class To>
WF_ATOM void transpose_values(hopper::Tile<From> from, hopper::Tile<To> to, int warp) {
  const int lane = hopper::lane_id(), matrix = lane / 8, r = lane % 8;
  // Rows of V^T that a matrix stores must differ modulo 8, or two would share the banks: the lanes of the
  // lower four columns of pairs store them the other way round.
  const bool swaps = lane / 4 >= 4;
  const uint32_t even = swaps ? 0x7531 : 0x6420, odd = swaps ? 0x6420 : 0x7531;
  static_assert(To::mn % 64 == 0 && From::mn % 32 == 0, "a warp transposes 16 keys of 64 columns at a time");
  for (int key = warp * 16; key < From::mn; key += 32)
    for (int x = 0; x < To::mn; x += 64) {
      uint32_t
          m[2][4];  // matrices: 8 keys of 16 columns, the 8 keys further on, and both of the next 16 columns
      WF_UNROLL
      for (int i = 0; i < 2; ++i)
        hopper::ldmatrix<4, true>(m[i], from.element(key + matrix % 2 * 8 + r, x + 32 * i + matrix / 2 * 16));
      WF_UNROLL
      for (int i = 0; i < 2; ++i) {
        const uint32_t t[4] = {
            hopper::byte_permute(m[i][0], m[i][1], even), hopper::byte_permute(m[i][0], m[i][1], odd),
            hopper::byte_permute(m[i][2], m[i][3], even), hopper::byte_permute(m[i][2], m[i][3], odd)};
        hopper::stmatrix<4>(to.element(x + 32 * i + matrix / 2 * 16 + 2 * r + (matrix % 2 ^ r / 4), key), t);
      }
    }
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::attention
