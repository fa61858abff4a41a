// The end of a tile: what is done to the sums, and how they leave.
//
//   Fusion::none     D (i,j) = alpha * sum (i,j) + beta * C (i,j); int32 results are the sums as they are
//   Fusion::linear   y (i,j) = row (i) * column (j) * sum (i,j) + row bias (i) + column bias (j)
//                    D (i,j) = y (i,j) + beta * C (i,j)
//   Fusion::full     D (i,j) = f (y (i,j)) + beta * C (i,j)
//   Fusion::quantised  D (i,j) = f (y (i,j)) + beta * C (i,j), or 8 bits of it, the sums being those of integers less
//                    their zero points; the rows' largest |D|
//   Fusion::gated    D (i,j) = f (y of gate j) * (y of up j) + beta * C (i,j)
//
// Columns of a gated product alternate by eights: 8 of the gate, the same 8 of up, so that a thread holds both.
// Each warpgroup moves its rows box by box through two buffers: while TMA reads one, the other is written.
// With beta, C arrives in the buffer first, and D replaces it in place. TMA clips what lies outside D, but in
// units of 16 bytes: the columns of D past the last whole unit are stored from registers.
#pragma once

#include "warpfold/hopper/tile.h"
#include "warpfold/kernels/gemm/activation.h"
#include "warpfold/kernels/gemm/config.h"
#include "warpfold/kernels/gemm/partial.h"
#include "warpfold/kernels/gemm/scaling.h"
#include "warpfold/kernels/pack.h"
#include "warpfold/kernels/pipeline.h"

