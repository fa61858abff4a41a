// What steps 2 to 6 do alike: the types of a tile, the place of a block, the online softmax of scores in
// registers, their way into operand A, and the end of a tile.
#pragma once

#include "common.h"

namespace attention_ladder {

// Tiles in shared memory and products of `rows` rows of Q and `keys` keys. V lies as it comes, (keys, head
// dim) with the head dim contiguous; read as (head dim, keys) it is an MN-major operand B.
template <int kHeadDim, int kRows, int kKeys>
struct TileTypes {
  static constexpr int head_dim = kHeadDim, rows = kRows, keys = kKeys;
  using QTile = TileShape<f16, rows, head_dim>;                         // (rows, head dim)
  using KTile = TileShape<f16, keys, head_dim>;                         // (keys, head dim)
  using VTile = TileShape<f16, head_dim, keys, Major::mn>;              // (head dim, keys)
  using ScoreProduct = Wgmma<f16, f16, keys>;                           // S (64, keys) = Q K^T
  using ValueProduct = Wgmma<f16, f16, head_dim, Major::k, Major::mn>;  // O (64, head dim) += P V
  using Scores = float[ScoreProduct::accumulators];                     // (64, keys)
  using Sums = float[ValueProduct::accumulators];                       // (64, head dim)
  using Probabilities = uint32_t[keys / 16][4];                         // (64, keys), operand A
};

struct Shape {
  int row_tiles, key_tiles, heads, seqlen_q;
};
struct Place {
  int row, head, batch;
};
// Rows past the end come as zeros, and go nowhere.
template <class C>
Shape shape_of(const Problem& p) {
  return {(p.seqlen_q + C::rows - 1) / C::rows, p.seqlen_k / C::keys, p.heads, p.seqlen_q};
}
// Blocks that follow one another work on one head, whose K and V then stay in L2.
template <class C>
WF_ATOM Place place_of(const Shape& shape) {
  const int head = block_id() / shape.row_tiles;
  return {block_id() % shape.row_tiles * C::rows, head % shape.heads, head / shape.heads};
}

// Online softmax of the two rows of 64 that a thread shares with the other three lanes of its quad; register
// i belongs to row i / 2 % 2.
//
//   m' = max (m, scores),  correction = 2^(c (m - m')),  p = 2^(c (score - m')),  sum' = sum * correction +
//   sum of p
//
// with c = scale * log2 e: an element costs a multiply-add and an exponential. What was summed before, here
// and in O, must be multiplied by `correction`. A thread sums its own columns; the quad adds up in the end.
struct Softmax {
  float top[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0}, correction[2] = {};

  // Turns scores into probabilities.
  template <int kScores>
  WF_ATOM void update(float (&s)[kScores], float scale_log2) {
    float highest[2] = {top[0], top[1]}, shift[2];
    WF_UNROLL
    for (int i = 0; i < kScores; ++i) highest[i / 2 % 2] = fmaxf(highest[i / 2 % 2], s[i]);
    WF_UNROLL
    for (int r = 0; r < 2; ++r) {
      highest[r] = fmaxf(highest[r], shuffle_xor(highest[r], 1));
      highest[r] = fmaxf(highest[r], shuffle_xor(highest[r], 2));
      shift[r] = highest[r] * scale_log2;
      correction[r] = exp2_approx(top[r] * scale_log2 - shift[r]);
      top[r] = highest[r];
      sum[r] *= correction[r];
    }
    WF_UNROLL
    for (int i = 0; i < kScores; ++i)
      sum[i / 2 % 2] += s[i] = exp2_approx(s[i] * scale_log2 - shift[i / 2 % 2]);
  }
  template <int kSums>
  WF_ATOM void rescale(float (&sums)[kSums]) const {
    WF_UNROLL
    for (int i = 0; i < kSums; ++i) sums[i] *= correction[i / 2 % 2];
  }
};

// Two accumulators of 8 columns are, packed, what operand A has of 16: no element changes its thread.
template <int kScores>
WF_ATOM void to_operand_a(uint32_t (&p)[kScores / 8][4], const float (&scores)[kScores]) {
  WF_UNROLL
  for (int i = 0; i < kScores; i += 2) p[i / 8][i / 2 % 4] = pack_f16(scores[i], scores[i + 1]);
}

// The registers that products under way read or write: no instruction, but the compiler leaves them alone
// until here.
template <int kFragments>
WF_ATOM void keep_in_registers(uint32_t (&p)[kFragments][4]) {
  WF_UNROLL
  for (int i = 0; i < kFragments; ++i) warpfold::hopper::keep_in_registers(p[i]);
}
using warpfold::hopper::keep_in_registers;

// O of 64 rows, over the sums of P, to rows of a tile in shared memory from `first_row` on.
template <class Tile, int kSums>
WF_ATOM void write_rows(Tile tile, int first_row, const float (&sums)[kSums], const Softmax& softmax) {
  const int t = thread_id() % 128;
  float inverse[2];
  WF_UNROLL
  for (int r = 0; r < 2; ++r) {
    float sum = softmax.sum[r];
    sum += shuffle_xor(sum, 1);
    sum += shuffle_xor(sum, 2);
    inverse[r] = 1 / sum;
  }
  WF_UNROLL
  for (int i = 0; i < kSums; i += 2)
    store_shared(tile.element(first_row + accumulator_row(t, i), accumulator_column(t, i)),
                 pack_f16(sums[i] * inverse[i / 2 % 2], sums[i + 1] * inverse[i / 2 % 2]));
  fence_async_shared();  // TMA is to see what the threads wrote
}

}  // namespace attention_ladder
