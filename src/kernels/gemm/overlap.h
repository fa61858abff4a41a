// Whether two matrices share bytes, as far as that is cheap to decide.
#pragma once

#include <algorithm>
#include <cstdint>

#include "warpfold/kernels/gemm/extent.h"

namespace warpfold::kernels::gemm {

// A matrix as lines of bytes: rows, or columns where it is column-major.
struct Lines {
  uint64_t address;
  int64_t count, length, stride;  // bytes; the stride of a single line is its length
  int64_t bytes;                  // from the first to behind the last, of all batches
  bool one_batch;

  Lines(const Operand& o, int64_t rows, int64_t width, int64_t batches, int64_t element)
      : address(reinterpret_cast<uintptr_t>(o.data)),
        count(o.column_major ? width : rows),
        length((o.column_major ? rows : width) * element),
        stride(count > 1 ? o.stride * element : length),
        bytes(extent(o, rows, width, batches) * element),
        one_batch(batches == 1 || o.batch_stride == 0) {}
};

enum class Overlap : uint8_t { no, yes, unknown };

// Does a line of `x` touch the bytes [first, last) behind its beginning?
constexpr bool touches(const Lines& x, int64_t first, int64_t last) {
  const int64_t line = std::max<int64_t>(0, first - x.length + x.stride) / x.stride;  // the first that ends behind `first`
  return line < x.count && line * x.stride < last;
}

// Decided where the ranges are apart, where both begin at one place, and for single matrices that have the same stride
// or of which one has no gaps.
inline Overlap overlap(const Lines& x, const Lines& y) {
  if (x.bytes == 0 || y.bytes == 0) return Overlap::no;
  const auto ahead = int64_t(y.address - x.address);  // y's beginning, seen from x
  if (ahead >= x.bytes || -ahead >= y.bytes) return Overlap::no;
  if (ahead == 0) return Overlap::yes;
  if (!x.one_batch || !y.one_batch) return Overlap::unknown;
  const auto answer = [](bool yes) { return yes ? Overlap::yes : Overlap::no; };
  if (x.stride == x.length) return answer(touches(y, -ahead, x.bytes - ahead));
  if (y.stride == y.length) return answer(touches(x, ahead, ahead + y.bytes));
  if (x.stride != y.stride) return Overlap::unknown;
  const int64_t shift = (ahead % x.stride + x.stride) % x.stride;  // of y's lines in those of x
  return answer(shift < x.length || shift + y.length > x.stride);
}

}  // namespace warpfold::kernels::gemm
