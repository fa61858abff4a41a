// Which tile of rows a block works on next.
//
// Without a mask and in a window a head's tiles follow one another, so that the blocks at work share its K
// and V in L2. Causal tiles go from those that see many keys to those that see few, to end evenly: the later
// half of all rows, then the later half of what remains, and so on; each half in groups of heads whose K and
// V, cut short by the mask, fit L2. Sequences of different lengths come one after another.
//
// Tiles are dealt to blocks (clusters) in this order: every grid-th one, or the next one that nobody has
// claimed, by a counter that is 0 before a launch and after it.
#pragma once

#include "warpfold/kernels/attention/view.h"

namespace warpfold::kernels::attention {

// The sequences as the kernel sees them. `seqlen` is the longest. ragged: lengths differ, and tensor maps have
// coordinates (x, row + ragged * (seqlen - length), head, ragged * (start + length), batch), which end with the
// sequence (launch.h).
struct Sequences {
  const int32_t *starts, *used;  // (batches + 1), (batches); null where not given
  int seqlen, ragged;
};

struct Shape {
  Sequences q, k;
  int batches, heads, heads_per_kv;
  int columns, v_columns;  // spans of 128 bytes that hold a row of Q or K, and of V
  Window window;
  int triangle;  // rows see the more keys the later they are: all but a window with a left side
  int group;     // then: heads whose last half of K and V fit L2
  int* claimed;  // counter; null: every grid-th tile
};

// A tile of rows. key_tiles: the end of those that some row of it sees; -1: there are no more tiles.
struct alignas(16) Place {
  int row, head, batch, key_tiles;
};
struct Tile {
  Place place;
  alignas(16) Extent extent;
};

inline namespace WF_TARGET {

// The rows of one sequence.
struct Sequence {
  int start, length;
};
WF_ATOM Sequence sequence(const Sequences& s, int batch) {
  Sequence one{0, s.seqlen};
  if (s.starts != nullptr) {
    one.start = hopper::load_global(s.starts + batch);
    one.length = hopper::load_global(s.starts + batch + 1) - one.start;
  }
  if (s.used != nullptr) one.length = hopper::load_global(s.used + batch);
  return one;
}

template <class Config>
struct TileOrder {
  static constexpr int rows_at_once = Config::tile_rows * Config::cluster;
  const Shape& shape;
  int batch = 0, before = 0;  // ragged: the tiles of sequences before `batch`

  WF_ATOM bool ragged() const { return (shape.q.ragged | shape.k.ragged) != 0; }
  WF_ATOM static int tiles_of(int seqlen_q) { return (seqlen_q + rows_at_once - 1) / rows_at_once; }

  // Tile `index`, which never decreases; false: there is none.
  WF_ATOM bool find(int index, Tile& tile) {
    return ragged() ? find_ragged(index, tile) : find_equal(index, tile);
  }
  // All tiles; ragged: once find() has been false.
  WF_ATOM int count() const {
    return ragged() ? before : tiles_of(shape.q.seqlen) * shape.batches * shape.heads;
  }

 private:
  WF_ATOM bool later_see_more() const { return Config::causal || (Config::windowed && shape.triangle != 0); }
  WF_ATOM void set(Tile& tile, int index, int head, int in_batch, Sequence q, Sequence k) const {
    const int row = index * rows_at_once + (Config::cluster == 1 ? 0 : hopper::cluster_rank() * Config::tile_rows);
    tile.extent = {q.length, k.length, q.start, k.start};
    int keys = k.length;
    if constexpr (Config::masked) {
      const int end = row + Config::tile_rows < q.length ? row + Config::tile_rows : q.length;
      const int visible = end_key<Config>(tile.extent, shape.window, end - 1);
      keys = visible < 0 ? 0 : visible;
    }
    tile.place = {row, head, in_batch, (keys + Config::tile_keys - 1) / Config::tile_keys};
  }
  WF_ATOM bool find_equal(int index, Tile& tile) const {
    const int rows = tiles_of(shape.q.seqlen), heads = shape.batches * shape.heads;
    if (index >= rows * heads) return false;
    int row = index % rows, head = index / rows;
    if (later_see_more()) {
      int high = rows, low = rows / 2, group = shape.group;
      for (; index >= (high - low) * heads; low = high / 2) {
        index -= (high - low) * heads;
        high = low;
        group = group * 2 < heads ? group * 2 : heads;
      }
      const int first = index / ((high - low) * group) * group;
      index -= first * (high - low);
      const int size = heads - first < group ? heads - first : group;
      row = high - 1 - index / size;
      head = first + index % size;
    }
    set(tile, row, head % shape.heads, head / shape.heads, {0, shape.q.seqlen}, {0, shape.k.seqlen});
    return true;
  }
  WF_ATOM bool find_ragged(int index, Tile& tile) {
    for (; batch < shape.batches; ++batch) {
      const Sequence q = sequence(shape.q, batch);
      const int rows = tiles_of(q.length);
      if (index - before < rows * shape.heads) {
        index -= before;
        const int row = later_see_more() ? rows - 1 - index % rows : index % rows;
        set(tile, row, index / rows, batch, q, sequence(shape.k, batch));
        return true;
      }
      before += rows * shape.heads;
    }
    return false;
  }
};

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::attention
