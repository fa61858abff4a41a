// The host side of one configuration: tensor maps and the launch, for the device or for the emulator.
#pragma once

#include <algorithm>
#include <array>

#include "warpfold/kernels/gemm/extent.h"
#include "warpfold/kernels/gemm/kernel.h"

namespace warpfold::kernels::gemm {
inline namespace WF_TARGET {

// The tensor map (batches, rows, width) of an operand, whose boxes are one span of `box_rows` rows of `Tile`.
template <class Tile>
Result<hopper::TensorMap> matrix_map(const void* data, int64_t rows, int64_t width, const Operand& o,
                                     int64_t batches, int box_rows) {
  // The stride of a single row or batch has no meaning and may be anything; the tensor map wants a legal one.
  constexpr int unit = 16 / int(sizeof(typename Tile::Element));
  const bool one = batches == 1 || o.batch_stride == 0;
  auto map = Tile::map(rows, width, rows == 1 ? (width + unit - 1) / unit * unit : o.stride, box_rows);
  map.rank = 3;
  map.size[2] = one ? 1 : batches;
  map.stride[2] = one ? unit : o.batch_stride;
  return hopper::make_tensor_map(static_cast<const typename Tile::Element*>(data), map);
}

// The map of B (2N, K) of a gated product: (batches, N / 8 groups, gate and up, 8 rows, K).
template <class Tile>
Result<hopper::TensorMap> gated_map(const Problem& p) {
  const bool interleaved = p.gate == Gate::interleaved, one = p.batches == 1 || p.b.batch_stride == 0;
  auto map = Tile::map(8, p.k, interleaved ? 2 * p.b.stride : p.b.stride, 8);
  map.rank = 5;
  map.size[2] = 2;
  map.stride[2] = interleaved ? p.b.stride : p.n * p.b.stride;
  map.box[2] = 2;
  map.size[3] = p.n / 8;
  map.stride[3] = 8 * map.stride[1];
  map.box[3] = Tile::rows / 16;
  map.size[4] = one ? 1 : p.batches;
  map.stride[4] = one ? 16 / int(sizeof(typename Tile::Element)) : p.b.batch_stride;
  return hopper::make_tensor_map(static_cast<const typename Tile::Element*>(p.b.data), map);
}

// Zero points and what becomes of the result, as the kernel sees them. Without products there is nothing to take off.
inline Quantisation quantisation_of(const Problem& p, bool with_products, bool swapped) {
  const bool a_zero = with_products && p.a_zero != nullptr, b_zero = with_products && p.b_zero != nullptr;
  const Integers a{a_zero ? p.a_zero : nullptr, p.one_a_zero ? 0 : 1, b_zero ? p.a_sums : nullptr,
                   p.a.batch_stride != 0 ? int(p.m) : 0};
  const Integers b{b_zero ? p.b_zero : nullptr, p.one_b_zero ? 0 : 1, a_zero ? p.b_sums : nullptr,
                   p.b.batch_stride != 0 ? int(p.n) : 0};
  return {swapped ? b : a, swapped ? a : b, p.output_scale, p.output_zero, p.row_amax};
}

// What the sums are scaled by, rows and columns being the kernel's.
template <class Config>
ScalingOf<Config> scaling_of(const Problem& p, bool with_products) {
  const Vector by_row{with_products ? p.row_scale : nullptr, p.one_row_scale ? 0 : 1};
  const Vector by_column{with_products ? p.column_scale : nullptr, p.one_column_scale ? 0 : 1};
  const Vector row_bias{p.row_bias, 1}, bias{p.bias, 1};
  // Without products alpha may be infinite and the scales anything: 0 times them is to be 0.
  const float alpha = with_products ? p.alpha : 0;
  Scaling scaling{alpha, p.beta, by_row, by_column, row_bias, bias, p.activation, 1, 0};
  if (Config::swapped) scaling = {alpha, p.beta, by_column, by_row, bias, row_bias, p.activation, 1, 0};
  if (Config::gated) {
    scaling.gate_step = p.gate == Gate::interleaved ? 2 : 1;
    scaling.up = p.gate == Gate::interleaved ? 1 : int(p.n);
  }
  ScalingOf<Config> all{scaling};
  if constexpr (Config::quantised) all.integers = quantisation_of(p, with_products, Config::swapped);
  return all;
}

// All that the kernel may touch.
template <class Config>
auto buffers_of(const Problem& p, bool with_products, bool with_c) {
  using In = std::conditional_t<Config::swapped, typename Config::ElementB, typename Config::ElementA>;
  constexpr int64_t in = sizeof(In), out = sizeof(typename Config::Output), f32 = sizeof(float);
  const int64_t weights = rows_of_b(p);
  return std::to_array<hopper::GlobalBuffer>({
      {p.a.data, with_products ? in * extent(p.a, p.m, p.k, p.batches) : 0, "A"},
      {p.b.data, with_products ? in * extent(p.b, weights, p.k, p.batches) : 0, "B"},
      {p.c.data, with_c ? out * extent(p.c, p.m, p.n, p.batches) : 0, "C"},
      {p.d, out * extent({p.d, p.d_stride, p.d_batch_stride}, p.m, p.n, p.batches), "D"},
      {p.row_scale, f32 * (p.one_row_scale ? 1 : p.m), "row_scale"},
      {p.column_scale, f32 * (p.one_column_scale ? 1 : weights), "column_scale"},
      {p.row_bias, f32 * p.m, "row_bias"},
      {p.bias, f32 * weights, "bias"},
      {p.workspace, p.workspace_bytes, "workspace"},
      {p.a_zero, p.a_zero == nullptr ? 0 : 4 * (p.one_a_zero ? 1 : p.m), "a_zero"},
      {p.b_zero, p.b_zero == nullptr ? 0 : 4 * (p.one_b_zero ? 1 : p.n), "b_zero"},
      {p.a_sums, p.a_sums == nullptr ? 0 : 4 * p.m * (p.a.batch_stride != 0 ? p.batches : 1), "a_sums"},
      {p.b_sums, p.b_sums == nullptr ? 0 : 4 * p.n * (p.b.batch_stride != 0 ? p.batches : 1), "b_sums"},
      {p.output_scale, p.output_scale == nullptr ? 0 : 4, "output_scale"},
      {p.output_zero, p.output_zero == nullptr ? 0 : 4, "output_zero"},
      {p.row_amax, p.row_amax == nullptr ? 0 : 4 * p.m * p.batches, "row_amax"}});
}

// Launches a problem that can_run accepts, with D row-major and nothing empty, on `blocks` blocks (a multiple of
// the cluster).
template <class Config>
Status launch(const Problem& p, int blocks, void* stream) {
  using Result = typename Config::Output;
  const bool with_products = p.alpha != 0 && p.k > 0, with_c = p.beta != 0;
  const Output<Result> output{static_cast<Result*>(p.d), p.d_stride, p.d_batch_stride, int(p.m), int(p.n)};
  WF_TRY(const hopper::TensorMap d,
         matrix_map<typename Config::Box>(p.d, p.m, std::max(output.tail(), 16 / int(sizeof(Result))),
                                          {p.d, p.d_stride, p.d_batch_stride}, p.batches, Config::Box::rows));
  // Operands that are not read have no legal map; D's stands in.
  hopper::TensorMap a = d, b = d, c = d;
  const Operand& left = Config::swapped ? p.b : p.a;
  const Operand& right = Config::swapped ? p.a : p.b;
  int stage_bytes = 0;
  const int m = int(Config::swapped ? p.n : p.m), n = int(Config::swapped ? p.m : rows_of_b(p));
  if (with_products) {
    using A = typename Config::ATile;
    using B = typename Config::BTile;
    constexpr bool a_by_rows = Config::major_a == hopper::Major::k, b_by_rows = Config::major_b == hopper::Major::k;
    // A box that sticks far out of its matrix is slow: with fewer rows than a tile has, it is as high as the matrix.
    // What lies in the tile's other rows is multiplied and not stored.
    const int a_rows = a_by_rows ? std::min(m, A::rows) : A::rows;
    const int b_rows = !b_by_rows ? B::rows : Config::cluster > 1 || Config::gated ? Config::b_share : std::min(n, B::rows);
    stage_bytes = a_rows * A::columns * A::span + b_rows * Config::cluster * B::columns * B::span;
    WF_TRY(a, matrix_map<A>(left.data, a_by_rows ? m : p.k, a_by_rows ? p.k : m, left, p.batches, a_rows));
    if constexpr (Config::gated) {
      WF_TRY(b, gated_map<B>(p));
    } else {
      WF_TRY(b, matrix_map<B>(right.data, b_by_rows ? n : p.k, b_by_rows ? p.k : n, right, p.batches,
                              b_rows));
    }
  }
  if (with_c) {
    WF_TRY(c, matrix_map<typename Config::Box>(p.c.data, p.m, p.n, p.c, p.batches, Config::Box::rows));
  }
  const auto buffers = buffers_of<Config>(p, with_products, with_c);
  return hopper::launch(
      {.blocks = blocks,
       .threads = Config::threads,
       .shared_bytes = Config::shared_bytes,
       .cluster = Config::cluster,
       .stream = stream,
       .overlap_previous = true,
       .buffers = buffers},
      gemm_kernel<Config>, a, b, c, d, output, scaling_of<Config>(p, with_products),
      Shape{m, n, with_products ? int(p.k) : 0, int(p.batches), stage_bytes},
      BatchSteps{left.batch_stride != 0, right.batch_stride != 0, p.c.batch_stride != 0},
      static_cast<char*>(p.workspace));
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
