// How the blocks that share a tile add it up.
//
// The workspace holds flags and slots as the GEMM's does (kernels/gemm/partial.h), one of each for a warpgroup of a
// block: registers 4 i to 4 i + 3 of thread t lie in unit i * 128 + t of 16 bytes. Here a tile may be shared by many
// blocks that end at the same time, so the finishing one waits for all of their flags at once, a thread for each, and
// then reads all slots: two latencies instead of two a block. Sums are added in the order of K: the same result in every
// run.
#pragma once

#include "warpfold/kernels/gemm/partial.h"

namespace warpfold::kernels::weight_only {

// Bytes of workspace of a launch of `blocks` blocks.
template <class Tile>
constexpr int64_t workspace_of(int64_t blocks) {
  return Tile::split ? gemm::flag_bytes + blocks * gemm::slot_bytes<Tile> : 0;
}
inline constexpr int most_blocks = int(gemm::flag_bytes) / 8;  // with two flags each

inline namespace WF_TARGET {

template <class Config>
struct Partials {
  using Sums = gemm::Accumulators<Config>;
  static constexpr int units = Config::Product::accumulators / 4;
  struct alignas(16) Unit {
    float sum[4];
  };
  char* workspace;
  int warpgroup;

  WF_ATOM int* flag(int block) const { return reinterpret_cast<int*>(workspace) + block * 2 + warpgroup; }
  WF_ATOM Unit* slot(int block) const {
    return reinterpret_cast<Unit*>(workspace + gemm::flag_bytes) + (block * 2 + warpgroup) * units * 128 + thread();
  }
  WF_ATOM int thread() const { return hopper::thread_id() % 128; }
  WF_ATOM void sync() const { hopper::named_sync(1 + warpgroup, 128); }

  // Hands the sums to the block that finishes the tile.
  WF_ATOM void give(const Sums& sums) const {
    Unit* const to = slot(hopper::block_id());
    WF_UNROLL
    for (int i = 0; i < units; ++i) {
      const float* s = sums[0] + 4 * i;
      hopper::store_global(to + i * 128, Unit{s[0], s[1], s[2], s[3]});
    }
    sync();
    if (thread() == 0) hopper::store_release(flag(hopper::block_id()), 1);
  }
  // Adds what the blocks before this one have of the walk's tile, whose steps from 0 this block has summed.
  WF_ATOM void collect(Sums& sums, const gemm::TileWalk<Config>& walk) const {
    const int end = (walk.index + 1) * walk.steps;
    int last = hopper::block_id();  // blocks [last, block_id) have the rest of the tile
    for (int reached = walk.last; reached < end; --last) reached = walk.piece(hopper::grid_blocks() - last + 1);
    for (int block = last + thread(); block < hopper::block_id(); block += 128) {
      while (hopper::load_acquire(flag(block)) == 0) {
      }
      hopper::store_global(flag(block), 0);
    }
    sync();
    WF_UNROLL
    for (int i = 0; i < units; ++i)
      for (int block = hopper::block_id() - 1; block >= last; --block) {
        const Unit part = hopper::load_global(slot(block) + i * 128);
        WF_UNROLL
        for (int j = 0; j < 4; ++j) sums[0][4 * i + j] += part.sum[j];
      }
  }
};

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::weight_only
