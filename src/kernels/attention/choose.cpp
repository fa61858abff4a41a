// Which tile a problem gets.
#include <fmt/format.h>

#include <algorithm>

#include "plan.h"

namespace warpfold::kernels::attention {
namespace {

// Head dims up to these, the mask, the least of both lengths, and the tile; the first row that fits is taken.
// Gains: against the runner-up on an H200, bf16, 16k tokens, 512 to 16k keys
// (docs/notes: 2026-12-02-attention-first.md, 2026-12-03-attention-pairs.md).
struct Row {
  int head_dim;
  Mask mask;
  int64_t least_length;
  TileId tile;
};
constexpr Row table[] = {
    {64, Mask::none, 0, TileId::d64_plain_turns},              // 4 to 7 % over overlapped
    {64, Mask::causal, 0, TileId::d64_causal},                 // 0 to 4 % over overlapped
    {128, Mask::none, 2048, TileId::d128_plain_wide_cluster},  // 2 to 3 % over single blocks
    {128, Mask::none, 0, TileId::d128_plain},                  // 0 to 4 % over turns from 1k on
    {128, Mask::causal, 0, TileId::d128_causal},               // within 1 % of overlapped
    {256, Mask::none, 0, TileId::d256_plain},                  // within 1 % of turns
    {256, Mask::causal, 0, TileId::d256_causal_overlapped},    // 1 to 2 % over turns
};

// A pair of blocks fetches half of a tile of keys each. Where sequences differ, a half may lie wholly behind its sequence:
// such a box makes TMA read at the tensor map's base, which is then no address of the tensor (launch.h).
bool serves(const Problem& p, TileId tile) {
  return with_tile(tile, [&]<class Tile>(Tile) {
    return Tile::mask == p.mask && p.head_dim <= Tile::head_dim && p.v_head_dim <= Tile::v_head_dim &&
           (Tile::cluster == 1 || !is_ragged(p.k_lengths));
  });
}

}  // namespace

Result<TileId> choose(const Problem& p, std::optional<TileId> tile) {
  if (tile) {
    if (!serves(p, *tile))
      return fail(ErrorCode::kUnsupported,
                  fmt::format("attention: the tile {} is for other head dims, another mask or keys of one length",
                              with_tile(*tile, [](auto t) { return t.name; })));
    return *tile;
  }
  for (const Row& row : table)
    if (row.mask == p.mask && std::max(p.head_dim, p.v_head_dim) <= row.head_dim &&
        std::min(p.seqlen_q, p.seqlen_k) >= row.least_length && serves(p, row.tile))
      return row.tile;
  return fail(ErrorCode::kUnsupported,
              fmt::format("attention: no tile for head dims {} and {}", p.head_dim, p.v_head_dim));
}

int blocks_of(const Problem& p, TileId tile, int multiprocessors) {
  return with_tile(tile, [&]<class Tile>(Tile) {
    const int64_t rows = 64 * Tile::math_warpgroups * Tile::cluster;
    const int64_t tiles = (p.seqlen_q + rows - 1) / rows * p.heads * p.batches;
    return int(std::min<int64_t>(tiles, multiprocessors / Tile::cluster)) * Tile::cluster;
  });
}

}  // namespace warpfold::kernels::attention
