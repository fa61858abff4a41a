// The end of a tile: D = alpha * accumulators + beta * C, rounded, through shared memory to global memory.
//
// Each warpgroup moves its rows box by box (64 rows of one span) through two buffers: while TMA reads one,
// the other is written. With beta, C arrives in the buffer first, and D replaces it in place. TMA clips what
// lies outside D, but in units of 16 bytes: the last N % 8 columns are stored from registers.
#pragma once

#include "warpfold/hopper/tile.h"
#include "warpfold/kernels/gemm/config.h"
#include "warpfold/kernels/pipeline.h"

namespace warpfold::kernels::gemm {

// beta = 0: C is never read.
struct Scaling {
  float alpha, beta;
};

// D (m, n) in global memory, rows `stride` elements apart. Its tensor map covers columns [0, tail).
template <class Element>
struct Output {
  Element* d;
  int64_t stride;
  int m, n;
  constexpr int tail() const { return n / 8 * 8; }
};

inline namespace WF_TARGET {

template <class Config>
using Accumulators = typename Config::Product::Accumulator[Config::row_blocks][Config::Product::accumulators];

template <class Element>
WF_ATOM uint32_t pack(float low, float high) {
  if constexpr (sizeof(Element) == 2 && __is_same(Element, hopper::bf16))
    return hopper::pack_bf16(low, high);
  else
    return hopper::pack_f16(low, high);
}
template <class Element>
WF_ATOM float unpack(uint32_t pair, int half) {
  return hopper::to_float(Element{uint16_t(pair >> 16 * half)});
}

template <class Config>
struct Epilogue {
  using Element = typename Config::Element;
  using Box = hopper::Tile<typename Config::Box>;  // (64, span)
  const hopper::TensorMap& map_c;                  // of C (M, N)
  const hopper::TensorMap& map_d;                  // of D (M, N)
  Output<Element> output;
  Scaling scaling;
  uint32_t shared;  // of the block
  int warpgroup;
  uint32_t c_parity = 0;  // of both buffers: they are filled equally often a tile

  WF_ATOM Box buffer(int i) const {
    constexpr uint32_t first = Config::offsets().box;
    return {shared + first + uint32_t((warpgroup * Config::buffers + i) * Config::Box::bytes)};
  }
  WF_ATOM hopper::Barrier c_full(int i) const {
    constexpr uint32_t first = Config::offsets().c_full;
    return BarrierArray{shared + first}[warpgroup * Config::buffers + i];
  }
  WF_ATOM bool leader() const { return hopper::thread_id() % 128 == 0; }
  WF_ATOM int box_row(int box) const { return box / Config::boxes_across * 64; }
  WF_ATOM int box_column(int box) const { return box % Config::boxes_across * Config::Box::across; }

  // Leader only: asks for the C of box `box`, whose buffer no store reads any more.
  WF_ATOM void fetch_c(int box, int row, int column) const {
    const int i = box % Config::buffers;
    hopper::mbarrier_arrive_expect_tx(c_full(i), Config::Box::bytes);
    buffer(i).load(map_c, c_full(i), row + box_row(box), column + box_column(box));
  }
  // Before the products of a tile whose first row is `row`, so that C travels meanwhile.
  WF_ATOM void begin(int row, int column) const {
    if (scaling.beta == 0 || !leader()) return;
    hopper::bulk_wait_read<0>();
    WF_UNROLL
    for (int box = 0; box < Config::buffers; ++box) fetch_c(box, row, column);
  }

  // Stores those of a 16 x 16 patch's elements that lie in the columns past the tensor map; (row, column) is
  // the patch.
  WF_ATOM void store_tail(const uint32_t (&packed)[4], int row, int column) const {
    row += hopper::lane_id() / 4;
    column += hopper::lane_id() % 4 * 2;
    WF_UNROLL
    for (int i = 0; i < 8; ++i) {
      const int r = row + i / 2 % 2 * 8, c = column + i / 4 * 8 + i % 2;
      if (r < output.m && c >= output.tail() && c < output.n)
        hopper::store_global(output.d + r * output.stride + c,
                             Element{uint16_t(packed[i / 2] >> 16 * (i % 2))});
    }
  }

  // Scales 64 rows x one span of accumulators `v`, adds beta * C, and writes them to the buffer; (first_row,
  // first_column) is where they lie in D. Lane l addresses row l%16 and the 8 columns from 8 * (l/16) of each
  // 16 x 16 patch.
  WF_ATOM void write_box(Box box, const float* v, int first_row, int first_column) const {
    const bool with_tail = output.tail() != output.n && first_column + Config::Box::across > output.tail();
    const int t = hopper::thread_id() % 128;
    WF_UNROLL
    for (int x = 0; x < Config::Box::across; x += 16, v += 8) {
      const uint32_t address = box.element(Config::patch_row(t), x + Config::patch_column(t));
      float d[8];
      WF_UNROLL
      for (int i = 0; i < 8; ++i) d[i] = scaling.alpha * v[i];
      if (scaling.beta != 0) {
        uint32_t c[4];
        hopper::ldmatrix(c, address);
        WF_UNROLL
        for (int i = 0; i < 8; ++i) d[i] += scaling.beta * unpack<Element>(c[i / 2], i % 2);
      }
      const uint32_t packed[4] = {pack<Element>(d[0], d[1]), pack<Element>(d[2], d[3]),
                                  pack<Element>(d[4], d[5]), pack<Element>(d[6], d[7])};
      hopper::stmatrix(address, packed);
      if (with_tail) store_tail(packed, first_row + hopper::warp_id() % 4 * 16, first_column + x);
    }
  }

  // Stores the warpgroup's part of a tile, whose first element is (row, column) of D.
  WF_ATOM void store(const Accumulators<Config>& accumulators, int row, int column) {
    const bool with_c = scaling.beta != 0;
    WF_UNROLL
    for (int box = 0; box < Config::boxes; ++box) {
      const int i = box % Config::buffers;
      if (with_c) {
        hopper::mbarrier_wait(c_full(i), c_parity ^ uint32_t(box / Config::buffers % 2));
      } else {
        if (leader()) hopper::bulk_wait_read<Config::buffers - 1>();  // the buffer's previous box has left
        hopper::named_sync(1 + warpgroup, 128);
      }
      const int box_m = row + box_row(box), box_n = column + box_column(box);  // where the box lies in D
      write_box(
          buffer(i),
          accumulators[box / Config::boxes_across] + box % Config::boxes_across * (Config::Box::across / 2),
          box_m, box_n);
      hopper::fence_async_shared();
      hopper::named_sync(1 + warpgroup, 128);
      if (leader()) {
        if (box_n < output.tail()) buffer(i).store(map_d, box_m, box_n);
        hopper::bulk_commit();
        if (with_c && box >= 1 && box + 1 < Config::boxes) {
          hopper::bulk_wait_read<1>();  // box - 1 has left: its buffer takes the C of box + 1
          fetch_c(box + 1, row, column);
        }
      }
    }
    c_parity ^= uint32_t(Config::boxes / Config::buffers % 2);
  }
};

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
