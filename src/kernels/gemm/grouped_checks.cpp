// What a grouped product must fulfil: as a plain product of all rows with the first group's B, and a few things more.
#include <fmt/format.h>

#include "normalise.h"
#include "overlap.h"

namespace warpfold::kernels::gemm {
namespace {

auto invalid(std::string text) { return fail(ErrorCode::kInvalidArgument, "grouped gemm: " + std::move(text)); }
auto unsupported(std::string text) { return fail(ErrorCode::kUnsupported, "grouped gemm: " + std::move(text)); }

Problem plain(const GroupedProblem& p) {
  Problem g;
  g.type = p.type;
  g.output_type = p.output_type;
  g.m = p.rows;
  g.n = p.n;
  g.k = p.k;
  g.a = p.a;
  g.b = p.b;
  if (p.b_pointers != nullptr) g.b.data = p.b_pointers;  // the matrices' own addresses are not known here
  g.d = p.d;
  g.d_stride = p.d_stride;
  g.alpha = p.alpha;
  g.row_scale = p.row_scale;
  g.column_scale = p.column_scale;
  g.one_column_scale = p.one_column_scale;
  g.bias = p.bias;
  g.activation = p.activation;
  return g;
}

}  // namespace

bool is_empty(const GroupedProblem& p) { return p.rows == 0 || p.n == 0 || p.groups == 0; }

bool is_fused(const GroupedProblem& p) {
  return p.row_scale != nullptr || p.column_scale != nullptr || p.bias != nullptr || p.activation != Activation::none ||
         is_fp8(p.type) || (p.type == DType::kI8 && p.output_type != DType::kI32);
}

TileId grouped_tile(const GroupedProblem& p) {
  const int64_t bytes = p.b.batch_stride * info(p.type).block_bytes;
  const bool reads_b = p.k > 0 && p.alpha != 0;
  const bool copied = p.b_pointers != nullptr || takes_copies(plain(p)) || (reads_b && p.groups > 1 && bytes % 16 != 0);
  if (is_fp8(p.type)) return copied ? TileId::copied_promoted_m128_n128 : TileId::promoted_m128_n128;
  if (copied) return TileId::copied_m128_n128;
  const int64_t mean = p.rows / p.groups;
  if (mean <= 64) return TileId::m64_n64;
  return mean >= 1024 && p.n % 192 == 0 && !is_fused(p) ? TileId::m128_n192 : TileId::m128_n128;
}

Status can_run(const GroupedProblem& p) {
  constexpr int64_t most = 65536;
  if (p.groups < 0 || p.groups > most) return invalid(fmt::format("{} groups; there may be 0 to {}", p.groups, most));
  const bool compiled = is_16_bit(p.type)           ? p.output_type == p.type
                        : p.type == DType::kI8 ? p.output_type == DType::kI32 || p.output_type == DType::kBF16
                                                    : p.type == DType::kF8E4M3 && p.output_type == DType::kBF16;
  if (!compiled)
    return unsupported(fmt::format("{} with a result of type {} is not supported; BF16, F16 with results of the same type, "
                                   "I8 with I32 or BF16, and F8_E4M3 with BF16 are",
                                   info(p.type).name, info(p.output_type).name));
  if (p.a.column_major || p.b.column_major)
    return unsupported(fmt::format("{} is column-major", p.a.column_major ? "A" : "B"));
  WF_CHECK(can_run(plain(p)));
  if (is_empty(p)) return {};
  if ((p.starts == nullptr) == (p.counts == nullptr))
    return invalid(p.starts == nullptr ? "starts and counts are null; one of them is needed" : "starts and counts are given; one is to be null");
  const int32_t* sizes = p.starts != nullptr ? p.starts : p.counts;
  if (reinterpret_cast<uintptr_t>(sizes) % 4 != 0)
    return invalid(fmt::format("{} starts {} bytes after a multiple of 4", p.starts != nullptr ? "starts" : "counts",
                               reinterpret_cast<uintptr_t>(sizes) % 4));
  if (p.counts != nullptr && (p.row_step < 0 || p.row_step > p.rows))
    return invalid(fmt::format("row_step = {} is not in [0, {}], the rows", p.row_step, p.rows));
  if (reinterpret_cast<uintptr_t>(p.b_pointers) % 8 != 0)
    return invalid(fmt::format("b_pointers starts {} bytes after a multiple of 8", reinterpret_cast<uintptr_t>(p.b_pointers) % 8));
  if (p.alpha == 0 || p.k == 0 || p.b_pointers != nullptr) return {};
  const int64_t bytes = info(p.type).block_bytes;
  if (p.groups > 1) {
    if (p.b.batch_stride < 0 || p.b.batch_stride >= (int64_t{1} << 40) / bytes / p.groups)
      return invalid(fmt::format("B has a batch stride of {} elements; all groups must lie within 2^40 bytes", p.b.batch_stride));
  }
  if (overlap(Lines({p.d, p.d_stride}, p.rows, p.n, 1, info(p.output_type).block_bytes), Lines(p.b, p.n, p.k, p.groups, bytes)) == Overlap::yes)
    return invalid("D overlaps B, which is read while D is written");
  return {};
}

}  // namespace warpfold::kernels::gemm
