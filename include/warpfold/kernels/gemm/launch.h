// The host side of one configuration: tensor maps and the launch, for the device or for the emulator.
#pragma once

#include <algorithm>

#include "warpfold/kernels/gemm/gemm.h"
#include "warpfold/kernels/gemm/kernel.h"

namespace warpfold::kernels::gemm {
inline namespace WF_TARGET {

// Launches a problem that can_run accepts, with M, N > 0, on `blocks` blocks (a multiple of the cluster).
template <class Config>
Status launch(const Problem& p, int blocks, void* stream) {
  using Element = typename Config::Element;
  using Result = typename Config::Output;
  const auto map = [](const auto* data, int64_t rows, int64_t width, int64_t stride, auto tile,
                      int box_rows) {
    // The stride of a single row has no meaning and may be anything; the tensor map wants a legal one.
    const int64_t legal = rows == 1 ? (width + 15) / 16 * 16 : stride;
    return hopper::make_tensor_map(data, tile.map(rows, width, legal, box_rows));
  };
  const bool with_products = p.alpha != 0 && p.k > 0, with_c = p.beta != 0;
  const Output<Result> output{static_cast<Result*>(p.d), p.d_stride, int(p.m), int(p.n)};
  WF_TRY(const hopper::TensorMap d, map(output.d, p.m, std::max(output.tail(), 16 / int(sizeof(Result))),
                                        p.d_stride, typename Config::Box{}, 64));
  // Operands that are not read have no legal map; D's stands in.
  hopper::TensorMap a = d, b = d, c = d;
  if (with_products) {
    WF_TRY(a, map(static_cast<const Element*>(p.a.data), p.m, p.k, p.a.stride, typename Config::ATile{},
                  Config::tile_m));
    WF_TRY(b, map(static_cast<const Element*>(p.b.data), p.n, p.k, p.b.stride, typename Config::BTile{},
                  Config::b_share));
  }
  if (with_c) {
    WF_TRY(c, map(static_cast<const Result*>(p.c.data), p.m, p.n, p.c.stride, typename Config::Box{}, 64));
  }
  return hopper::launch({.blocks = blocks,
                         .threads = Config::threads,
                         .shared_bytes = Config::shared_bytes,
                         .cluster = Config::cluster,
                         .stream = stream},
                        gemm_kernel<Config>, a, b, c, d, output,
                        Scaling{p.alpha, p.beta, p.row_scale, p.column_scale}, with_products ? int(p.k) : 0);
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
