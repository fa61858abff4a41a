// Grouped products: rows of A and D come in groups, each with a matrix of its own (mixture of experts).
//
//   D (rows of group g) = epilogue (A (rows of group g, K) B_g (N, K)^T),   g = 0 .. groups - 1
//
// A and D are one matrix of R rows each; group g has the rows [first (g), end (g)), which lie in device memory, so nothing
// waits for the host and a launch may be captured in a graph whose replays find other sizes:
//
//   contiguous   starts (groups + 1): group g ends where g + 1 starts
//   masked       group g starts at g * row_step and has counts (g) rows
//
// Each block walks the groups and takes every grid-th tile of all of them. A tile's rows past its group's last are
// multiplied and not stored: boxes of D that reach there leave from registers, row by row. Rows of no group are not
// touched. A group may have no rows; K = 0 gives zeros. The kernel is that of plain products otherwise.
#pragma once

#include "warpfold/kernels/gemm/kernel.h"

namespace warpfold::kernels::gemm {

// Where the groups' rows are; numbers in device memory. Rows outside [0, R) are left out.
struct Groups {
  const int32_t* starts;  // (groups + 1), or null: masked
  const int32_t* counts;  // (groups), if masked
  int groups, row_step;
  int b_step;  // 0: one B for all
};

inline namespace WF_TARGET {

// The tiles of a block, through all groups.
template <class Config>
struct GroupWalk {
  const Groups groups;
  const int all_rows, columns;  // columns of tiles
  const int steps;              // of K; 0 where K = 0
  int group = 0, first_row = 0, end_row = 0;
  int index;  // of the tile in its group

  WF_ATOM GroupWalk(Shape s, const Groups& g)
      : groups(g),
        all_rows(s.m),
        columns((s.n - 1) / Config::tile_n + 1),
        steps((s.k + Config::tile_k - 1) / Config::tile_k),
        index(hopper::block_id()) {
    enter();
    settle();
  }
  WF_ATOM bool done() const { return group >= groups.groups; }
  WF_ATOM void advance() {
    index += hopper::grid_blocks();
    settle();
  }
  WF_ATOM int row() const { return first_row + index % row_tiles() * Config::tile_m; }
  WF_ATOM int column() const { return index / row_tiles() * Config::tile_n; }

 private:
  WF_ATOM int row_tiles() const { return (end_row - first_row + Config::tile_m - 1) / Config::tile_m; }
  WF_ATOM int inside(int64_t row) const { return int(row < 0 ? 0 : row > all_rows ? all_rows : row); }
  // The rows of the group.
  WF_ATOM void enter() {
    if (group >= groups.groups) return;
    if (groups.starts != nullptr) {
      first_row = inside(hopper::load_global(groups.starts + group));
      end_row = inside(hopper::load_global(groups.starts + group + 1));
    } else {
      first_row = inside(int64_t{group} * groups.row_step);
      end_row = inside(int64_t{group} * groups.row_step + hopper::load_global(groups.counts + group));
    }
    if (end_row < first_row) end_row = first_row;
  }
  // The group that has the tile, counted from the first of this one.
  WF_ATOM void settle() {
    while (group < groups.groups && index >= row_tiles() * columns) {
      index -= row_tiles() * columns;
      ++group;
      enter();
    }
  }
};

// One thread: fills the ring for all tiles of the block.
template <class Config>
WF_ATOM void produce_groups(const Stages<Config>& stages, const hopper::TensorMap& map_a, const hopper::TensorMap& map_b,
                            Shape shape, const Groups& groups) {
  RingCursor<Config::stages> ring;
  for (GroupWalk<Config> tile(shape, groups); !tile.done(); tile.advance()) {
    const int row = tile.row(), column = tile.column();
    for (int step = 0; step < tile.steps; ++step) {
      const hopper::Barrier full = stages.full(ring.stage);
      hopper::mbarrier_wait(stages.empty(ring.stage), ring.parity ^ 1);
      hopper::mbarrier_arrive_expect_tx(full, uint32_t(shape.stage_bytes));
      stages.a(ring.stage).load(map_a, full, row, step * Config::tile_k, 0);
      stages.b(ring.stage).load(map_b, full, column, step * Config::tile_k, tile.group * groups.b_step);
      ring.advance();
    }
  }
}

// A math warpgroup: multiplies and stores its tiles.
template <class Config>
WF_ATOM void consume_groups(const Stages<Config>& stages, Epilogue<Config>& epilogue, const Groups& groups) {
  const int warpgroup = epilogue.warpgroup;
  const int first_row = Config::ping_pong ? 0 : warpgroup * Config::warpgroup_m;
  RingCursor<Config::stages> ring;
  bool mine = !Config::ping_pong || warpgroup == 0;
  if (!mine) pass_turn<Config>(warpgroup);
  for (GroupWalk<Config> tile(epilogue.shape, groups); !tile.done(); tile.advance()) {
    if (mine) {
      const int row = tile.row() + first_row, column = tile.column();
      epilogue.output.m = tile.end_row;
      epilogue.group = tile.group;
      epilogue.begin(row, column, 0);
      Accumulators<Config> sums;
      if constexpr (Config::promoted) {
        multiply_promoted<Config>(sums, stages, ring, tile.steps, first_row);
      } else {
        if (tile.steps == 0) clear<Config>(sums);
        multiply<Config>(sums, stages, ring, tile.steps, first_row, warpgroup);
      }
      epilogue.store(sums, row, column, 0);
    } else {
      ring.advance(tile.steps);
    }
    if (Config::ping_pong) mine = !mine;
  }
  if (epilogue.leader()) hopper::bulk_wait_read<0>();  // shared memory outlives the stores
}

template <class Config>
WF_KERNEL(Config::threads, Config::resident)
grouped_kernel(WF_PARAM hopper::TensorMap map_a, WF_PARAM hopper::TensorMap map_b, WF_PARAM hopper::TensorMap map_d,
               Output<typename Config::Output> output, WF_PARAM ScalingOf<Config> scaling, Shape shape, Groups groups) {
  static_assert(Config::grouped && Config::cluster == 1 && !Config::split && !Config::swapped && !Config::copied);
  const uint32_t shared = hopper::dynamic_shared();
  const Stages<Config> stages{shared};
  const int warpgroup = hopper::warpgroup_id();
  if (hopper::thread_id() == 0) {
    hopper::tma_prefetch_map(map_a);
    hopper::tma_prefetch_map(map_b);
    hopper::tma_prefetch_map(map_d);
    for (int i = 0; i < Config::stages; ++i) {
      hopper::mbarrier_init(stages.full(i), 1, "full", i);
      hopper::mbarrier_init(stages.empty(i), Config::empty_arrivals, "empty", i);
    }
    hopper::fence_mbarrier_init();
  }
  hopper::block_sync();

  // What came before on the stream may still run until here; what comes after may start to set itself up.
  hopper::grid_dependency_wait();
  hopper::grid_dependency_launch();
  if (warpgroup == Config::math_warpgroups) {
    hopper::registers_decrease<Config::producer_registers>();
    if (hopper::thread_id() % 128 == 0) produce_groups<Config>(stages, map_a, map_b, shape, groups);
  } else {
    hopper::registers_increase<Config::math_registers>();
    Epilogue<Config> epilogue{map_d, map_d, output, scaling, shape, 0, shared, warpgroup};
    consume_groups<Config>(stages, epilogue, groups);
  }
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
