// The host side of one grouped configuration: tensor maps and the launch, for the device or for the emulator.
#pragma once

#include "warpfold/kernels/gemm/grouped.h"
#include "warpfold/kernels/gemm/grouped_gemm.h"
#include "warpfold/kernels/gemm/launch.h"

namespace warpfold::kernels::gemm {
inline namespace WF_TARGET {

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
  const Scaling scaling{with_products ? p.alpha : 0, 0, {}, {}, {}, {}, Activation::none, 1, 0};
  constexpr int64_t in = sizeof(typename Config::ElementA);
  const hopper::GlobalBuffer buffers[] = {
      {p.a.data, with_products ? in * extent(p.a, p.rows, p.k, 1) : 0, "A"},
      {p.b.data, with_products ? in * extent(p.b, p.n, p.k, p.groups) : 0, "B"},
      {p.d, int64_t{sizeof(Element)} * extent({p.d, p.d_stride}, p.rows, p.n, 1), "D"},
      {p.starts, p.starts != nullptr ? 4 * (p.groups + 1) : 0, "starts"},
      {p.counts, p.counts != nullptr ? 4 * p.groups : 0, "counts"}};
  return hopper::launch(
      {.blocks = blocks,
       .threads = Config::threads,
       .shared_bytes = Config::shared_bytes,
       .stream = stream,
       .overlap_previous = true,
       .buffers = buffers},
      grouped_kernel<Config>, a, b, d, output, scaling,
      Shape{int(p.rows), int(p.n), with_products ? int(p.k) : 0, 1, a_rows * A::columns * A::span + b_rows * B::columns * B::span},
      Groups{p.starts, p.counts, int(p.groups), int(p.row_step), p.b.batch_stride != 0});
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
