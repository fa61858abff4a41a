// Which tile a product gets: the one that a model of the chip expects to be fastest.
//
// Cycles of a block, at the clock that the chip holds under load: as the GEMM's (gemm/choose.cpp), and
//
//   step     what 64 of K take: the slowest of its WGMMAs, of the instructions that turn codes into operands and scale
//            sums, of its bytes from L2 and of its share of the bytes from memory
//   shared   partial tiles are exchanged at once: one latency a tile, and the bytes of its parts
#include <fmt/format.h>

#include <algorithm>

#include "plan.h"
#include "warpfold/kernels/weight_only/config.h"
#include "warpfold/kernels/weight_only/partial.h"

namespace warpfold::kernels::weight_only {
namespace {

constexpr double clock_mhz = 1700;
constexpr double memory_bytes = 4.1e6 / clock_mhz;         // a cycle, from memory to all multiprocessors
constexpr double l2_bytes_shared = 64, l2_bytes = 27;      // a cycle, from L2 to one multiprocessor
constexpr double issue = 0.7 * 4;                          // instructions of warps a cycle
constexpr double ends = 4500;                              // launch, first stage, last store
constexpr double exchange_latency = 3500, exchange_bytes = 20;

int64_t over(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The product as a tile sees it.
struct Grid {
  int64_t tiles, steps, blocks;
};

template <class Config>
Grid grid_of(const Problem& p, int multiprocessors) {
  Grid g;
  g.tiles = over(p.n, Config::tile_m) * over(p.m, Config::tile_n);
  g.steps = p.alpha != 0 ? std::max<int64_t>(1, over(p.k, Config::tile_k)) : 1;
  const int64_t work = Config::split ? g.tiles * g.steps : g.tiles;
  g.blocks = std::min<int64_t>(work, std::min(multiprocessors, most_blocks));
  return g;
}

template <class Config>
double cycles_of(const Problem& p, const Grid& g) {
  constexpr double parts = Config::tile_k / 64.0;
  const double tokens = double(std::min<int64_t>(p.m, Config::tile_n));
  const double products = 2.0 * 4 * std::max(Config::tile_n / 2, 16) * parts / 0.9;
  // Of a thread and 32 codes: conversion, and a multiply-add for each sum.
  constexpr double converted = Config::scaled_sums ? (code_bits(Config::weights) == 4 ? 50 : 90)
                               : code_bits(Config::weights) == 8 ? 95
                                                                 : has_minimum(Config::weights) ? 135 : 115;
  constexpr double sums = Config::scaled_sums ? Config::tile_n * (has_minimum(Config::weights) ? 2 : 1) : 0;
  const double instructions = 8 * (converted + sums + 15) * parts / issue;
  const double bytes = Config::weight_bytes + tokens * Config::tile_k * 2;
  const double from_l2 = bytes / (Config::split ? l2_bytes : l2_bytes_shared);
  const double matrices = double(packed_bytes(p.weight_type, p.n, p.k)) + double(p.m * p.k * 2);
  const double from_memory = matrices / double(g.tiles * g.steps) * double(g.blocks) / memory_bytes;
  const double step = std::max({products, instructions, from_l2, from_memory});
  const double out = double(Config::tile_m) * Config::tile_n * double(info(p.output_type).block_bytes) / 48;
  if (!Config::split) return ends + double(over(g.tiles, g.blocks)) * (out + double(g.steps) * step);
  const double share = double(over(g.tiles * g.steps, g.blocks)), tiles_of_block = share / double(g.steps);
  const bool whole = g.tiles * g.steps % g.blocks == 0 && int64_t(share) % g.steps == 0;
  const double exchange =
      whole ? 0 : exchange_latency + std::max(1.0, 1 / tiles_of_block) * double(gemm::slot_bytes<Config>) / exchange_bytes;
  return ends + std::max(1.0, tiles_of_block) * out + share * step + exchange;
}

// f(Config{}) of the configuration that a problem has with a tile.
template <class Function>
auto with_config(TileId id, const Problem& p, Function f) {
  return with_tile(id, [&](auto t) {
    using Tile = decltype(t);
    switch (p.weight_type) {  // results of either type have the same plan
      case DType::kQ4_0:
        return f(Config<DType::kQ4_0, hopper::bf16, Tile>{});
      case DType::kQ4_1:
        return f(Config<DType::kQ4_1, hopper::bf16, Tile>{});
      default:
        return f(Config<DType::kQ8_0, hopper::bf16, Tile>{});
    }
  });
}

}  // namespace

Result<Plan> plan(const Problem& p, int multiprocessors, std::optional<TileId> tile, int64_t workspace_limit) {
  WF_CHECK(can_run(p));
  if (multiprocessors < 1)
    return fail(ErrorCode::kInvalidArgument, fmt::format("weight-only: {} multiprocessors", multiprocessors));
  if (is_empty(p)) return Plan{};
  std::optional<Plan> best;
  for (const TileId id : all_tiles) {
    if (!is_compiled(id, p.output_type) || (tile && *tile != id)) continue;
    const std::optional<Plan> candidate = with_config(id, p, [&](auto c) -> std::optional<Plan> {
      using Config = decltype(c);
      const Grid g = grid_of<Config>(p, multiprocessors);
      if (g.tiles >= (int64_t{1} << 30) / g.steps) return {};  // steps are counted in 32 bits
      return Plan{id, int(g.blocks), workspace_of<Config>(g.blocks), cycles_of<Config>(p, g) / clock_mhz};
    });
    if (!candidate || (candidate->workspace_bytes > workspace_limit && !tile)) continue;
    if (!best || candidate->microseconds < best->microseconds) best = candidate;
  }
  if (!best)
    return fail(ErrorCode::kUnsupported,
                tile ? fmt::format("weight-only: tile {} is not compiled for this product",
                                   with_tile(*tile, [](auto t) { return t.name; }))
                     : fmt::format("weight-only: the product needs a workspace, and {} bytes are allowed; plan() says "
                                   "how many",
                                   workspace_limit));
  return *best;
}

}  // namespace warpfold::kernels::weight_only
