// Partial tiles: how the blocks that share a tile of a split product add it up.
//
// The workspace holds a flag and a slot for each block; register i of thread t of a warpgroup lies at element
// i * 128 + t of the slot. A block has at most one partial tile: the first that it works on. It writes the
// slot, then raises its flag; the finishing block waits for the flag, adds the slot and lowers the flag again,
// so that all flags are 0 after the launch as they were before. What is there before the finishing block multiplies
// is fetched then, to be added at the same place in the order.
#pragma once

#include "warpfold/kernels/gemm/raster.h"

namespace warpfold::kernels::gemm {

// Bytes of flags in front of the slots, the same for all launches: one with fewer blocks must not leave its sums where
// the next has flags.
inline constexpr int64_t flag_bytes = 4096;
inline constexpr int max_split_blocks = int(flag_bytes) / 4;

// Of a partial tile; of a Tile or a Config.
template <class Tile>
inline constexpr int64_t slot_bytes = int64_t{Tile::tile_m} * Tile::tile_n * 4;

inline namespace WF_TARGET {

template <class Config>
using Accumulators = typename Config::Product::Accumulator[Config::row_blocks][Config::Product::accumulators];

template <class Config>
WF_ATOM void add(Accumulators<Config>& sums, const Accumulators<Config>& more) {
  WF_UNROLL
  for (int r = 0; r < Config::row_blocks; ++r) WF_UNROLL
  for (int i = 0; i < Config::Product::accumulators; ++i) sums[r][i] += more[r][i];
}

template <class Config>
struct Partials {
  using Sum = typename Config::Product::Accumulator;
  char* workspace;
  int named_barrier;  // of the warpgroup
  // Of the block before, if this thread has them already.
  Accumulators<Config> early{};
  bool has_early = false;

  WF_ATOM int* flag(int block) const { return reinterpret_cast<int*>(workspace) + block; }
  WF_ATOM Sum* slot(int block) const {
    return reinterpret_cast<Sum*>(workspace + flag_bytes + block * slot_bytes<Config>) + hopper::thread_id() % 128;
  }
  WF_ATOM bool leader() const { return hopper::thread_id() % 128 == 0; }
  WF_ATOM void read(Accumulators<Config>& sums, int block) const {
    const Sum* const from = slot(block);
    WF_UNROLL
    for (int r = 0; r < Config::row_blocks; ++r) WF_UNROLL
    for (int i = 0; i < Config::Product::accumulators; ++i)
      sums[r][i] = hopper::load_global(from + (r * Config::Product::accumulators + i) * 128);
  }

  // Hands the sums to the block that finishes the tile.
  WF_ATOM void give(const Accumulators<Config>& sums) const {
    Sum* const to = slot(hopper::block_id());
    WF_UNROLL
    for (int r = 0; r < Config::row_blocks; ++r) WF_UNROLL
    for (int i = 0; i < Config::Product::accumulators; ++i)
      hopper::store_global(to + (r * Config::Product::accumulators + i) * 128, sums[r][i]);
    hopper::named_sync(named_barrier, 128);
    if (leader()) hopper::store_release(flag(hopper::block_id()), 1);
  }
  // Before the products of a tile that others have parts of: fetches what the block before has, if it is done.
  WF_ATOM void look() {
    const int block = hopper::block_id() - 1;
    has_early = hopper::load_acquire(flag(block)) != 0;
    if (has_early) read(early, block);
  }
  // Adds what other blocks have of the walk's tile, whose steps from 0 this block has summed.
  WF_ATOM void collect(Accumulators<Config>& sums, const TileWalk<Config>& walk) {
    const int end = (walk.index + 1) * walk.steps;
    int block = hopper::block_id();
    for (int reached = walk.last; reached < end; reached = walk.piece(hopper::grid_blocks() - block)) {
      --block;
      if (!has_early) {
        while (hopper::load_acquire(flag(block)) == 0) {
        }
        read(early, block);
      }
      add<Config>(sums, early);
      has_early = false;
    }
    hopper::named_sync(named_barrier, 128);  // all threads have read
    if (leader())
      for (; block < hopper::block_id(); ++block) hopper::store_global(flag(block), 0);
  }
};

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
