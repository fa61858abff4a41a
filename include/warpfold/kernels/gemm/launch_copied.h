// The host side of a configuration whose threads copy the operands, for the device or for the emulator.
#pragma once

#include "warpfold/kernels/gemm/copied.h"
#include "warpfold/kernels/gemm/launch.h"

namespace warpfold::kernels::gemm {
inline namespace WF_TARGET {

// An operand (batches, rows, K) as the kernel reads it. Rows and batches that are not alone start on multiples of the
// bytes that a copy takes.
template <class Element>
Source source_of(const Operand& o, int64_t rows, int64_t batches) {
  Source s{o.data, 0, 0, 0, 0};
  s.k_step = o.column_major ? o.stride : 1;
  s.row_step = o.column_major ? 1 : rows > 1 ? o.stride : 0;
  s.batch_stride = batches > 1 ? o.batch_stride : 0;
  const auto all = uintptr_t(o.data) | uintptr_t(s.row_step * int64_t{sizeof(Element)}) |
                   uintptr_t(s.batch_stride * int64_t{sizeof(Element)});
  const bool rounded = std::is_same_v<Element, hopper::tf32>;  // in registers
  if (!o.column_major && !rounded) s.copy_bytes = all % 16 == 0 ? 16 : all % 8 == 0 ? 8 : all % 4 == 0 ? 4 : 0;
  return s;
}

// Launches a problem that can_run accepts, with D row-major and nothing empty, on `blocks` blocks.
template <class Config>
Status launch_copied(const Problem& p, int blocks, void* stream) {
  using Element = typename Config::Output;
  const bool with_products = p.alpha != 0 && p.k > 0, with_c = p.beta != 0;
  Source a{}, b{}, c{};
  if (with_products) {
    a = source_of<typename Config::ElementA>(p.a, p.m, p.batches);
    b = source_of<typename Config::ElementB>(p.b, rows_of_b(p), p.batches);
  }
  if (with_c) c = {p.c.data, p.c.stride, 1, p.batches > 1 ? p.c.batch_stride : 0, 0};
  const Output<Element> output{static_cast<Element*>(p.d), p.d_stride, p.d_batch_stride, int(p.m), int(p.n)};
  const auto buffers = buffers_of<Config>(p, with_products, with_c);
  return hopper::launch(
      {.blocks = blocks,
       .threads = Config::threads,
       .shared_bytes = Config::shared_bytes,
       .stream = stream,
       .overlap_previous = true,
       .buffers = buffers},
      copied_kernel<Config>, a, b, c, output, scaling_of<Config>(p, with_products),
      Shape{int(p.m), int(rows_of_b(p)), with_products ? int(p.k) : 0, int(p.batches)});
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::gemm
