// D^T = W A^T with packed weights W (N, K): a persistent, warp-specialised kernel for Hopper.
//
// One thread copies: chunks of packed weights, each stage in one piece, and tiles of A (M, K) by TMA, into a deep ring.
// Two warpgroups multiply. Each reads the codes of its 64 rows, turns them into operand A of WGMMAs in registers, 32 of
// K at a time while the 32 before are being multiplied, and A's tile is operand B.
//
// Why the multiplying warps convert, and not the copying warpgroup: a WGMMA takes operand A from registers, so codes
// cross shared memory once, packed, and no bf16 weights are written to it and read back; there is no second ring and no
// barrier between conversion and product; and with few rows of A, where the conversion is the larger part of the
// instructions, all warps share it.
//
// Weights are constants, so those of the first stages are asked for before the kernel in front of this one has ended.
#pragma once

#include "warpfold/kernels/gemm/epilogue.h"
#include "warpfold/kernels/gemm/raster.h"
#include "warpfold/kernels/weight_only/codes.h"
#include "warpfold/kernels/weight_only/config.h"
#include "warpfold/kernels/weight_only/partial.h"

namespace warpfold::kernels::weight_only {

// Packed weights (N, K) as the kernel sees them, and the bytes that a stage's box of A brings: with few rows of A the
// box is as high as A, since boxes that stick far out are slow. What lies in the tile's other rows is multiplied, too,
// and not stored.
struct Weights {
  const uint8_t* packed;
  int steps;  // of tile_k in the padded K
  int x_bytes;
};

inline namespace WF_TARGET {

template <class Config>
struct Stages {
  uint32_t shared;                                                   // of the block
  WF_ATOM hopper::Tile<typename Config::XTile> x(int stage) const {  // of A: (tile_n, tile_k)
    constexpr uint32_t first = Config::offsets().x;
    return {shared + first + uint32_t(stage * Config::XTile::bytes)};
  }
  WF_ATOM uint32_t weights(int stage) const {  // address of the chunks of (tile_m, tile_k)
    constexpr uint32_t first = Config::offsets().weights;
    return shared + first + uint32_t(stage * Config::weight_bytes);
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

// The steps of a block, through all of its tiles.
template <class Config>
struct StepWalk {
  gemm::TileWalk<Config> tile;
  int step = 0;

  WF_ATOM explicit StepWalk(gemm::Shape shape) : tile(shape) { enter(); }
  WF_ATOM bool done() const { return tile.done(); }
  WF_ATOM void advance() {
    if (++step < tile.loads_end()) return;
    tile.advance();
    enter();
  }

 private:
  WF_ATOM void enter() {
    for (; !tile.done(); tile.advance()) {
      step = tile.first_step();
      if (step < tile.loads_end()) return;  // K = 0: there are none
    }
  }
};

// One thread: fills the ring for all steps of the block.
template <class Config>
WF_ATOM void produce(const Stages<Config>& stages, const hopper::TensorMap& map_x, const Weights& weights,
                     gemm::Shape shape) {
  const auto load_weights = [&](int stage, const StepWalk<Config>& at) {
    hopper::mbarrier_arrive_expect_tx(stages.full(stage), uint32_t(Config::weight_bytes + weights.x_bytes));
    const int64_t line = int64_t{at.tile.row() / Config::tile_m} * weights.steps + at.step;
    hopper::bulk_load(stages.weights(stage), weights.packed + line * Config::weight_bytes, Config::weight_bytes,
                      stages.full(stage));
  };
  StepWalk<Config> ahead(shape);
  for (int stage = 0; stage < Config::stages && !ahead.done(); ++stage, ahead.advance()) load_weights(stage, ahead);

  // What came before on the stream may still run until here.
  hopper::grid_dependency_wait();
  RingCursor<Config::stages> ring;
  bool first_lap = true;
  for (StepWalk<Config> at(shape); !at.done(); at.advance()) {
    if (!first_lap) {
      hopper::mbarrier_wait(stages.empty(ring.stage), ring.parity ^ 1);
      load_weights(ring.stage, at);
    }
    stages.x(ring.stage).load(map_x, stages.full(ring.stage), at.tile.column(), at.step * Config::tile_k, 0);
    ring.advance();
    first_lap = first_lap && ring.stage != 0;
  }
}

// The products of 32 of K, in flight while the next 32 are converted.
template <class Config>
struct Group {
  using Sums = float[Config::Product::accumulators];
  Fragments a;
  // With scaled_sums only: the sums of integers times A, and of A alone where there is a minimum.
  Sums products, of_x;
  float scale[2], minimum[2];  // of rows r and r + 8
};

// Operand A of ones.
struct Ones {
  uint32_t a[4] = {0x3F803F80, 0x3F803F80, 0x3F803F80, 0x3F803F80};
};

// The descriptor `by` units of 16 bytes further on: only its lower half moves.
WF_ATOM uint64_t advanced(uint64_t descriptor, uint64_t by) {
  return (descriptor >> 32 << 32) | uint32_t(uint32_t(descriptor) + uint32_t(by));
}

// Converts block `block` of the chunk and starts its products with the two steps of A from `x` on.
template <class Config>
WF_ATOM void start(Group<Config>& group, gemm::Accumulators<Config>& sums,
                   const ChunkRegisters<Config::weights>& chunk, int block, uint64_t x, const Ones& ones) {
  using Product = typename Config::Product;
  using X = hopper::Tile<typename Config::XTile>;
  if constexpr (Config::scaled_sums) {
    integers<Config::weights>(group.a, chunk, block);
    WF_UNROLL
    for (int half = 0; half < 2; ++half) {
      group.scale[half] = half_of(chunk.scales[half], block);
      if constexpr (Config::sums_of_x) group.minimum[half] = half_of(chunk.minima[half], block);
    }
  } else {
    weights<Config::weights>(group.a, chunk, block);
  }
  auto& to = [&]() -> auto& {
    if constexpr (Config::scaled_sums) return group.products;
    else return sums[0];
  }();
  hopper::keep_in_registers(to);
  hopper::wgmma_fence();
  WF_UNROLL
  for (int s = 0; s < 2; ++s)
    hopper::wgmma<Product>(to, group.a[s], advanced(x, X::descriptor_step(0, s)), !Config::scaled_sums || s > 0);
  if constexpr (Config::sums_of_x) {
    WF_UNROLL
    for (int s = 0; s < 2; ++s)
      hopper::wgmma<Product>(group.of_x, ones.a, advanced(x, X::descriptor_step(0, s)), s > 0);
  }
  hopper::wgmma_commit();
}

// Takes the products of a group that has ended.
template <class Config>
WF_ATOM void finish(Group<Config>& group, gemm::Accumulators<Config>& sums) {
  WF_UNROLL
  for (int s = 0; s < 2; ++s) hopper::keep_in_registers(group.a[s]);
  if constexpr (Config::scaled_sums) {
    hopper::keep_in_registers(group.products);
    if constexpr (Config::sums_of_x) hopper::keep_in_registers(group.of_x);
    WF_UNROLL
    for (int i = 0; i < Config::Product::accumulators; ++i) {
      const int half = i / 2 % 2;
      sums[0][i] += group.scale[half] * group.products[i];
      if constexpr (Config::sums_of_x) sums[0][i] += group.minimum[half] * group.of_x[i];
    }
  }
}

// One arrival of this warp, all of whose lanes have read.
WF_ATOM void release_read(hopper::Barrier empty) {
  hopper::warp_sync();
  release<1>(empty);
}

// Sums the stages of a tile's `count` steps. Scaled sums end with their stage: ptxas follows products that are read
// while others are in flight through straight code only, and serialises all WGMMAs otherwise.
template <class Config>
WF_ATOM void multiply(gemm::Accumulators<Config>& sums, const Stages<Config>& stages,
                      RingCursor<Config::stages>& ring, int count, int warpgroup) {
  using X = hopper::Tile<typename Config::XTile>;
  constexpr int blocks = 2 * Config::chunks;  // of a stage
  Group<Config> groups[2] = {};
  const Ones ones;
  WF_UNROLL
  for (int i = 0; i < Config::Product::accumulators; ++i) sums[0][i] = 0;
  int previous = -1;
  for (int i = 0; i < count; ++i) {
    hopper::mbarrier_wait(stages.full(ring.stage), ring.parity);
    ChunkRegisters<Config::weights> chunks[Config::chunks];
    WF_UNROLL
    for (int c = 0; c < Config::chunks; ++c)
      load_chunk<Config::weights>(chunks[c], stages.weights(ring.stage) + uint32_t(c * chunk_bytes(Config::weights)),
                                  warpgroup, hopper::thread_id() % 128);
    const uint64_t x = stages.x(ring.stage).descriptor();
    WF_UNROLL
    for (int b = 0; b < blocks; ++b) {
      start<Config>(groups[b % 2], sums, chunks[b / 2], b % 2, advanced(x, X::descriptor_step(0, 2 * b)), ones);
      if (Config::scaled_sums && b == 0) continue;
      // Keep this group running and take the one before.
      hopper::wgmma_wait<1>();
      finish<Config>(groups[1 - b % 2], sums);
      if (!Config::scaled_sums && b == 0 && previous >= 0) release_read(stages.empty(previous));
    }
    if constexpr (Config::scaled_sums) {
      hopper::wgmma_wait<0>();
      finish<Config>(groups[1], sums);
      release_read(stages.empty(ring.stage));
    }
    previous = ring.stage;
    ring.advance();
  }
  if constexpr (!Config::scaled_sums) {
    hopper::wgmma_wait<0>();
    finish<Config>(groups[1], sums);
    hopper::keep_in_registers(sums[0]);
    if (previous >= 0) release_read(stages.empty(previous));
  }
}

// A math warpgroup: multiplies and stores its half of the block's tiles.
template <class Config>
WF_ATOM void consume(const Stages<Config>& stages, gemm::Epilogue<Config>& epilogue, char* workspace) {
  const int warpgroup = epilogue.warpgroup;
  const Partials<Config> partials{workspace, warpgroup};
  RingCursor<Config::stages> ring;
  for (gemm::TileWalk<Config> tile(epilogue.shape); !tile.done(); tile.advance()) {
    const bool finishes = !Config::split || tile.first_step() == 0;
    const int row = tile.row() + warpgroup * 64, column = tile.column();
    if (finishes) epilogue.begin(row, column, 0);
    gemm::Accumulators<Config> sums;
    multiply<Config>(sums, stages, ring, tile.loads_end() - tile.first_step(), warpgroup);
    if constexpr (Config::split) {
      if (!finishes)
        partials.give(sums);
      else if (tile.last_step() < tile.steps)
        partials.collect(sums, tile);
    }
    if (finishes) epilogue.store(sums, row, column, 0);
  }
  if (epilogue.leader()) hopper::bulk_wait_read<0>();  // shared memory outlives the stores
}

template <class Config>
WF_KERNEL(Config::threads, Config::resident)
weight_only_kernel(WF_PARAM hopper::TensorMap map_x, WF_PARAM hopper::TensorMap map_c,
                   WF_PARAM hopper::TensorMap map_d, gemm::Output<typename Config::Output> output,
                   WF_PARAM gemm::Scaling scaling, gemm::Shape shape, Weights weights, char* workspace) {
  const uint32_t shared = hopper::dynamic_shared();
  const Stages<Config> stages{shared};
  const int warpgroup = hopper::warpgroup_id();
  if (hopper::thread_id() == 0) {
    constexpr uint32_t c_full = Config::offsets().c_full;
    for (int i = 0; i < Config::stages; ++i) {
      hopper::mbarrier_init(stages.full(i), 1, "full", i);
      hopper::mbarrier_init(stages.empty(i), Config::empty_arrivals, "empty", i);
    }
    for (int i = 0; i < Config::math_warpgroups * Config::buffers; ++i)
      hopper::mbarrier_init(BarrierArray{shared + c_full}[i], 1, "C arrived", i);
    hopper::fence_mbarrier_init();
    hopper::tma_prefetch_map(map_x);
    hopper::tma_prefetch_map(map_d);
  }
  hopper::block_sync();

  hopper::grid_dependency_launch();  // what comes after may set itself up, and read its weights
  if (warpgroup == Config::math_warpgroups) {
    if constexpr (Config::moves_registers) hopper::registers_decrease<Config::producer_registers>();
    if (hopper::thread_id() % 128 == 0) produce<Config>(stages, map_x, weights, shape);
  } else {
    if constexpr (Config::moves_registers) hopper::registers_increase<Config::math_registers>();
    hopper::grid_dependency_wait();
    gemm::Epilogue<Config> epilogue{map_c, map_d, output, scaling, shape, 0, shared, warpgroup};
    consume<Config>(stages, epilogue, workspace);
  }
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::weight_only
