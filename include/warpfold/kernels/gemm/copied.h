// The same product where TMA cannot serve: operands, C and D on any address, with any strides and majors.
//
// All 128 threads of the producer warpgroup copy A and B into the stages, in 16-byte units of K: by cp.async of 16, 8 or 4
// bytes where the rows' addresses allow it, else element by element through registers. Operands whose K is not contiguous
// are transposed on the way, so one kernel serves all majors, and TF32 is rounded as TMA would. Units past the end of K
// are filled up with zeros. A stage is handed over once its copies have landed, `lag` stages later: a thread waits for its
// copies, makes them visible to the tensor cores (the async proxy) and arrives, so `full` counts threads instead of bytes.
// C and D pass through the boxes in shared memory, so that a warp reads and writes global memory along rows.
#pragma once

#include "warpfold/kernels/gemm/kernel.h"

namespace warpfold::kernels::gemm {
inline namespace WF_TARGET {

struct alignas(16) Unit {
  uint32_t word[4];
};

// Bits of a float, rounded to nearest even in the upper 19: a tensor map of TF32 does the same. NaN stays NaN.
WF_ATOM uint32_t round_to_tf32(uint32_t x) {
  if ((x & 0x7FFFFFFF) > 0x7F800000) return x | 0x00400000;
  return (x + 0xFFF + (x >> 13 & 1)) & ~0x1FFFu;
}

// One unit of K of a row: `valid` elements from `from` on, `step` elements apart, the rest zeros.
template <class Element>
WF_ATOM void copy_elements(uint32_t to, const Element* from, int64_t step, int valid) {
  constexpr int count = 16 / int(sizeof(Element));
  using Bits = std::conditional_t<sizeof(Element) == 1, uint8_t, std::conditional_t<sizeof(Element) == 2, uint16_t, uint32_t>>;
  const Bits* const bits = reinterpret_cast<const Bits*>(from);
  Unit unit{};
  WF_UNROLL
  for (int i = 0; i < count; ++i) {
    uint32_t x = i < valid ? uint32_t(hopper::load_global(bits + i * step)) : 0;
    if (std::is_same_v<Element, hopper::tf32>) x = round_to_tf32(x);
    unit.word[i * int(sizeof(Element)) / 4] |= x << i * int(sizeof(Element)) % 4 * 8;
  }
  hopper::store_shared(to, unit);
}
template <int kBytes>
WF_ATOM void copy_asynchronously(uint32_t to, const void* from, int valid_bytes) {
  WF_UNROLL
  for (int i = 0; i < 16; i += kBytes) {
    const int left = valid_bytes - i;
    hopper::copy_async<kBytes>(to + uint32_t(i), static_cast<const char*>(from) + (left > 0 ? i : 0),
                               left < 0 ? 0 : left < kBytes ? left : kBytes);
  }
}

// Rows [first, first + rows of the tile) of a matrix (`size` rows, K) and the columns from k on. row_of(r): which row of
// the matrix is row r of all tiles.
template <class Tile, class RowOf>
WF_ATOM void copy_tile(const Tile& tile, const Source& s, int first, int size, int k, int k_end, int batch, RowOf row_of) {
  using Element = typename Tile::Shape::Element;
  constexpr int units = 8, count = 16 / int(sizeof(Element)), rows = Tile::Shape::rows;
  static_assert(Tile::Shape::columns == 1 && rows % 16 == 0, "a row is one span of 8 units");
  const Element* const matrix = static_cast<const Element*>(s.data) + batch * s.batch_stride;
  const int t = hopper::thread_id() % 128;
  for (int i = t; i < rows * units; i += 128) {
    // Lanes go along what is contiguous in memory: K, or rows.
    const int r = s.k_step == 1 ? i / units : i % rows, unit = s.k_step == 1 ? i % units : i / rows;
    const int row = row_of(first + r), at = k + unit * count;
    const int left = row < size ? k_end - at : 0, valid = left < 0 ? 0 : left < count ? left : count;
    const uint32_t to = tile.element(r, unit * count);
    const Element* const from = valid > 0 ? matrix + row * s.row_step + at * s.k_step : matrix;
    if (s.copy_bytes == 16)
      copy_asynchronously<16>(to, from, valid * int(sizeof(Element)));
    else if (s.copy_bytes == 8)
      copy_asynchronously<8>(to, from, valid * int(sizeof(Element)));
    else if (s.copy_bytes == 4)
      copy_asynchronously<4>(to, from, valid * int(sizeof(Element)));
    else
      copy_elements(to, from, s.k_step, valid);
  }
}

// The ring as the copying threads fill it: stages are handed over `lag` later, when their copies have landed.
template <class Config>
struct CopiedRing {
  static constexpr int lag = 3;  // stages on their way
  static_assert(lag <= Config::stages - 2, "a stage is given back when the products of the next have begun");
  const Stages<Config>& stages;
  RingCursor<Config::stages> next = {}, landed = {};
  int flying = 0;

  // The stage to copy into, once it is free.
  WF_ATOM int begin() const {
    hopper::mbarrier_wait(stages.empty(next.stage), next.parity ^ 1);  // passes at once on the first lap
    return next.stage;
  }
  WF_ATOM void end() {
    hopper::copy_async_commit();
    next.advance();
    if (++flying <= lag) return;
    hopper::copy_async_wait<lag>();
    hand_over();
  }
  WF_ATOM void finish() {
    hopper::copy_async_wait<0>();
    while (flying > 0) hand_over();
  }

 private:
  WF_ATOM void hand_over() {
    hopper::fence_async_shared();
    hopper::mbarrier_arrive(stages.full(landed.stage));
    landed.advance();
    --flying;
  }
};

// All threads of the producer: fill the ring for all tiles of the block.
template <class Config, class Scaling>
WF_ATOM void produce_copies(const Stages<Config>& stages, const Source& a, const Source& b, Shape shape, const Scaling& scaling) {
  CopiedRing<Config> ring{stages};
  const auto row_of_b = [&](int j) {
    return Config::gated ? (j / 16 * 8 + j % 8) * scaling.gate_step + (j % 16 < 8 ? 0 : scaling.up) : j;
  };
  for (TileWalk<Config> tile(shape); !tile.done(); tile.advance()) {
    const int row = tile.row(), column = tile.column(), batch = tile.batch();
    for (int step = 0; step < tile.loads_end(); ++step) {
      const int k = step * Config::tile_k, stage = ring.begin();
      copy_tile(stages.a(stage), a, row, shape.m, k, shape.k, batch, [](int i) { return i; });
      copy_tile(stages.b(stage), b, column, shape.n, k, shape.k, batch, row_of_b);
      ring.end();
    }
  }
  ring.finish();
}

// The barriers of the stages, for all threads of the block.
template <class Config>
WF_ATOM void init_copied_stages(const Stages<Config>& stages) {
  if (hopper::thread_id() == 0) {
    for (int i = 0; i < Config::stages; ++i) {
      hopper::mbarrier_init(stages.full(i), Config::full_arrivals, "full", i);
      hopper::mbarrier_init(stages.empty(i), Config::empty_arrivals, "empty", i);
    }
    hopper::fence_mbarrier_init();
  }
  hopper::block_sync();
}

// Calls f (address in the box, row, column) for the elements of D that the box at `at` has, a warp along a row.
template <class Config, class Function>
WF_ATOM void each_element(const Epilogue<Config>& e, typename Epilogue<Config>::Box box,
                          const typename Epilogue<Config>::Place& at, Function f) {
  for (int r = e.warp(); r < Config::Box::rows && at.row + r < e.output.m; r += 4)
    for (int c = hopper::lane_id(); c < Config::Box::across && at.column + c < e.output.n; c += 32)
      f(box.element(r, c), at.row + r, at.column + c);
}
// Stores the warpgroup's part of a tile, which lies at `tile` in D.
template <class Config>
WF_ATOM void store_by_threads(const Epilogue<Config>& e, const Accumulators<Config>& sums,
                              const typename Epilogue<Config>::Place& tile) {
  using Element = typename Config::Output;
  const int named_barrier = 1 + e.warpgroup;
  WF_UNROLL
  for (int number = 0; number < Config::boxes; ++number) {
    const auto box = e.buffer(number % Config::buffers);
    const typename Epilogue<Config>::Place at{tile.row + e.box_row(number), tile.column + e.box_column(number), tile.batch};
    hopper::named_sync(named_barrier, 128);  // the box's previous elements have left, and all factors are there
    if (Config::takes_c && e.scaling.beta != 0) {
      const Element* const c = static_cast<const Element*>(e.map_c.data) + at.batch * e.map_c.batch_stride;
      each_element(e, box, at, [&](uint32_t address, int i, int j) {
        hopper::store_shared(address, hopper::load_global(c + i * e.map_c.row_step + j));
      });
      hopper::named_sync(named_barrier, 128);
    }
    constexpr int box_sums = Config::box_columns / 2;
    e.write_box(box, number, sums[number / Config::boxes_across] + number % Config::boxes_across * box_sums, at);
    hopper::named_sync(named_barrier, 128);
    Element* const d = e.output.d + at.batch * e.output.batch_stride;
    each_element(e, box, at, [&](uint32_t address, int i, int j) {
      hopper::store_global(d + i * e.output.stride + j, hopper::load_shared<Element>(address));
    });
  }
}

template <class Config>
WF_KERNEL(Config::threads, Config::resident)
copied_kernel(WF_PARAM Source a, WF_PARAM Source b, WF_PARAM Source c, Output<typename Config::Output> output,
              WF_PARAM ScalingOf<Config> scaling, Shape shape) {
  static_assert(Config::copied && Config::cluster == 1 && !Config::split && !Config::swapped);
  const uint32_t shared = hopper::dynamic_shared();
  const Stages<Config> stages{shared};
  const int warpgroup = hopper::warpgroup_id();
  init_copied_stages<Config>(stages);

  // What came before on the stream may still run until here; what comes after may start to set itself up.
  hopper::grid_dependency_wait();
  hopper::grid_dependency_launch();
  if (warpgroup == Config::math_warpgroups) {
    hopper::registers_decrease<Config::producer_registers>();
    produce_copies<Config>(stages, a, b, shape, scaling);
  } else {
    hopper::registers_increase<Config::math_registers>();
    Epilogue<Config> epilogue{c, c, output, scaling, shape, 0, shared, warpgroup};
    consume<Config>(stages, epilogue, nullptr);
  }
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
