// The host side of one grouped configuration: tensor maps and the launch, for the device or for the emulator.
#pragma once

#include <array>
#include <span>

#include "warpfold/kernels/gemm/grouped.h"
#include "warpfold/kernels/gemm/grouped_copied.h"
#include "warpfold/kernels/gemm/grouped_gemm.h"
#include "warpfold/kernels/gemm/launch_copied.h"

namespace warpfold::kernels::gemm {
inline namespace WF_TARGET {

// Without products alpha may be infinite and the scales anything: 0 times them is to be 0.
template <class Config>
ScalingOf<Config> grouped_scaling(const GroupedProblem& p, bool with_products) {
  return {with_products ? p.alpha : 0, 0, {with_products ? p.row_scale : nullptr, 1},
          {with_products ? p.column_scale : nullptr, p.one_column_scale ? 0 : 1}, {}, {p.bias, 1}, p.activation, 1, 0};
}

// All that the kernel may touch.
template <class Config>
auto grouped_buffers(const GroupedProblem& p, bool with_products) {
  constexpr int64_t in = sizeof(typename Config::ElementA), out = sizeof(typename Config::Output);
  return std::to_array<hopper::GlobalBuffer>({
          {p.a.data, with_products ? in * extent(p.a, p.rows, p.k, 1) : 0, "A"},
          {p.b.data, with_products ? in * extent(p.b, p.n, p.k, p.groups) : 0, "B"},
          {p.d, out * extent({p.d, p.d_stride}, p.rows, p.n, 1), "D"},
          {p.starts, p.starts != nullptr ? 4 * (p.groups + 1) : 0, "starts"},
          {p.counts, p.counts != nullptr ? 4 * p.groups : 0, "counts"},
          {p.row_scale, p.row_scale != nullptr ? 4 * p.rows : 0, "row_scale"},
          {p.column_scale, p.column_scale != nullptr ? 4 * p.groups * (p.one_column_scale ? 1 : p.n) : 0, "column_scale"},
          {p.bias, p.bias != nullptr ? 4 * p.groups * p.n : 0, "bias"}});
}

// Launches a problem that can_run accepts, with nothing empty, on `blocks` blocks.
template <class Config>
Status launch_grouped(const GroupedProblem& p, int blocks, void* stream) {
  using A = typename Config::ATile;
  using B = typename Config::BTile;
  using Element = typename Config::Output;
  const bool with_products = p.alpha != 0 && p.k > 0;
  const Output<Element> output{static_cast<Element*>(p.d), p.d_stride, 0, int(p.rows), int(p.n)};
  WF_TRY(const hopper::TensorMap d,
         matrix_map<typename Config::Box>(p.d, p.rows, std::max(output.tail(), 16 / int(sizeof(Element))), {p.d, p.d_stride},
                                          1, Config::Box::rows));
  // Operands that are not read have no legal map; D's stands in. Boxes are no higher than their matrix (launch.h).
  hopper::TensorMap a = d, b = d;
  const int a_rows = int(std::min<int64_t>(p.rows, A::rows)), b_rows = int(std::min<int64_t>(p.n, B::rows));
  if (with_products) {
    WF_TRY(a, matrix_map<A>(p.a.data, p.rows, p.k, p.a, 1, a_rows));
    WF_TRY(b, matrix_map<B>(p.b.data, p.n, p.k, p.b, p.groups, b_rows));
  }
  const auto buffers = grouped_buffers<Config>(p, with_products);
  return hopper::launch(
      {.blocks = blocks,
       .threads = Config::threads,
       .shared_bytes = Config::shared_bytes,
       .stream = stream,
       .overlap_previous = true,
       .buffers = buffers},
      grouped_kernel<Config>, a, b, d, output, grouped_scaling<Config>(p, with_products),
      Shape{int(p.rows), int(p.n), with_products ? int(p.k) : 0, 1, a_rows * A::columns * A::span + b_rows * B::columns * B::span},
      Groups{p.starts, p.counts, int(p.groups), int(p.row_step), p.b.batch_stride != 0});
}

// The same by threads that copy.
template <class Config>
Status launch_grouped_copied(const GroupedProblem& p, int blocks, void* stream) {
  using Element = typename Config::Output;
  const bool with_products = p.alpha != 0 && p.k > 0;
  const Output<Element> output{static_cast<Element*>(p.d), p.d_stride, 0, int(p.rows), int(p.n)};
  Source a{}, b{};
  if (with_products) {
    a = source_of<typename Config::ElementA>(p.a, p.rows, 1);
    b = source_of<typename Config::ElementB>(p.b, p.n, p.groups);
    if (p.b_pointers != nullptr) b.batch_stride = 0;
  }
  const auto buffers = grouped_buffers<Config>(p, with_products);
  return hopper::launch(
      {.blocks = blocks,
       .threads = Config::threads,
       .shared_bytes = Config::shared_bytes,
       .stream = stream,
       .overlap_previous = true,
       .buffers = std::span(buffers).first(p.b_pointers != nullptr ? 0 : buffers.size())},
      grouped_copied_kernel<Config>, a, b, p.b_pointers, output, grouped_scaling<Config>(p, with_products),
      Shape{int(p.rows), int(p.n), with_products ? int(p.k) : 0, 1},
      Groups{p.starts, p.counts, int(p.groups), int(p.row_step), 0});
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
