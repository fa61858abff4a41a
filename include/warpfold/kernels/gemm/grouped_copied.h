// Grouped products whose matrices B lie anywhere, each at a pointer of its own, or that TMA cannot take: threads copy, as in
// copied.h, and groups are walked as in grouped.h.
#pragma once

#include "warpfold/kernels/gemm/copied.h"
#include "warpfold/kernels/gemm/grouped.h"

namespace warpfold::kernels::gemm {
inline namespace WF_TARGET {

// All threads of the producer: fill the ring for all tiles of the block. pointers (groups): where each B is, or null.
template <class Config>
WF_ATOM void produce_grouped_copies(const Stages<Config>& stages, const Source& a, Source b, const void* const* pointers,
                                    Shape shape, const Groups& groups) {
  CopiedRing<Config> ring{stages};
  const auto same = [](int i) { return i; };
  for (GroupWalk<Config> tile(shape, groups); !tile.done(); tile.advance()) {
    const int row = tile.row(), column = tile.column();
    if (pointers != nullptr) b.data = hopper::load_global(pointers + tile.group);
    for (int step = 0; step < tile.steps; ++step) {
      const int stage = ring.begin();
      copy_tile(stages.a(stage), a, row, tile.end_row, step * Config::tile_k, shape.k, 0, same);
      copy_tile(stages.b(stage), b, column, shape.n, step * Config::tile_k, shape.k, tile.group, same);
      ring.end();
    }
  }
  ring.finish();
}

template <class Config>
WF_KERNEL(Config::threads, Config::resident)
grouped_copied_kernel(WF_PARAM Source a, WF_PARAM Source b, const void* const* pointers, Output<typename Config::Output> output,
                      WF_PARAM ScalingOf<Config> scaling, Shape shape, Groups groups) {
  static_assert(Config::grouped && Config::copied);
  const uint32_t shared = hopper::dynamic_shared();
  const Stages<Config> stages{shared};
  const int warpgroup = hopper::warpgroup_id();
  init_copied_stages<Config>(stages);

  // What came before on the stream may still run until here; what comes after may start to set itself up.
  hopper::grid_dependency_wait();
  hopper::grid_dependency_launch();
  if (warpgroup == Config::math_warpgroups) {
    hopper::registers_decrease<Config::producer_registers>();
    produce_grouped_copies<Config>(stages, a, b, pointers, shape, groups);
  } else {
    hopper::registers_increase<Config::math_registers>();
    Epilogue<Config> epilogue{a, a, output, scaling, shape, 0, shared, warpgroup};
    consume_groups<Config>(stages, epilogue, groups);
  }
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
