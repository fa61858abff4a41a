// Which tile a product gets: the one that a model of the chip expects to be fastest.
//
// Cycles of a block, at the clock that the chip holds under load:
//
//   step     what a stage takes: the slowest of its WGMMAs, its bytes from L2 and its share of the bytes from memory
//   whole    waves * steps of a tile * step            blocks take whole tiles; the last wave may be short
//   split    steps of all tiles / blocks * step        blocks take equal shares of the steps, and
//            + exchange of the partial tiles           write and read them
//   ends     launch and first stage, and the last tile's way out
//
// Figures of one H200: bench/results and docs/notes. `warpfold bench gemm` prints what the model expects beside what it
// measures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "normalise.h"
#include "warpfold/kernels/gemm/partial.h"

namespace warpfold::kernels::gemm {
namespace {

constexpr double clock_mhz = 1600;
constexpr double memory_bytes = 4.1e6 / clock_mhz;  // a cycle, from memory to all multiprocessors
constexpr double l2_bytes_shared = 64;               // a cycle, from L2 to a multiprocessor, of what its neighbours read, too
constexpr double l2_bytes_of_pair = 50;              // a cycle, to two multiprocessors, of what nobody else reads
constexpr double ends = 4500;                       // launch, first stage, last store
constexpr double exchange_latency = 1800;           // of a partial tile: written, seen, read
constexpr double exchange_bytes = 20;               // a cycle, of one block

int64_t over(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The product as a tile sees it.
struct Grid {
  int64_t rows, columns, steps, blocks;
  int64_t tiles() const { return rows * columns; }
};

template <class Tile>
Grid grid_of(const Problem& p, int multiprocessors) {
  const int64_t m = Tile::swapped ? rows_of_b(p) : p.m, across = Tile::swapped ? p.m : rows_of_b(p);
  const int64_t tile_k = 128 / info(p.type).block_bytes;
  Grid g;
  g.rows = over(m, Tile::tile_m * Tile::cluster) * p.batches;
  g.columns = over(across, Tile::tile_n);
  g.steps = p.alpha != 0 ? std::max<int64_t>(1, over(p.k, tile_k)) : 1;
  const int64_t work = Tile::split ? g.tiles() * g.steps : g.tiles();
  const int limit = Tile::split ? std::min(multiprocessors, max_split_blocks) : multiprocessors / Tile::cluster;
  g.blocks = std::min<int64_t>(work, limit) * Tile::cluster;
  return g;
}

template <class Tile>
double cycles_of(const Problem& p, const Grid& g, int multiprocessors) {
  const double element = double(info(p.type).block_bytes), tile_k = 128 / element;
  // WGMMAs reach some 0.92 of their rate; promoted sums wait for each stage.
  const double rate = (Tile::promoted ? 0.78 : 0.92) * 4096 / element;  // multiply-adds a cycle
  const double products = double(Tile::tile_m) * Tile::tile_n * tile_k / rate;
  const double rows_m = std::min<double>(Tile::tile_m, Tile::swapped ? double(rows_of_b(p)) : double(p.m));
  const double rows_n = std::min<double>(Tile::tile_n, Tile::swapped ? double(p.m) : double(rows_of_b(p))) / Tile::cluster;
  // Where there is one row of tiles, or blocks are at different steps, no two of them read the same weights.
  const double own = l2_bytes_of_pair / (g.blocks > multiprocessors / 2 ? 2 : 1);
  const double from_l2 = Tile::swapped         ? rows_m * 128 / own
                         : p.m <= Tile::tile_m ? rows_n * 128 / own + rows_m * 128 / (2 * l2_bytes_shared)
                                               : (rows_m + rows_n) * 128 / l2_bytes_shared;
  // What is read from memory once, spread over all steps of all blocks.
  const double matrices = (double(p.m) * (p.a.batch_stride != 0 ? double(p.batches) : 1) +
                           double(rows_of_b(p)) * (p.b.batch_stride != 0 ? double(p.batches) : 1)) *
                          double(p.k) * element;
  const double from_memory = matrices / (double(g.tiles() * Tile::cluster * g.steps)) * double(g.blocks) / memory_bytes;
  // Threads that copy keep fewer bytes on their way than TMA.
  const double step = std::max({products, Tile::copied ? 2 * from_l2 : from_l2, from_memory});
  const double out = double(Tile::tile_m) * Tile::tile_n * double(info(p.output_type).block_bytes) / 48;
  if (!Tile::split) return ends + out + double(over(g.tiles() * Tile::cluster, g.blocks) * g.steps) * step;
  const double share = double(over(g.tiles() * g.steps, g.blocks));
  const double partial_tiles =  // that the block with the most of them adds, one after the other
      g.tiles() * g.steps % g.blocks == 0 && int64_t(share) % g.steps == 0 ? 0 : std::ceil(double(g.steps) / share);
  const double exchange = exchange_latency + slot_bytes<Tile> / exchange_bytes;
  return ends + out + share * step + partial_tiles * exchange;
}

template <class Tile>
int64_t workspace_of(const Grid& g) {
  return Tile::split ? flag_bytes + g.blocks * slot_bytes<Tile> : 0;
}

Plan plan_with(TileId id, const Problem& p, int multiprocessors) {
  return with_tile(id, [&](auto t) {
    using Tile = decltype(t);
    const Grid g = grid_of<Tile>(p, multiprocessors);
    return Plan{id, int(g.blocks), workspace_of<Tile>(g), cycles_of<Tile>(p, g, multiprocessors) / clock_mhz};
  });
}

// Split tiles count the steps of all tiles in 32 bits, and nothing is to be split without products.
bool fits(TileId id, const Problem& p) {
  return with_tile(id, [&](auto t) {
    using Tile = decltype(t);
    if (!Tile::split) return true;
    const Grid g = grid_of<Tile>(p, 2);
    return p.alpha != 0 && p.k > 0 && g.tiles() < (int64_t{1} << 30) / g.steps;
  });
}

}  // namespace

Result<Plan> choose(const Problem& p, int multiprocessors, std::optional<TileId> tile, int64_t workspace_limit) {
  if (multiprocessors < 2)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("gemm: {} multiprocessors, at least 2 are needed", multiprocessors));
  if (is_empty(p)) return Plan{};
  const uint32_t tiles = tiles_for(p);
  std::optional<Plan> best;
  for (const TileId id : all_tiles) {
    if ((tiles >> int(id) & 1) == 0 || !fits(id, p) || (tile && *tile != id)) continue;
    const bool promoted = with_tile(id, [](auto t) { return t.promoted; });
    if (is_fp8(p.type) && promoted == p.fast_accumulation && (tiles & copied_tiles) == 0) continue;
    const Plan candidate = plan_with(id, p, multiprocessors);
    if (candidate.workspace_bytes > workspace_limit && !tile) continue;
    if (!best || candidate.microseconds < best->microseconds) best = candidate;
  }
  if (!best)
    return fail(ErrorCode::kUnsupported,
                fmt::format("gemm: tile {} is not compiled for this product",
                            with_tile(*tile, [](auto t) { return t.name; })));
  return *best;
}

Result<Plan> plan(const Problem& problem, int multiprocessors, std::optional<TileId> tile, int64_t workspace_limit) {
  WF_CHECK(can_run(problem));
  return choose(normalised(problem), multiprocessors, tile, workspace_limit);
}

}  // namespace warpfold::kernels::gemm
