// The producer warpgroup of the attention kernel, and what all warps share: places in shared memory and their barriers.
//
// One thread claims tiles and streams their K and V by TMA, from the last keys to the first; another fetches Q; two warps
// transpose V of 8-bit elements.
#pragma once

#include "warpfold/hopper/tile.h"
#include "warpfold/kernels/attention/config.h"
#include "warpfold/kernels/attention/output.h"
#include "warpfold/kernels/attention/raster.h"
#include "warpfold/kernels/attention/values.h"
#include "warpfold/kernels/pipeline.h"

namespace warpfold::kernels::attention {
inline namespace WF_TARGET {

template <class Config>
struct Shared {
  uint32_t base;  // of the block
  static constexpr auto at = Config::offsets();

  WF_ATOM hopper::Tile<typename Config::QTile> q(int warpgroup) const {
    return {base + at.q + uint32_t(warpgroup * Config::q_bytes)};
  }
  WF_ATOM hopper::Tile<typename Config::KTile> k(int stage) const {
    return {base + at.k + uint32_t(stage * Config::k_bytes)};
  }
  WF_ATOM hopper::Tile<typename Config::VTile> v(int stage) const {
    return {base + at.v + uint32_t(stage * Config::v_bytes)};
  }
  WF_ATOM hopper::Tile<typename Config::Landing> landing(int stage) const {  // of V
    return {base + at.landing + uint32_t(stage * Config::landing_bytes)};
  }
  WF_ATOM uint32_t place(int i) const { return base + at.place + uint32_t(i) * 32; }
  WF_ATOM hopper::Barrier q_full(int warpgroup) const { return BarrierArray{base + at.q_full}[warpgroup]; }
  WF_ATOM hopper::Barrier q_empty(int warpgroup) const { return BarrierArray{base + at.q_empty}[warpgroup]; }
  WF_ATOM hopper::Barrier k_full(int stage) const { return BarrierArray{base + at.k_full}[stage]; }
  WF_ATOM hopper::Barrier k_empty(int stage) const { return BarrierArray{base + at.k_empty}[stage]; }
  WF_ATOM hopper::Barrier v_full(int stage) const { return BarrierArray{base + at.v_full}[stage]; }
  WF_ATOM hopper::Barrier v_empty(int stage) const { return BarrierArray{base + at.v_empty}[stage]; }
  WF_ATOM hopper::Barrier landed(int stage) const { return BarrierArray{base + at.landed}[stage]; }
  WF_ATOM hopper::Barrier landing_empty(int stage) const {
    return BarrierArray{base + at.landing_empty}[stage];
  }
  WF_ATOM hopper::Barrier place_full(int i) const { return BarrierArray{base + at.place_full}[i]; }
  WF_ATOM hopper::Barrier place_empty(int i) const { return BarrierArray{base + at.place_empty}[i]; }
};

// Columns wholly past the head dim are never fetched: a box there would read at the map's base, which may be
// no address of the tensor (launch.h). They are cleared once instead; `columns` is how many there are before
// them.
template <class Config, class Tile>
WF_ATOM void clear_columns(Tile tile, int columns) {
  constexpr uint32_t unit = sizeof(Words), bytes = Tile::Shape::bytes;
  for (uint32_t at = uint32_t(columns * Tile::Shape::column_bytes) + uint32_t(hopper::thread_id()) * unit;
       at < bytes; at += Config::threads * unit)
    hopper::store_shared(tile.address + at, Words{});
}
template <class Config>
WF_ATOM void clear_columns(const Shared<Config>& shared, const Shape& shape) {
  if (Config::QTile::columns == 1 && Config::Landing::columns == 1) return;
  if (shape.columns >= Config::QTile::columns && shape.v_columns >= Config::Landing::columns) return;
  for (int i = 0; i < Config::math_warpgroups; ++i) clear_columns<Config>(shared.q(i), shape.columns);
  for (int i = 0; i < Config::stages; ++i) {
    clear_columns<Config>(shared.k(i), shape.columns);
    clear_columns<Config>(shared.landing(i), shape.v_columns);
  }
  hopper::fence_async_shared();
}

// Fills the tile from `row` of a sequence.
template <class Tile>
WF_ATOM void load_rows(Tile tile, const hopper::TensorMap& map, hopper::Barrier full, int columns, int row,
                       int head, int end, int batch) {
  using Shape = typename Tile::Shape;
  if (Shape::columns == 1) columns = 1;  // known to the compiler
  hopper::mbarrier_arrive_expect_tx(full, columns * Shape::column_bytes);
  WF_UNROLL
  for (int c = 0; c < Shape::columns; ++c)
    if (c < columns)
      hopper::tma_load(tile.address + uint32_t(c * Shape::column_bytes), map, full, c * Shape::across, row,
                       head, end, batch);
}
// The same; in a cluster this block's share of the rows, for all its blocks.
template <class Config, class Tile>
WF_ATOM void load_share(Tile tile, const hopper::TensorMap& map, hopper::Barrier full, int columns, int row,
                        int head, int end, int batch) {
  if constexpr (Config::cluster == 1) {
    load_rows(tile, map, full, columns, row, head, end, batch);
  } else {
    using Shape = typename Tile::Shape;
    const int first = hopper::cluster_rank() * Config::share;
    hopper::mbarrier_arrive_expect_tx(full, columns * Shape::column_bytes);
    WF_UNROLL
    for (int c = 0; c < Shape::columns; ++c)
      if (c < columns)
        hopper::tma_load_multicast(tile.address + uint32_t(c * Shape::column_bytes + first * Shape::span),
                                   map, full, (1 << Config::cluster) - 1, c * Shape::across, row + first,
                                   head, end, batch);
  }
}

// One thread: claims tiles, announces them and streams their keys. V lags one step behind K, as its use does.
template <class Config>
WF_ATOM void produce_keys(const Shared<Config>& shared, const hopper::TensorMap& map_k, const hopper::TensorMap& map_v,
                          const Shape& shape) {
  RingCursor<Config::stages> k, v;
  RingCursor<Config::places> places;
  const auto announce = [&](const Tile& tile) {
    hopper::mbarrier_wait(shared.place_empty(places.stage), places.parity ^ 1);  // passes at once on the first lap
    hopper::store_shared(shared.place(places.stage), tile.place);
    hopper::store_shared(shared.place(places.stage) + 16, tile.extent);
    hopper::mbarrier_arrive(shared.place_full(places.stage));
    places.advance();
  };
  const int grid = hopper::grid_blocks() / Config::cluster;
  TileOrder<Config> order{shape};
  Tile tile;
  int index = hopper::block_id() / Config::cluster, claim = -1;
  while (order.find(index, tile)) {
    announce(tile);
    const bool claims = Config::cluster == 1 && shape.claimed != nullptr;
    if (claims) claim = hopper::atomic_add(shape.claimed, 1);
    const int head = tile.place.head / shape.heads_per_kv, length = tile.extent.seqlen_k;
    const int batch = shape.k.starts == nullptr ? tile.place.batch : 0;
    const int first = shape.k.ragged * (shape.k.seqlen - length), end = shape.k.ragged * (tile.extent.k_start + length);
    const int lowest = first_key_tile<Config>(tile.extent, shape.window, tile.place.row);
    for (int n = tile.place.key_tiles - 1; n >= lowest - 1; --n) {
      if (n >= lowest) {
        hopper::mbarrier_wait(shared.k_empty(k.stage), k.parity ^ 1);
        load_share<Config>(shared.k(k.stage), map_k, shared.k_full(k.stage), shape.columns,
                           first + n * Config::tile_keys, head, end, batch);
        k.advance();
      }
      if (n + 1 < tile.place.key_tiles) {
        hopper::mbarrier_wait(shared.landing_empty(v.stage), v.parity ^ 1);
        load_share<Config>(shared.landing(v.stage), map_v, shared.landed(v.stage), shape.v_columns,
                           first + (n + 1) * Config::tile_keys, head, end, batch);
        v.advance();
      }
    }
    index = grid + (claims ? claim : index);
  }
  tile.place.key_tiles = -1;
  announce(tile);
  // Every tile claims once, so this was the last claim.
  if (claim >= 0 && claim == order.count() - 1) hopper::store_global(shape.claimed, 0);
}

// One thread: fetches each warpgroup's rows of Q once it has done with those before.
template <class Config>
WF_ATOM void produce_queries(const Shared<Config>& shared, const hopper::TensorMap& map_q, const Shape& shape) {
  RingCursor<Config::places> places;
  for (uint32_t parity = 1;; parity ^= 1) {
    hopper::mbarrier_wait(shared.place_full(places.stage), places.parity);
    const Tile tile{hopper::load_shared<Place>(shared.place(places.stage)),
                    hopper::load_shared<Extent>(shared.place(places.stage) + 16)};
    hopper::mbarrier_arrive(shared.place_empty(places.stage));
    places.advance();
    if (tile.place.key_tiles < 0) return;
    const int length = tile.extent.seqlen_q, batch = shape.q.starts == nullptr ? tile.place.batch : 0;
    const int first = shape.q.ragged * (shape.q.seqlen - length) + tile.place.row;
    const int end = shape.q.ragged * (tile.extent.q_start + length);
    for (int w = 0; w < Config::math_warpgroups; ++w) {
      hopper::mbarrier_wait(shared.q_empty(w), parity);  // passes at once for the first tile
      if (tile.place.row + w * 64 >= length) {  // a warpgroup without rows reads no Q
        hopper::mbarrier_arrive(shared.q_full(w));
        continue;
      }
      load_rows(shared.q(w), map_q, shared.q_full(w), shape.columns, first + w * 64, tile.place.head, end,
                batch);
    }
  }
}

// Two warps: transpose each tile of V that came.
template <class Config>
WF_ATOM void produce_values(const Shared<Config>& shared, const Window& window, int warp) {
  RingCursor<Config::stages> v;
  RingCursor<Config::places> places;
  for (;;) {
    hopper::mbarrier_wait(shared.place_full(places.stage), places.parity);
    const Tile tile{hopper::load_shared<Place>(shared.place(places.stage)),
                    hopper::load_shared<Extent>(shared.place(places.stage) + 16)};
    hopper::warp_sync();
    if (hopper::lane_id() == 0) hopper::mbarrier_arrive(shared.place_empty(places.stage));
    places.advance();
    if (tile.place.key_tiles < 0) return;
    for (int n = first_key_tile<Config>(tile.extent, window, tile.place.row); n < tile.place.key_tiles; ++n) {
      hopper::mbarrier_wait(shared.landed(v.stage), v.parity);
      hopper::mbarrier_wait(shared.v_empty(v.stage), v.parity ^ 1);
      transpose_values(shared.landing(v.stage), shared.v(v.stage), warp);
      hopper::fence_async_shared();
      hopper::warp_sync();
      if (hopper::lane_id() == 0) {
        hopper::mbarrier_arrive(shared.landing_empty(v.stage));
        hopper::mbarrier_arrive(shared.v_full(v.stage));
      }
      v.advance();
    }
  }
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::attention
