// D (batches, M, N) = epilogue (A (batches, M, K) B (batches, N, K)^T): a persistent, warp-specialised GEMM for
// Hopper.
//
// The producer warpgroup fills a ring of stages by TMA; two math warpgroups multiply them by WGMMA and store.
// Tails of M, N and K are zeros that TMA fills in, and stores that it clips. In a cluster each block fetches
// a share of the common B tile and multicasts it, so a stage is free once the warps of all blocks of the
// cluster have read it.
#pragma once

#include "warpfold/kernels/gemm/epilogue.h"
#include "warpfold/kernels/gemm/raster.h"

namespace warpfold::kernels::gemm {

// Operands with one matrix for all batches have batch step 0.
struct BatchSteps {
  int a, b, c;
};

inline namespace WF_TARGET {

template <class Config>
struct Stages {
  uint32_t shared;                                                   // of the block
  WF_ATOM hopper::Tile<typename Config::ATile> a(int stage) const {  // (tile_m, tile_k)
    constexpr uint32_t first = Config::offsets().a;
    return {shared + first + uint32_t(stage * Config::ATile::bytes)};
  }
  WF_ATOM hopper::Tile<typename Config::BTile> b(int stage) const {  // (tile_n, tile_k)
    constexpr uint32_t first = Config::offsets().b;
    return {shared + first + uint32_t(stage * Config::BTile::bytes)};
  }
  WF_ATOM hopper::Barrier full(int stage) const {
    constexpr uint32_t first = Config::offsets().full;
    return BarrierArray{shared + first}[stage];
  }
  WF_ATOM hopper::Barrier empty(int stage) const {
    constexpr uint32_t first = Config::offsets().empty;
    return BarrierArray{shared + first}[stage];
  }
};

// One thread: fills the ring for all tiles of the block.
template <class Config>
WF_ATOM void produce(const Stages<Config>& stages, const hopper::TensorMap& map_a,
                     const hopper::TensorMap& map_b, Shape shape, BatchSteps batch_step) {
  const int first =
      hopper::cluster_rank() * Config::b_share;  // row of the B tile from which this block fetches
  RingCursor<Config::stages> ring;
  for (TileWalk<Config> tile(shape); !tile.done(); tile.advance()) {
    const int row = tile.row(), column = tile.column();
    const int batch_a = tile.batch() * batch_step.a, batch_b = tile.batch() * batch_step.b;
    const int end = tile.loads_end();
    for (int step = tile.first_step(); step < end; ++step) {
      const int k = step * Config::tile_k;
      const hopper::Barrier full = stages.full(ring.stage);
      hopper::mbarrier_wait(stages.empty(ring.stage), ring.parity ^ 1);  // passes at once on the first lap
      hopper::mbarrier_arrive_expect_tx(full, uint32_t(shape.stage_bytes));
      if constexpr (Config::major_a == hopper::Major::k)
        stages.a(ring.stage).load(map_a, full, row, k, batch_a);
      else
        stages.a(ring.stage).load(map_a, full, k, row, batch_a);
      if constexpr (Config::gated)
        stages.b(ring.stage).load_alternating(map_b, full, column / 16, k, batch_b);
      else if constexpr (Config::major_b == hopper::Major::mn)
        stages.b(ring.stage).load(map_b, full, k, column, batch_b);
      else if constexpr (Config::cluster == 1)
        stages.b(ring.stage).load(map_b, full, column, k, batch_b);
      else
        stages.b(ring.stage)
            .load_rows_multicast(map_b, full, (1 << Config::cluster) - 1, first, column + first, k, batch_b);
      ring.advance();
    }
  }
}

template <class Config>
WF_ATOM void keep(Accumulators<Config>& accumulators) {
  WF_UNROLL
  for (int r = 0; r < Config::row_blocks; ++r) hopper::keep_in_registers(accumulators[r]);
}

template <class Config>
WF_ATOM void clear(Accumulators<Config>& accumulators) {
  WF_UNROLL
  for (int r = 0; r < Config::row_blocks; ++r) WF_UNROLL
  for (int i = 0; i < Config::Product::accumulators; ++i) accumulators[r][i] = 0;
}

// Multiplies one stage, from row `first_row` of A, and leaves the products in flight.
template <class Config>
WF_ATOM void multiply_stage(Accumulators<Config>& sums, const Stages<Config>& stages, int stage, int first_row,
                            bool accumulate) {
  using A = hopper::Tile<typename Config::ATile>;
  using B = hopper::Tile<typename Config::BTile>;
  const uint64_t a = stages.a(stage).descriptor(first_row), b = stages.b(stage).descriptor();
  keep<Config>(sums);
  hopper::wgmma_fence();
  WF_UNROLL
  for (int step = 0; step < Config::tile_k / Config::Product::k; ++step) {
    WF_UNROLL
    for (int r = 0; r < Config::row_blocks; ++r)
      hopper::wgmma<typename Config::Product>(sums[r], a + A::descriptor_step(r * 64, step),
                                              b + B::descriptor_step(0, step), accumulate || step > 0);
  }
  hopper::wgmma_commit();
}

// Ping-pong: the warpgroups multiply in turn. That is needed for more than speed: one that skips the other's
// stages must not run laps ahead, since a barrier's parity tells only two laps apart.
template <class Config>
WF_ATOM void await_turn(int warpgroup) {
  if constexpr (Config::ping_pong) hopper::named_sync(3 + warpgroup, 256);
}
template <class Config>
WF_ATOM void pass_turn(int warpgroup) {
  if constexpr (Config::ping_pong) hopper::named_arrive(3 + (warpgroup ^ 1), 256);
}

// Sums the stages of a tile's `count` steps in the tensor cores, which end in `sums`.
template <class Config>
WF_ATOM void multiply(Accumulators<Config>& sums, const Stages<Config>& stages,
                      RingCursor<Config::stages>& ring, int count, int first_row, int warpgroup) {
  int previous = -1;
  await_turn<Config>(warpgroup);
  for (int i = 0; i < count; ++i) {
    hopper::mbarrier_wait(stages.full(ring.stage), ring.parity);
    multiply_stage<Config>(sums, stages, ring.stage, first_row, i > 0);
    // Keep this stage's products running and give back the stage before, whose reads are over.
    hopper::wgmma_wait<1>();
    if (previous >= 0) release<Config::cluster>(stages.empty(previous));
    previous = ring.stage;
    ring.advance();
  }
  pass_turn<Config>(warpgroup);
  hopper::wgmma_wait<0>();
  keep<Config>(sums);
  if (previous >= 0) release<Config::cluster>(stages.empty(previous));
}

// The same with each stage's products, 128 of K, added to `sums` in fp32. Meanwhile the other warpgroup multiplies,
// and with two sets of products this one, too.
template <class Config>
WF_ATOM void multiply_promoted(Accumulators<Config>& sums, const Stages<Config>& stages,
                               RingCursor<Config::stages>& ring, int count, int first_row) {
  Accumulators<Config> products[Config::product_sets];
  int oldest = ring.stage;  // of the stages in flight
  const auto begin = [&](int set) {
    hopper::mbarrier_wait(stages.full(ring.stage), ring.parity);
    multiply_stage<Config>(products[set], stages, ring.stage, first_row, false);
    ring.advance();
  };
  const auto finish = [&](int set) {
    keep<Config>(products[set]);
    release<Config::cluster>(stages.empty(oldest));
    add<Config>(sums, products[set]);
    oldest = oldest + 1 == Config::stages ? 0 : oldest + 1;
  };
  clear<Config>(sums);
  if (count == 0) return;
  if constexpr (Config::product_sets == 1) {
    for (int i = 0; i < count; ++i) {
      begin(0);
      hopper::wgmma_wait<0>();
      finish(0);
    }
  } else {
    begin(0);
    int i = 1;
    for (; i + 1 < count; i += 2) {
      begin(1);
      hopper::wgmma_wait<1>();
      finish(0);
      begin(0);
      hopper::wgmma_wait<1>();
      finish(1);
    }
    if (i < count) {
      begin(1);
      hopper::wgmma_wait<1>();
      finish(0);
      hopper::wgmma_wait<0>();
      finish(1);
    } else {
      hopper::wgmma_wait<0>();
      finish(0);
    }
  }
}

// A math warpgroup: multiplies and stores its tiles.
template <class Config>
WF_ATOM void consume(const Stages<Config>& stages, Epilogue<Config>& epilogue, char* workspace) {
  const int warpgroup = epilogue.warpgroup;
  const int first_row = Config::ping_pong ? 0 : warpgroup * Config::warpgroup_m;
  Partials<Config> partials{workspace, 1 + warpgroup};
  RingCursor<Config::stages> ring;
  bool mine = !Config::ping_pong || warpgroup == 0;
  if (!mine) pass_turn<Config>(warpgroup);
  TileWalk<Config> tile(epilogue.shape);
  const int first_tile = tile.index;
  for (; !tile.done(); tile.advance()) {
    const int count = tile.loads_end() - tile.first_step();
    if (mine) {
      const bool finishes = !Config::split || tile.first_step() == 0;
      const int row = tile.row() + first_row, column = tile.column(), batch = tile.batch();
      if (finishes) epilogue.begin(row, column, batch);
      if constexpr (Config::split)  // others began with their parts when this block began with its first tile
        if (finishes && tile.last_step() < tile.steps && tile.index > first_tile) partials.look();
      Accumulators<Config> sums;
      if constexpr (Config::promoted) {
        multiply_promoted<Config>(sums, stages, ring, count, first_row);
      } else {
        if (count == 0) clear<Config>(sums);
        multiply<Config>(sums, stages, ring, count, first_row, warpgroup);
      }
      if constexpr (Config::split) {
        if (!finishes)
          partials.give(sums);
        else if (tile.last_step() < tile.steps)
          partials.collect(sums, tile);
      }
      if (finishes) epilogue.store(sums, row, column, batch);
    } else {
      ring.advance(count);
    }
    if (Config::ping_pong) mine = !mine;
  }
  if (epilogue.leader()) hopper::bulk_wait_read<0>();  // shared memory outlives the stores
}

template <class Config>
WF_KERNEL(Config::threads, Config::resident)
gemm_kernel(WF_PARAM hopper::TensorMap map_a, WF_PARAM hopper::TensorMap map_b,
            WF_PARAM hopper::TensorMap map_c, WF_PARAM hopper::TensorMap map_d,
            Output<typename Config::Output> output, WF_PARAM ScalingOf<Config> scaling, Shape shape,
            BatchSteps batch_step, char* workspace) {
  const uint32_t shared = hopper::dynamic_shared();
  const Stages<Config> stages{shared};
  const int warpgroup = hopper::warpgroup_id();
  if (hopper::thread_id() == 0) {
    constexpr uint32_t c_full = Config::offsets().c_full;
    hopper::tma_prefetch_map(map_a);
    hopper::tma_prefetch_map(map_b);
    hopper::tma_prefetch_map(map_d);
    for (int i = 0; i < Config::stages; ++i) {
      hopper::mbarrier_init(stages.full(i), 1, "full", i);
      hopper::mbarrier_init(stages.empty(i), Config::empty_arrivals, "empty", i);
    }
    for (int i = 0; i < Config::math_warpgroups * Config::buffers; ++i)
      hopper::mbarrier_init(BarrierArray{shared + c_full}[i], 1, "C arrived", i);
    hopper::fence_mbarrier_init();
  }
  barriers_ready<Config::cluster>();

  // What came before on the stream may still run until here; what comes after may start to set itself up.
  hopper::grid_dependency_wait();
  hopper::grid_dependency_launch();
  if (warpgroup == Config::math_warpgroups) {
    if constexpr (Config::moves_registers) hopper::registers_decrease<Config::producer_registers>();
    if (hopper::thread_id() % 128 == 0) produce<Config>(stages, map_a, map_b, shape, batch_step);
  } else {
    if constexpr (Config::moves_registers) hopper::registers_increase<Config::math_registers>();
    Epilogue<Config> epilogue{map_c, map_d, output, scaling, shape, batch_step.c, shared, warpgroup};
    consume<Config>(stages, epilogue, workspace);
  }
  leave_cluster<Config::cluster>();
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
