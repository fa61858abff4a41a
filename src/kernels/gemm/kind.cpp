// Which kernel a product needs, and whether TMA can take its matrices.
#include <fmt/format.h>

#include <tuple>

#include "normalise.h"

namespace warpfold::kernels::gemm {
namespace {

constexpr int64_t longest_stride = int64_t{1} << 40;  // bytes, in a tensor map

// What TMA cannot take.
struct Obstacle {
  enum class What : uint8_t { none, address, stride, long_stride, major, gate };
  What what = What::none;
  char matrix = 0;
  const char* stride = "";
  int64_t number = 0, bytes = 0;
};

Obstacle alignment(char name, DType type, const Operand& o, int64_t rows, int64_t width, int64_t batches) {
  using What = Obstacle::What;
  const int64_t element = info(type).block_bytes;
  const char* row = o.column_major ? "column" : "row";
  if (const auto address = reinterpret_cast<uintptr_t>(o.data); address % 16 != 0)
    return {What::address, name, "", int64_t(address % 16), 0};
  for (const auto& [used, what, stride] : {std::tuple((o.column_major ? width : rows) > 1, row, o.stride),
                                           std::tuple(batches > 1, "batch", o.batch_stride)}) {
    if (!used) continue;
    if (stride >= longest_stride / element) return {What::long_stride, name, what, stride, 0};
    if (stride < 0) continue;  // refused elsewhere
    if (stride * element % 16 != 0) return {What::stride, name, what, stride, stride * element};
  }
  return {};
}

Kind by_tma(const Problem& p) {
  Kind k{p.type, b_type(p), p.output_type, p.a.column_major, p.b.column_major, Fusion::none};
  if (p.gate != Gate::none) k.fusion = Fusion::gated;
  else if (p.a_zero != nullptr || p.b_zero != nullptr || p.output_type == DType::kI8 || p.row_amax != nullptr)
    k.fusion = Fusion::quantised;
  else if (p.activation != Activation::none) k.fusion = Fusion::full;
  else if (p.row_scale != nullptr || p.column_scale != nullptr || p.bias != nullptr || p.row_bias != nullptr)
    k.fusion = Fusion::linear;
  return k;
}
// The least fusion that is compiled and does what is asked for, with one of these tiles.
Kind least(Kind k, uint32_t tiles) {
  while ((tiles_of(k) & tiles) == 0 && k.fusion < Fusion::quantised) k.fusion = Fusion(int(k.fusion) + 1);
  return k;
}

Obstacle obstacle(const Problem& p) {
  using What = Obstacle::What;
  if (is_empty(p)) return {};
  if (p.alpha != 0 && p.k > 0) {
    if (const Obstacle o = alignment('A', p.type, p.a, p.m, p.k, p.batches); o.what != What::none) return o;
    if (const Obstacle o = alignment('B', b_type(p), p.b, rows_of_b(p), p.k, p.batches); o.what != What::none) return o;
  }
  if (p.beta != 0) {
    Operand c = p.c;
    c.column_major = p.d_column_major;
    if (const Obstacle o = alignment('C', p.output_type, c, p.m, p.n, p.batches); o.what != What::none) return o;
  }
  const Operand d{p.d, p.d_stride, p.d_batch_stride, p.d_column_major};
  if (const Obstacle o = alignment('D', p.output_type, d, p.m, p.n, p.batches); o.what != What::none) return o;
  if (p.gate != Gate::none && p.n % 8 != 0) return {What::gate, 'B', "", p.n, 0};
  if (!p.a.column_major && !p.b.column_major) return {};
  const Kind k = by_tma(p);
  if ((tiles_of(least(k, ~copied_tiles)) & ~copied_tiles) != 0) return {};
  return {What::major, p.a.column_major ? 'A' : 'B', "", is_16_bit(p.type), 0};
}

}  // namespace

bool takes_copies(const Problem& p) { return obstacle(p).what != Obstacle::What::none; }

Kind kind_of(const Problem& p) {
  Kind k = by_tma(p);
  if (!takes_copies(p)) return least(k, ~copied_tiles);
  k.a_column_major = k.b_column_major = false;
  return least(k, copied_tiles);
}

std::string copy_reason(const Problem& p) {
  using What = Obstacle::What;
  const Obstacle o = obstacle(p);
  switch (o.what) {
    case What::none:
      return "";
    case What::address:
      return fmt::format("gemm: {} starts {} bytes after a multiple of 16; TMA needs a multiple of 16", o.matrix, o.number);
    case What::stride:
      return fmt::format("gemm: {} has a {} stride of {} elements = {} bytes; TMA needs a multiple of 16 bytes", o.matrix, o.stride,
                         o.number, o.bytes);
    case What::long_stride:
      return fmt::format("gemm: {} has a {} stride of {} elements; TMA needs less than 2^40 bytes", o.matrix, o.stride, o.number);
    case What::gate:
      return fmt::format("gemm: a gated product has N = {} columns; TMA takes gate and up by eights", o.number);
    case What::major:
      break;
  }
  if (o.number != 0)
    return fmt::format("gemm: {} is column-major; by TMA that is compiled only without scales, bias, activation, gates and "
                       "results of another type",
                       o.matrix);
  return fmt::format("gemm: {} is column-major; WGMMA takes {} only where K is contiguous", o.matrix,
                     info(o.matrix == 'A' ? p.type : b_type(p)).name);
}

}  // namespace warpfold::kernels::gemm
