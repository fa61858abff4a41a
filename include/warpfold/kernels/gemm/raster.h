// Which part of the product a block works on next: a tile and a range of steps of K.
//
// A persistent block (or cluster) takes every grid-th tile. Consecutive tiles go down a band of about 2048
// rows, so that the tiles in flight form a near square: it reads the fewest bytes of A and B for the tiles it
// covers, and those stay in L2. Batches follow one another.
//
// Split (stream-K): all steps of all tiles form one line, of which each block takes an equal piece. A tile
// whose steps lie in several pieces is finished by the block that has its first step, which adds the partial
// sums of the others in the order of K: the same result in every run. Pieces are dealt from the end, so that a
// block waits only for blocks with a smaller index, which start before it: no launch can block itself, whatever
// else the chip is doing. The partial tile is the first work of its block, so it is there early.
#pragma once

#include "warpfold/hopper/hopper.h"

namespace warpfold::kernels::gemm {

// Sizes of one product as the kernel sees it. k = 0 where A and B are not used.
struct Shape {
  int m, n, k, batches;
  int stage_bytes = 0;  // that the boxes of a stage bring
};

inline namespace WF_TARGET {

template <class Config>
struct TileWalk {
  static constexpr int cluster_m = Config::tile_m * Config::cluster;
  static constexpr int band = 2048 / cluster_m;  // rows of tiles
  int rows, columns;         // tiles of the output, clusters counted as one
  int steps;                 // of K in a tile; one, that does nothing, where K = 0
  int loads;                 // steps that have operands
  int tiles;                 // of all batches
  int index;                 // of the tile
  int begin = 0, last = 0;   // split: position in the line of steps, and the end of the piece

  WF_ATOM explicit TileWalk(Shape s)
      : rows((s.m - 1) / cluster_m + 1),
        columns((s.n - 1) / Config::tile_n + 1),
        steps(s.k == 0 ? 1 : (s.k + Config::tile_k - 1) / Config::tile_k),
        loads(s.k == 0 ? 0 : steps),
        tiles(rows * columns * s.batches),
        index(hopper::block_id() / Config::cluster) {
    if constexpr (Config::split) {
      begin = piece(hopper::grid_blocks() - 1 - hopper::block_id());
      last = piece(hopper::grid_blocks() - hopper::block_id());
      index = begin / steps;
    }
  }
  WF_ATOM bool done() const { return Config::split ? begin >= last : index >= tiles; }
  WF_ATOM void advance(int by = 1) {  // tiles; split: one
    if constexpr (Config::split) {
      begin += last_step() - first_step();
      ++index;
    } else {
      index += by * (hopper::grid_blocks() / Config::cluster);
    }
  }

  // The steps [first_step, last_step) of the tile are this block's.
  WF_ATOM int first_step() const { return Config::split ? begin - index * steps : 0; }
  WF_ATOM int last_step() const {
    if (!Config::split) return steps;
    const int end = (index + 1) * steps;
    return (last < end ? last : end) - index * steps;
  }
  WF_ATOM int loads_end() const { return last_step() < loads ? last_step() : loads; }
  // Split: where the piece `p`, counted along the line, begins.
  WF_ATOM int piece(int p) const {
    return int(int64_t{tiles} * steps * p / hopper::grid_blocks());
  }

  // First row and column of this block's tile, and its batch.
  WF_ATOM int row() const {
    return (band_start() + in_batch() % (band * columns) % band_height()) * cluster_m +
           hopper::cluster_rank() * Config::tile_m;
  }
  WF_ATOM int column() const { return in_batch() % (band * columns) / band_height() * Config::tile_n; }
  WF_ATOM int batch() const { return index / (rows * columns); }

 private:
  WF_ATOM int in_batch() const { return index % (rows * columns); }
  WF_ATOM int band_start() const { return in_batch() / (band * columns) * band; }
  WF_ATOM int band_height() const { return rows - band_start() < band ? rows - band_start() : band; }
};

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
