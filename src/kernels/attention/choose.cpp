// Which tile a problem gets.
#include <fmt/format.h>

#include <algorithm>

#include "plan.h"

namespace warpfold::kernels::attention {
namespace {

// The first row whose tile serves the problem and whose length is no more than either of the problem's is
// taken: head dims rise, and tiles with options, which serve every mask, come last. Gains: against the
// runner-up on an H200, bf16, 16k tokens, 512 to 16k keys (docs/notes/2026-12-03-attention-experiments.md,
// where the rest that was tried is, too); rows without have not been measured.
struct Row {
  TileId tile;
  int64_t least_length;
};
constexpr Row table[] = {
    {TileId::d64_plain, 0},   // 8 to 13 % over the maximum of each tile
    {TileId::d64_causal, 0},  // 3 to 15 %
    {TileId::d96_plain, 0},          {TileId::d96_causal, 0},
    {TileId::d128_plain_pair, 8192},  // 1 to 2 % over the next row from 8k on
    {TileId::d128_plain, 0},          // 9 to 12 % over the maximum of each tile
    {TileId::d128_causal, 2048},      // 3 to 6 % over the next row from 2k on
    {TileId::d128_causal_short, 0},   // 1 to 3 % over the row before and the maximum of each tile up to 1k
    {TileId::d192x128_plain, 0},     {TileId::d192x128_causal, 0},
    {TileId::d192_plain, 0},         {TileId::d192_causal, 0},
    {TileId::d256_plain, 0},   // 0 to 2 % over the maximum of each tile
    {TileId::d256_causal, 0},  // 1 to 12 % over eager in turns
    {TileId::d64_plain_e4m3, 0},     {TileId::d64_causal_e4m3, 0},
    {TileId::d128_plain_e4m3, 0},   // 17 % over the maximum of each tile at 16k
    {TileId::d128_causal_e4m3, 0},  // 15 %
    {TileId::d256_plain_e4m3, 0},    {TileId::d256_causal_e4m3, 0},
    {TileId::d64_window, 0},         {TileId::d96_window, 0},
    {TileId::d128_window, 0},        {TileId::d192x128_window, 0},
    {TileId::d192_window, 0},        {TileId::d256_window, 0},
    {TileId::d64_window_e4m3, 0},    {TileId::d128_window_e4m3, 0},
    {TileId::d256_window_e4m3, 0},   {TileId::d64_scores, 0},
    {TileId::d96_scores, 0},         {TileId::d128_scores, 0},
    {TileId::d192x128_scores, 0},    {TileId::d192_scores, 0},
    {TileId::d256_scores, 0},        {TileId::d64_bias, 0},
    {TileId::d96_bias, 0},           {TileId::d128_bias, 0},
    {TileId::d192x128_bias, 0},      {TileId::d192_bias, 0},
    {TileId::d256_bias, 0},
};

Variant needs(const Problem& p) {
  if (p.bias.data != nullptr) return Variant::bias;
  if (p.softcap != 0 || p.alibi != nullptr) return Variant::scores;
  return p.mask == Mask::window || p.sink != nullptr ? Variant::window : Variant::plain;
}

// A pair of blocks fetches half of a tile of keys each. Where sequences differ, a half may lie wholly behind its sequence:
// such a box makes TMA read at the tensor map's base, which is then no address of the tensor (launch.h).
bool serves(const Problem& p, TileId tile) {
  return with_tile(tile, [&]<class Tile>(Tile) {
    const bool offers = Tile::variant == Variant::plain ? needs(p) == Variant::plain && Tile::mask == p.mask
                                                        : Tile::variant >= needs(p);
    return offers && Tile::eight_bit == (p.type == DType::kF8E4M3) && p.head_dim <= Tile::head_dim &&
           p.v_head_dim <= Tile::v_head_dim && (Tile::cluster == 1 || !is_ragged(p.k_lengths));
  });
}

}  // namespace

Result<TileId> choose(const Problem& p, std::optional<TileId> tile) {
  if (tile) {
    if (!serves(p, *tile))
      return fail(ErrorCode::kUnsupported,
                  fmt::format("attention: the tile {} is for other types or head dims, another mask, fewer "
                              "options or keys of one length",
                              with_tile(*tile, [](auto t) { return t.name; })));
    return *tile;
  }
  for (const Row& row : table)
    if (std::min(p.seqlen_q, p.seqlen_k) >= row.least_length && serves(p, row.tile))
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
