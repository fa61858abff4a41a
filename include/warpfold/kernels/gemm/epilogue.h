// The end of a tile: D (i,j) = alpha * row (i) * column (j) * accumulator (i,j) + beta * C (i,j), rounded, or
// the int32 accumulators as they are, through shared memory to global memory.
//
// Each warpgroup moves its rows box by box (64 rows of one span) through two buffers: while TMA reads one,
// the other is written. With beta, C arrives in the buffer first, and D replaces it in place. TMA clips what
// lies outside D, but in units of 16 bytes: the last N % 8 columns (N % 4 of int32) are stored from
// registers.
#pragma once

#include "warpfold/hopper/tile.h"
#include "warpfold/kernels/gemm/config.h"
#include "warpfold/kernels/pipeline.h"

namespace warpfold::kernels::gemm {

// beta = 0: C is never read. Null scales are ones.
struct Scaling {
  float alpha, beta;
  const float* row;     // (M)
  const float* column;  // (N)
};

// D (m, n) in global memory, rows `stride` elements apart. Its tensor map covers columns [0, tail).
template <class Element>
struct Output {
  Element* d;
  int64_t stride;
  int m, n;
  constexpr int tail() const { return n / (16 / int(sizeof(Element))) * (16 / int(sizeof(Element))); }
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

template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T x, y;
};

template <class Config>
struct Epilogue {
  using Element = typename Config::Output;
  using Sum = typename Config::Product::Accumulator;
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
    if (Config::exact || scaling.beta == 0 || !leader()) return;
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

  // int8 with a 16-bit result is scaled by row and column; the factors of a thread's two rows, 8 apart, of
  // the 64 rows from `row` include alpha.
  static constexpr bool scaled = Config::integers && !Config::exact;
  WF_ATOM Pair<float> row_factors(int row) const {
    if (!scaled || scaling.row == nullptr) return {scaling.alpha, scaling.alpha};
    row += hopper::warp_id() % 4 * 16 + hopper::lane_id() / 4;
    return {row < output.m ? scaling.alpha * hopper::load_global(scaling.row + row) : 0,
            row + 8 < output.m ? scaling.alpha * hopper::load_global(scaling.row + row + 8) : 0};
  }
  WF_ATOM Pair<float> column_factors(int c) const {  // of columns c and c + 1
    if (scaling.column == nullptr) return {1, 1};
    if (c + 1 < output.n)
      return hopper::load_global(reinterpret_cast<const Pair<float>*>(scaling.column + c));
    return {c < output.n ? hopper::load_global(scaling.column + c) : 0, 0};
  }

  // Scales 64 rows x one span of accumulators `v` that lie at (first_row, first_column) of D, adds beta * C,
  // rounds, and writes them to the buffer, one 16 x 16 patch after the other: few registers beside the
  // accumulators. Thread t addresses what Config::patch_row and patch_column say.
  static constexpr int box_values = Config::Box::across / 2;  // registers of a thread
  WF_ATOM void write_box(Box box, const Sum* v, int first_row, int first_column) const {
    const bool with_tail = output.tail() != output.n && first_column + Config::Box::across > output.tail();
    const Pair<float> row = row_factors(first_row);
    const int t = hopper::thread_id() % 128;
    WF_UNROLL
    for (int x = 0; x < Config::Box::across; x += 16, v += 8) {
      const uint32_t address = box.element(Config::patch_row(t), x + Config::patch_column(t));
      uint32_t packed[4] = {};  // C, then D: two columns by two rows, twice
      if (scaling.beta != 0) hopper::ldmatrix(packed, address);
      WF_UNROLL
      for (int half = 0; half < 2; ++half) {
        Pair<float> by{1, 1};
        if constexpr (scaled) by = column_factors(first_column + x + half * 8 + t % 4 * 2);
        WF_UNROLL
        for (int r = 0; r < 2; ++r) {
          const int i = half * 2 + r;
          const float factor = r == 0 ? row.x : row.y;
          float low = factor * by.x * float(v[2 * i]), high = factor * by.y * float(v[2 * i + 1]);
          if (scaling.beta != 0) {
            low += scaling.beta * unpack<Element>(packed[i], 0);
            high += scaling.beta * unpack<Element>(packed[i], 1);
          }
          packed[i] = pack<Element>(low, high);
        }
      }
      hopper::stmatrix(address, packed);
      if (with_tail) store_tail(packed, first_row + hopper::warp_id() % 4 * 16, first_column + x);
    }
  }

  // Writes 64 rows x 32 columns of int32 sums to the buffer. A quad of lanes holds 32 consecutive bytes of a
  // row; odd rows visit the four 32-byte groups of a row in another order than even ones, or two rows of each
  // half-warp would meet in the same banks.
  WF_ATOM void write_sums(Box box, const int32_t* v, int first_row, int first_column) const {
    const int lane = hopper::lane_id(), row = hopper::warp_id() % 4 * 16 + lane / 4;
    const bool odd = row % 2 != 0;
    WF_UNROLL
    for (int i = 0; i < 8; i += 2) {  // groups i/4 and i/4 + 2 of 8 columns, of two rows 8 apart
      const Pair<int32_t> left{v[i], v[i + 1]}, right{v[i + 8], v[i + 9]};
      const int r = row + i / 2 % 2 * 8, x = i / 4 * 8 + lane % 4 * 2;
      hopper::store_shared(box.element(r, odd ? x + 16 : x), odd ? right : left);
      hopper::store_shared(box.element(r, odd ? x : x + 16), odd ? left : right);
    }
    if (output.tail() == output.n || first_column + Config::Box::across <= output.tail()) return;
    WF_UNROLL
    for (int i = 0; i < box_values; ++i) {
      const int r = first_row + row + i / 2 % 2 * 8, c = first_column + i / 4 * 8 + lane % 4 * 2 + i % 2;
      if (r < output.m && c >= output.tail() && c < output.n)
        hopper::store_global(output.d + r * output.stride + c, v[i]);
    }
  }

  // Stores the warpgroup's part of a tile, whose first element is (row, column) of D.
  WF_ATOM void store(const Accumulators<Config>& accumulators, int row, int column) {
    const bool with_c = !Config::exact && scaling.beta != 0;
    WF_UNROLL
    for (int box = 0; box < Config::boxes; ++box) {
      const int i = box % Config::buffers;
      const int box_m = row + box_row(box), box_n = column + box_column(box);  // where the box lies in D
      const Sum* v = accumulators[box / Config::boxes_across] + box % Config::boxes_across * box_values;
      if (with_c) {
        hopper::mbarrier_wait(c_full(i), c_parity ^ uint32_t(box / Config::buffers % 2));
      } else {
        if (leader()) hopper::bulk_wait_read<Config::buffers - 1>();  // the buffer's previous box has left
        hopper::named_sync(1 + warpgroup, 128);
      }
      if constexpr (Config::exact)
        write_sums(buffer(i), v, box_m, box_n);
      else
        write_box(buffer(i), v, box_m, box_n);
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