namespace warpfold::kernels::gemm {

inline namespace WF_TARGET {

template <class Element>
WF_ATOM float unpack(uint32_t pair, int half) {
  return hopper::to_float(Element{uint16_t(pair >> 16 * half)});
}

template <class Config>
struct Epilogue {
  using Element = typename Config::Output;
  using Sum = typename Config::Product::Accumulator;
  using Value = std::conditional_t<Config::exact, int32_t, float>;
  using Box = hopper::Tile<typename Config::Box>;
  static constexpr bool words = sizeof(Element) == 4, bytes = sizeof(Element) == 1;
  using Map = std::conditional_t<Config::copied, Source, hopper::TensorMap>;
  const Map& map_c;  // of C (batches, M, N)
  const Map& map_d;  // of D (batches, M, N); copied: not used
  Output<Element> output;
  const ScalingOf<Config>& scaling;
  Shape shape;
  int c_batch_step;  // 0: all batches have the same C
  uint32_t shared;  // of the block
  int warpgroup;
  int group = 0;  // grouped: whose scales and bias the columns have
  uint32_t c_parity = 0;  // of both buffers: they are filled equally often a tile
  // Of row lane / 16 * 64 + 16 * warp + lane % 16 of the warpgroup's rows.
  Factor row = {1, 0};
  ZeroPoint row_zero = {0, 0};

  WF_ATOM Box buffer(int i) const {
    constexpr uint32_t first = Config::offsets().box;
    return {shared + first + uint32_t((warpgroup * Config::buffers + i) * Config::Box::bytes)};
  }
  WF_ATOM hopper::Barrier c_full(int i) const {
    constexpr uint32_t first = Config::offsets().c_full;
    return BarrierArray{shared + first}[warpgroup * Config::buffers + i];
  }
  WF_ATOM uint32_t column_factor(int column) const {  // address
    constexpr uint32_t first = Config::offsets().factors;
    return shared + first + uint32_t(Config::factor_offset(warpgroup * Config::tile_n + column));
  }
  WF_ATOM uint32_t column_zero(int column) const {  // address
    constexpr uint32_t first = Config::offsets().zeros;
    return shared + first + uint32_t(Config::factor_offset(warpgroup * Config::tile_n + column));
  }
  WF_ATOM bool leader() const { return hopper::thread_id() % 128 == 0; }
  WF_ATOM int warp() const { return hopper::warp_id() % 4; }

  // First row and column of box `box` in the tile's part of D.
  WF_ATOM static constexpr int box_row(int box) { return Config::swapped ? 0 : box / Config::boxes_across * 64; }
  WF_ATOM static constexpr int box_column(int box) {
    return Config::swapped ? box * 64 : box % Config::boxes_across * Config::span;
  }

  // Where a tile's first element, (row, column) of the product, lies in D.
  struct Place {
    int row, column, batch;
  };
  WF_ATOM static Place place(int row, int column, int batch) {
    return Config::swapped ? Place{column, row, batch} : Place{row, column / Config::columns_per_output, batch};
  }

  // Leader only: asks for the C of box `box`, whose buffer no store reads any more.
  WF_ATOM void fetch_c(int box, const Place& at) const {
    const int i = box % Config::buffers;
    hopper::mbarrier_arrive_expect_tx(c_full(i), Config::Box::bytes);
    buffer(i).load(map_c, c_full(i), at.row + box_row(box), at.column + box_column(box),
                   at.batch * c_batch_step);
  }
  // Vectors (groups, N), or (groups) where there is one for all columns.
  WF_ATOM Vector of_group(Vector v) const {
    if (Config::grouped && v.data != nullptr) v.data += int64_t{group} * (v.step == 0 ? 1 : shape.n);
    return v;
  }
  // Before the products of a tile at (first_row, first_column), so that C and the factors travel meanwhile.
  WF_ATOM void begin(int first_row, int first_column, int batch) {
    if constexpr (Config::factors) {
      const int t = hopper::thread_id() % 128;
      const int r = first_row + t % 32 / 16 * 64 + warp() * 16 + t % 16;
      row = {scaling.alpha * element_or(scaling.row_scale, r, shape.m, 1), element_or(scaling.row_bias, r, shape.m, 0)};
      if constexpr (Config::zero_points) row_zero = zero_point(scaling.integers.rows, r, shape.m, batch, 0);
      WF_UNROLL
      for (int c = t; c < Config::tile_n; c += 128) {
        int j = first_column + c;
        if constexpr (Config::zero_points)
          hopper::store_shared(column_zero(c), zero_point(scaling.integers.columns, j, shape.n, batch, shape.k));
        if (Config::gated) j = (j / 16 * 8 + j % 8) * scaling.gate_step + (j % 16 < 8 ? 0 : scaling.up);
        hopper::store_shared(column_factor(c), Factor{element_or(of_group(scaling.column_scale), j, shape.n, 1),
                                                      element_or(of_group(scaling.column_bias), j, shape.n, 0)});
      }
    }
    if constexpr (!Config::copied) {
      if (!Config::takes_c || scaling.beta == 0 || !leader()) return;
      hopper::bulk_wait_read<0>();
      WF_UNROLL
      for (int box = 0; box < Config::buffers; ++box) fetch_c(box, place(first_row, first_column, batch));
    }
  }

  // ---- Values. A patch is 16 rows x 16 columns of the box; register i of a thread holds the element of row
  // lane / 4 + i / 2 % 2 * 8 and column i / 4 * 8 + lane % 4 * 2 + i % 2, as the accumulator fragment has it
  // (of the transposed box in a swapped tile).

  // Both factors of the two rows of a thread, 8 apart, in row block `r`, and their zero points.
  struct RowFactors {
    Factor half[2];
    ZeroPoint zero[2];
  };
  WF_ATOM RowFactors row_factors(int r) const {
    RowFactors f{};
    WF_UNROLL
    for (int h = 0; h < 2; ++h) {
      const int lane = r * 16 + h * 8 + hopper::lane_id() / 4;
      f.half[h] = {hopper::shuffle(row.scale, lane), hopper::shuffle(row.bias, lane)};
      if constexpr (Config::zero_points) f.zero[h] = {hopper::shuffle(row_zero.zero, lane), hopper::shuffle(row_zero.sum, lane)};
    }
    return f;
  }
  // Four sums, as `scale` takes them, less their zero points.
  WF_ATOM void integers(Sum (&v)[4], const Sum* sums, const RowFactors& rows, int column) const {
    const auto c = hopper::load_shared<Pair<ZeroPoint>>(column_zero(column + Config::factor_column(hopper::lane_id())));
    WF_UNROLL
    for (int i = 0; i < 4; ++i) v[i] = without_zero_points(sums[i], rows.zero[i / 2], i % 2 == 0 ? c.x : c.y);
  }
  // y of four sums: those at columns c and c + 1 (c = column of this thread), of two rows.
  WF_ATOM void scale(float (&y)[4], const Sum* v, const RowFactors& rows, int column) const {
    const auto c = hopper::load_shared<Pair<Factor>>(column_factor(column + Config::factor_column(hopper::lane_id())));
    WF_UNROLL
    for (int i = 0; i < 4; ++i) {
      const Factor& by_row = rows.half[i / 2];
      const Factor by_column = i % 2 == 0 ? c.x : c.y;
      y[i] = by_row.scale * by_column.scale * float(v[i]) + (by_row.bias + by_column.bias);
    }
  }
  // Half a patch, 8 columns of D from column `column` of the tile's product.
  WF_ATOM void values(Value (&y)[4], const Sum* v, const RowFactors& rows, int column) const {
    if constexpr (Config::zero_points) {
      Sum less[4];
      integers(less, v, rows, column);
      if constexpr (Config::exact) {
        WF_UNROLL
        for (int i = 0; i < 4; ++i) y[i] = less[i];
      } else {
        scale(y, less, rows, column);
        activate(y, scaling.activation);
      }
    } else if constexpr (Config::exact) {
      WF_UNROLL
      for (int i = 0; i < 4; ++i) y[i] = v[i];
    } else if constexpr (!Config::factors) {
      WF_UNROLL
      for (int i = 0; i < 4; ++i) y[i] = scaling.alpha * float(v[i]);
    } else {
      scale(y, v, rows, column);
      if constexpr (Config::fusion == Fusion::full || Config::quantised) activate(y, scaling.activation);
      if constexpr (Config::gated) {
        activate(y, scaling.activation);
        float up[4];
        scale(up, v + 4, rows, column + 8);
        WF_UNROLL
        for (int i = 0; i < 4; ++i) y[i] *= up[i];
      }
    }
  }

  // Columns of the box at `at` that TMA stores. Rows past a group's last belong to the next group: boxes that reach them
  // are stored from registers.
  WF_ATOM int tail(const Place& at) const {
    if constexpr (Config::grouped) return at.row + Config::Box::rows > output.m ? 0 : output.tail();
    return Config::copied ? output.n : output.tail();
  }

  // Element (row, column) of the box that a patch's register i holds, the patch beginning at `x`.
  WF_ATOM int element_row(int x, int i) const {
    return Config::element_row(warp(), hopper::lane_id(), x, i);
  }
  WF_ATOM int element_column(int x, int i) const {
    return Config::element_column(warp(), hopper::lane_id(), x, i);
  }
  // Stores those of a patch's elements that lie in the columns of D past the tensor map; the box is at `at`.
  WF_ATOM void store_tail(const Element (&d)[8], const Place& at, int x) const {
    WF_UNROLL
    for (int i = 0; i < 8; ++i) {
      const int r = at.row + element_row(x, i), c = at.column + element_column(x, i);
      if (r < output.m && c >= tail(at) && c < output.n)
        hopper::store_global(output.d + at.batch * output.batch_stride + r * output.stride + c, d[i]);
    }
  }

  // A patch of 16-bit results: C, if any, is read and D is written by matrices of 8 x 8.
  WF_ATOM void write_patch(const float (&y)[8], Box box, const Place& at, int x, bool with_tail) const {
    const int t = hopper::thread_id() % 128;
    const uint32_t address = Config::swapped ? box.element(x + Config::patch_row(t), Config::patch_column(t))
                                             : box.element(Config::patch_row(t), x + Config::patch_column(t));
    uint32_t packed[4] = {};  // C, then D
    if (scaling.beta != 0) hopper::ldmatrix<4, Config::swapped>(packed, address);
    WF_UNROLL
    for (int i = 0; i < 4; ++i) {
      float low = y[2 * i], high = y[2 * i + 1];
      if (scaling.beta != 0) {
        low += scaling.beta * unpack<Element>(packed[i], 0);
        high += scaling.beta * unpack<Element>(packed[i], 1);
      }
      packed[i] = pack<Element>(low, high);
    }
    hopper::stmatrix<4, Config::swapped>(address, packed);
    if (!with_tail) return;
    Element d[8];
    WF_UNROLL
    for (int i = 0; i < 8; ++i) d[i] = Element{uint16_t(packed[i / 2] >> 16 * (i % 2))};
    store_tail(d, at, x);
  }
  // A patch of 32-bit results of a swapped tile, element by element: a row of lanes fills 32 bytes of each of
  // four rows of the box.
  WF_ATOM void write_patch_of_words(Value (&y)[8], Box box, const Place& at, int x, bool with_tail) const {
    WF_UNROLL
    for (int i = 0; i < 8; ++i) {
      const uint32_t address = box.element(element_row(x, i), element_column(x, i));
      if (!Config::exact && scaling.beta != 0) y[i] += scaling.beta * hopper::load_shared<Value>(address);
      hopper::store_shared(address, y[i]);
    }
    if (with_tail) store_tail(y, at, x);
  }
  // Two patches of 32-bit results side by side, each turn a store of 8 bytes. Addresses differ by constants: 8 rows are a
  // whole period of the swizzle, and 8 or 16 columns are one bit of the address each, which the swizzle only inverts.
  WF_ATOM void write_two_patches(Value (&left)[8], Value (&right)[8], Box box, const Place& at, int x,
                                 bool with_tail) const {
    const bool first = Config::left_patch(hopper::lane_id(), 0);  // in turn 0; in turn 1 the other one
    const uint32_t start = box.element(element_row(x, 0), element_column(x, 0) + (first ? 0 : 16));
    const auto address = [&](int i, int turn) {
      return (start ^ uint32_t(turn * 16 * 4 + i / 4 * 8 * 4)) + uint32_t(i / 2 % 2 * 8 * Box::Shape::span);
    };
    Pair<Value> d[8];
    WF_UNROLL
    for (int i = 0; i < 8; i += 2) {
      d[i] = {first ? left[i] : right[i], first ? left[i + 1] : right[i + 1]};
      d[i + 1] = {first ? right[i] : left[i], first ? right[i + 1] : left[i + 1]};
    }
    if constexpr (!Config::exact) {
      if (scaling.beta != 0) {
        WF_UNROLL
        for (int i = 0; i < 8; ++i) {
          const auto c = hopper::load_shared<Pair<Value>>(address(i / 2 * 2, i % 2));
          d[i] = {d[i].x + scaling.beta * c.x, d[i].y + scaling.beta * c.y};
        }
      }
    }
    WF_UNROLL
    for (int i = 0; i < 8; ++i) hopper::store_shared(address(i / 2 * 2, i % 2), d[i]);
    if (!with_tail) return;
    WF_UNROLL
    for (int i = 0; i < 8; ++i) {
      const Value turn0 = i % 2 == 0 ? d[i].x : d[i - 1].y, turn1 = i % 2 == 0 ? d[i + 1].x : d[i].y;
      left[i] = first ? turn0 : turn1;
      right[i] = first ? turn1 : turn0;
    }
    store_tail(left, at, x);
    store_tail(right, at, x + 16);
  }

  // Registers of accumulators that make up a patch.
  static constexpr int patch_sums = 8 * Config::columns_per_output;
  // The patch at column `x` of the box, whose product's columns in the tile begin at `column`.
  WF_ATOM void patch(Value (&y)[8], const Sum* v, const RowFactors& rows, int column) const {
    Value half[4];
    WF_UNROLL
    for (int h = 0; h < 2; ++h) {
      values(half, v + h * patch_sums / 2, rows, column + h * 8 * Config::columns_per_output);
      WF_UNROLL
      for (int i = 0; i < 4; ++i) y[h * 4 + i] = half[i];
    }
  }

  // Writes box number `number`, which lies at `at` in D, from the sums `v` of its columns.
  WF_ATOM void write_box(Box box, int number, const Sum* v, const Place& at) const {
    constexpr int width = Config::swapped ? Config::tile_n : Config::span;  // of the patches, side by side
    constexpr int columns_of_box = Config::swapped ? 64 : Config::span;
    const bool with_tail = tail(at) != output.n && at.column + columns_of_box > tail(at);
    const int first = Config::swapped ? 0 : number % Config::boxes_across * Config::box_columns;
    RowFactors rows{};
    if constexpr (Config::factors) rows = row_factors(Config::swapped ? number : number / Config::boxes_across);
    Value y[8];
    if constexpr (words && !Config::swapped) {
      Value right[8];
      patch(y, v, rows, first);
      patch(right, v + patch_sums, rows, first + 16);
      note_row_amax<Config>(*this, y, at, 0);
      note_row_amax<Config>(*this, right, at, 16);
      write_two_patches(y, right, box, at, 0, with_tail);
    } else {
      WF_UNROLL
      for (int x = 0; x < width; x += 16) {
        patch(y, v + x / 16 * patch_sums, rows, first + x * Config::columns_per_output);
        note_row_amax<Config>(*this, y, at, x);
        if constexpr (bytes)
          write_patch_of_bytes<Config>(*this, y, box, at, x, with_tail);
        else if constexpr (words)
          write_patch_of_words(y, box, at, x, with_tail);
        else
          write_patch(y, box, at, x, with_tail);
      }
    }
  }

  // Stores the warpgroup's part of a tile, whose first element is (row, column) of the product.
  WF_ATOM void store(const Accumulators<Config>& accumulators, int first_row, int first_column, int batch) {
    if constexpr (Config::copied)
      store_by_threads(*this, accumulators, place(first_row, first_column, batch));  // copied.h
    else
      store_by_tma(accumulators, first_row, first_column, batch);
  }
  WF_ATOM void store_by_tma(const Accumulators<Config>& accumulators, int first_row, int first_column, int batch) {
    constexpr int box_sums = Config::box_columns / 2;
    const bool with_c = Config::takes_c && scaling.beta != 0;
    const Place tile = place(first_row, first_column, batch);
    WF_UNROLL
    for (int box = 0; box < Config::boxes; ++box) {
      const int i = box % Config::buffers;
      const Place at{tile.row + box_row(box), tile.column + box_column(box), batch};
      const Sum* v = accumulators[box / Config::boxes_across] + box % Config::boxes_across * box_sums;
      if (with_c) {
        hopper::mbarrier_wait(c_full(i), c_parity ^ uint32_t(box / Config::buffers % 2));
        if (Config::factors && box == 0) hopper::named_sync(1 + warpgroup, 128);  // all factors are there
      } else {
        if (leader()) hopper::bulk_wait_read<Config::buffers - 1>();  // the buffer's previous box has left
        hopper::named_sync(1 + warpgroup, 128);
      }
      write_box(buffer(i), box, v, at);
      hopper::fence_async_shared();
      hopper::named_sync(1 + warpgroup, 128);
      if (leader()) {
        if (at.column < tail(at)) buffer(i).store(map_d, at.row, at.column, batch);
        hopper::bulk_commit();
        if (with_c && box + 1 >= Config::buffers && box + 1 < Config::boxes) {
          hopper::bulk_wait_read<1>();  // box - 1 has left: its buffer takes the C of box + 1
          fetch_c(box + 1, tile);
        }
      }
    }
    c_parity ^= uint32_t(Config::boxes / Config::buffers % 2);
  }
};

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
