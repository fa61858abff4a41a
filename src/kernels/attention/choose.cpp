// Which tile a problem gets.
#include <fmt/format.h>

#include <algorithm>

#include "plan.h"

namespace warpfold::kernels::attention {
namespace {

// Head dims up to these, the mask, and the tile; the first row that fits is taken.
struct Row {
  int head_dim;
  Mask mask;
  TileId tile;
};
constexpr Row table[] = {
    {64, Mask::none, TileId::d64_plain},     {64, Mask::causal, TileId::d64_causal},
    {128, Mask::none, TileId::d128_plain},   {128, Mask::causal, TileId::d128_causal},
    {256, Mask::none, TileId::d256_plain},   {256, Mask::causal, TileId::d256_causal},
};

template <class Tile>
bool serves(const Problem& p) {
  return Tile::mask == p.mask && p.head_dim <= Tile::head_dim && p.v_head_dim <= Tile::v_head_dim &&
         Tile::cluster == 1;  // pairs of blocks are wrong on the chip: docs/notes/2026-12-02-attention-first.md
}

}  // namespace

Result<TileId> choose(const Problem& p, std::optional<TileId> tile) {
  if (tile) {
    if (!with_tile(*tile, [&]<class Tile>(Tile) { return serves<Tile>(p); }))
      return fail(ErrorCode::kUnsupported, fmt::format("attention: the tile {} is for other head dims or another mask, or is not offered",
                                                       with_tile(*tile, [](auto t) { return t.name; })));
    return *tile;
  }
  for (const Row& row : table)
    if (row.mask == p.mask && p.head_dim <= row.head_dim && p.v_head_dim <= row.head_dim) return row.tile;
  return fail(ErrorCode::kUnsupported, fmt::format("attention: no tile for head dims {} and {}", p.head_dim, p.v_head_dim));
}

int blocks_of(const Problem& p, TileId tile, int multiprocessors) {
  return with_tile(tile, [&]<class Tile>(Tile) {
    const int64_t rows = 64 * Tile::math_warpgroups * Tile::cluster;
    const int64_t tiles = (p.seqlen_q + rows - 1) / rows * p.heads * p.batches;
    return int(std::min<int64_t>(tiles, multiprocessors / Tile::cluster)) * Tile::cluster;
  });
}

}  // namespace warpfold::kernels::attention
