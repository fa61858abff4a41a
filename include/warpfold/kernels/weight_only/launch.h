// The host side of one configuration: tensor maps and the launch, for the device or for the emulator.
#pragma once

#include "warpfold/kernels/gemm/launch.h"
#include "warpfold/kernels/weight_only/kernel.h"

namespace warpfold::kernels::weight_only {
inline namespace WF_TARGET {

// Launches a problem that can_run accepts, with nothing empty, on `blocks` blocks.
template <class Config>
Status launch(const Problem& p, int blocks, void* stream) {
  using Element = typename Config::Output;
  using X = typename Config::XTile;
  using Box = typename Config::Box;
  const bool with_products = p.alpha != 0 && p.k > 0, with_c = p.beta != 0;
  const gemm::Output<Element> output{static_cast<Element*>(p.d), p.d_stride, 0, int(p.m), int(p.n)};
  WF_TRY(const hopper::TensorMap d,
         gemm::matrix_map<Box>(p.d, p.m, std::max(output.tail(), 16 / int(sizeof(Element))), {p.d, p.d_stride}, 1,
                               Box::rows));
  // Operands that are not read have no legal map; D's stands in.
  hopper::TensorMap x = d, c = d;
  const int x_rows = int(std::min<int64_t>(p.m, X::rows));
  if (with_products) {
    WF_TRY(x, gemm::matrix_map<X>(p.a.data, p.m, p.k, p.a, 1, x_rows));
  }
  if (with_c) {
    WF_TRY(c, gemm::matrix_map<Box>(p.c.data, p.m, p.n, p.c, 1, Box::rows));
  }
  // The product is W A^T: its rows are D's columns. Without products alpha may be infinite and the scales anything: 0
  // times them is to be 0.
  const gemm::Scaling scaling{with_products ? p.alpha : 0,
                              p.beta,
                              {with_products ? p.column_scale : nullptr, 1},
                              {with_products ? p.row_scale : nullptr, 1},
                              {p.bias, 1},
                              {nullptr, 1},
                              p.activation,
                              1,
                              0};
  const Weights weights{static_cast<const uint8_t*>(p.weights), int(padded(p.k, panel_k) / Config::tile_k),
                        x_rows * X::columns * X::span};
  constexpr int64_t out = sizeof(Element), f32 = sizeof(float);
  const hopper::GlobalBuffer buffers[] = {
      {p.a.data, with_products ? int64_t{sizeof(hopper::bf16)} * gemm::extent(p.a, p.m, p.k, 1) : 0, "A"},
      {p.weights, with_products ? packed_bytes(p.weight_type, p.n, p.k) : 0, "weights", true},
      {p.c.data, with_c ? out * gemm::extent(p.c, p.m, p.n, 1) : 0, "C"},
      {p.d, out * gemm::extent({p.d, p.d_stride}, p.m, p.n, 1), "D"},
      {p.row_scale, f32 * p.m, "row_scale"},
      {p.column_scale, f32 * p.n, "column_scale"},
      {p.bias, f32 * p.n, "bias"},
      {p.workspace, p.workspace_bytes, "workspace"}};
  return hopper::launch({.blocks = blocks,
                         .threads = Config::threads,
                         .shared_bytes = Config::shared_bytes,
                         .stream = stream,
                         .overlap_previous = true,
                         .buffers = buffers},
                        weight_only_kernel<Config>, x, c, d, output, scaling,
                        gemm::Shape{int(p.n), int(p.m), with_products ? int(p.k) : 0, 1}, weights,
                        static_cast<char*>(p.workspace));
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::weight_only
