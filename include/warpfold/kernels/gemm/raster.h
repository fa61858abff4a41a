// Which tile of the output a block takes next.
//
// A persistent block (or cluster) takes every grid-th tile. Consecutive tiles go down a band of about 2048
// rows, so that the tiles in flight form a near square: it reads the fewest bytes of A and B for the tiles it
// covers, and those stay in L2.
#pragma once

#include "warpfold/hopper/hopper.h"

namespace warpfold::kernels::gemm {

// Sizes of one product as the kernel sees them. k = 0 where A and B are not used.
struct Shape {
  int m, n, k;
};

inline namespace WF_TARGET {

template <class Config>
struct TileWalk {
  static constexpr int cluster_m = Config::tile_m * Config::cluster;
  static constexpr int band = 2048 / cluster_m;  // rows of tiles
  int rows, columns;                             // tiles of the output, clusters counted as one
  int index;

  WF_ATOM explicit TileWalk(Shape s)
      : rows((s.m - 1) / cluster_m + 1),
        columns((s.n - 1) / Config::tile_n + 1),
        index(hopper::block_id() / Config::cluster) {}
  WF_ATOM bool done() const { return index >= rows * columns; }
  WF_ATOM void advance(int by = 1) { index += by * (hopper::grid_blocks() / Config::cluster); }

  // First row and column of this block's tile.
  WF_ATOM int row() const {
    return (band_start() + index % (band * columns) % band_height()) * cluster_m +
           hopper::cluster_rank() * Config::tile_m;
  }
  WF_ATOM int column() const { return index % (band * columns) / band_height() * Config::tile_n; }

 private:
  WF_ATOM int band_start() const { return index / (band * columns) * band; }
  WF_ATOM int band_height() const { return rows - band_start() < band ? rows - band_start() : band; }
};

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
