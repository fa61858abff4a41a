// What a product must fulfil. No CUDA here: the answers are the same on every machine.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "normalise.h"
#include "overlap.h"
#include "warpfold/kernels/gemm/extent.h"
#include "warpfold/kernels/gemm/gemm.h"

namespace warpfold::kernels::gemm {
namespace {

__extension__ using Wide = __int128;

// TMA coordinates are 32-bit, and a tile may stick out of the matrix.
constexpr int64_t largest_size = (int64_t{1} << 31) - 1024;

auto invalid(std::string text) { return fail(ErrorCode::kInvalidArgument, std::move(text)); }
auto unsupported(std::string text) { return fail(ErrorCode::kUnsupported, std::move(text)); }

Status check_size(const char* name, int64_t size) {
  if (size < 0) return invalid(fmt::format("gemm: {} = {} is negative", name, size));
  if (size > largest_size) return unsupported(fmt::format("gemm: {} = {} is above {}", name, size, largest_size));
  return {};
}

// A matrix of `rows` by `width`, rows being columns where it is column-major.
Status check_matrix(char name, DType type, const Operand& o, int64_t rows, int64_t width, int64_t batches) {
  const int64_t element = info(type).block_bytes;
  const char* row = o.column_major ? "column" : "row";
  const Wide bytes = extent<Wide>(o, rows, width, batches) * element;
  if (o.column_major) std::swap(rows, width);
  if (o.data == nullptr) return invalid(fmt::format("gemm: {} is null", name));
  if (const auto address = reinterpret_cast<uintptr_t>(o.data); address % uintptr_t(element) != 0)
    return invalid(fmt::format("gemm: {} starts {} bytes after a multiple of {}, its elements' size", name,
                               address % uintptr_t(element), element));
  if (rows > 1 && o.stride < width)  // else the stride is never used
    return invalid(fmt::format("gemm: {} has a {} stride of {} elements, below its {}s of {} elements", name, row,
                               o.stride, row, width));
  if (batches > 1 && o.batch_stride < 0)
    return invalid(fmt::format("gemm: {} has a batch stride of {} elements", name, o.batch_stride));
  // Each stride fits, but all together must lie in the address space.
  if (bytes > (Wide{1} << 62) || bytes > ~reinterpret_cast<uintptr_t>(o.data))
    return invalid(fmt::format("gemm: {} reaches {} bytes past its start, beyond the address space", name,
                               bytes > (Wide{1} << 62) ? "more than 2^62" : std::to_string(int64_t(bytes))));
  return {};
}

// Result types that exist for operands of type `a` and `b`, for a message; empty: the operands do not fit.
std::string results(DType a, DType b) {
  if (is_fp8(a) && is_fp8(b)) return "BF16";
  if (a != b) return "";
  if (is_16_bit(a)) return std::string(info(a).name) + ", F32 or I8";
  if (a == DType::kF32) return "F32";
  if (a == DType::kI8) return "I32, I8, BF16, F16 or F32";
  return "";
}

// Zero points, results of 8 bits and the rows' largest values.
Status check_quantisation(const Problem& p) {
  for (const auto& [zero, sums, name, other] : {std::tuple(p.a_zero, p.b_sums, "a_zero", "b_sums"),
                                                std::tuple(p.b_zero, p.a_sums, "b_zero", "a_sums")}) {
    if (zero == nullptr) continue;
    if (p.type != DType::kI8 || b_type(p) != DType::kI8)
      return unsupported(fmt::format("gemm: {} is given for operands of {} and {}; only I8 has zero points", name,
                                     info(p.type).name, info(b_type(p)).name));
    if (sums == nullptr && p.alpha != 0 && p.k > 0)
      return invalid(fmt::format("gemm: {} is given and {} is null: a zero point of one operand is multiplied by the sums of "
                                 "the other",
                                 name, other));
  }
  const bool quantises = p.output_scale != nullptr || p.output_zero != nullptr;
  if (quantises && p.output_type != DType::kI8)
    return unsupported(fmt::format("gemm: output_scale and output_zero are for results of I8, not {}", info(p.output_type).name));
  if (p.output_type == DType::kI8 && p.beta != 0)
    return unsupported(fmt::format("gemm: beta = {}, but a result of type I8 takes no C, which would need a scale of its own", p.beta));
  if (p.row_amax != nullptr) {
    if (p.beta != 0) return unsupported(fmt::format("gemm: row_amax is of a result without C, and beta = {}", p.beta));
    if (p.d_column_major) return unsupported("gemm: row_amax is of a D by rows, and D is column-major");
    if (p.output_type == DType::kI32) return unsupported("gemm: a result of type I32 has no row_amax");
  }
  if (p.gate != Gate::none && (p.a_zero != nullptr || p.b_zero != nullptr || p.output_type == DType::kI8 || p.row_amax != nullptr))
    return unsupported("gemm: a gated product takes neither zero points, results of I8 nor row_amax");
  return {};
}

Status check_kind(const Problem& p) {
  const DType b = b_type(p);
  const std::string pair(b == p.type ? std::string(info(p.type).name)
                                     : std::string(info(p.type).name) + " by " + std::string(info(b).name));
  const std::string possible = results(p.type, b);
  if (possible.empty())
    return unsupported(fmt::format("gemm: products of {} are not supported; those of BF16, F16, F32 (as TF32), F8_E4M3 "
                                   "and F8_E5M2, and I8 are",
                                   pair));
  if (p.output_type == DType::kI32 && p.type == DType::kI8 &&
      (p.alpha != 1 || p.beta != 0 || p.row_scale != nullptr || p.column_scale != nullptr || p.bias != nullptr ||
       p.row_bias != nullptr || p.activation != Activation::none || p.gate != Gate::none))
    return unsupported("gemm: a result of type I32 takes neither alpha, beta, scales, bias nor activation");
  WF_CHECK(check_quantisation(p));
  if (p.gate != Gate::none && p.d_column_major) return unsupported("gemm: a gated product has no column-major D");
  const Problem n = normalised(p);
  if (tiles_for(n) != 0) return {};
  Problem plain = n;
  plain.row_scale = plain.column_scale = plain.bias = plain.row_bias = nullptr;
  plain.activation = Activation::none;
  plain.gate = Gate::none;
  plain.a_zero = plain.b_zero = plain.output_zero = nullptr;
  plain.output_scale = plain.row_amax = nullptr;
  if (tiles_of(kind_of(plain)) != 0)
    return unsupported(fmt::format("gemm: {} with a result of type {} is compiled {}", pair, info(p.output_type).name,
                                   p.gate != Gate::none ? "without gates" : "without scales, bias, activation and row_amax"));
  return unsupported(fmt::format("gemm: {} with a result of type {} is not supported; {} is", pair,
                                 info(p.output_type).name, possible));
}

// D is written while A, B and C are read, so it must lie apart from them; only C may be D itself.
Status check_apart(const Problem& p, const Operand& d) {
  const int64_t out = info(p.output_type).block_bytes;
  const Lines result(d, p.m, p.n, p.batches, out);
  const auto meets = [&](const Operand& o, int64_t rows, int64_t width, DType type) {
    return overlap(result, Lines(o, rows, width, p.batches, info(type).block_bytes)) == Overlap::yes;
  };
  if (p.alpha != 0 && p.k > 0) {
    if (meets(p.a, p.m, p.k, p.type)) return invalid("gemm: D overlaps A, which is read while D is written");
    if (meets(p.b, rows_of_b(p), p.k, b_type(p))) return invalid("gemm: D overlaps B, which is read while D is written");
  }
  if (p.beta == 0) return {};
  Operand c = p.c;
  c.column_major = d.column_major;
  const Lines source(c, p.m, p.n, p.batches, out);
  const bool same = source.address == result.address && source.stride == result.stride &&
                    (p.batches == 1 || c.batch_stride == d.batch_stride);
  if (!same && meets(c, p.m, p.n, p.output_type))
    return invalid("gemm: D overlaps C without being C: data and strides have to be the same, or the memory apart");
  return {};
}

Status check_vector(const char* name, const void* data) {
  if (reinterpret_cast<uintptr_t>(data) % 4 != 0)
    return invalid(fmt::format("gemm: {} starts {} bytes after a multiple of 4", name,
                               reinterpret_cast<uintptr_t>(data) % 4));
  return {};
}

}  // namespace

Problem normalised(Problem p) {
  if (!p.d_column_major) return p;
  const DType b = b_type(p);
  p.b_type = p.type;
  p.type = b;
  std::swap(p.a, p.b);
  std::swap(p.m, p.n);
  // (B A^T) (n, m): B is (N, K) as before; what was K-major stays so.
  std::swap(p.row_scale, p.column_scale);
  std::swap(p.one_row_scale, p.one_column_scale);
  std::swap(p.bias, p.row_bias);
  std::swap(p.a_zero, p.b_zero);
  std::swap(p.one_a_zero, p.one_b_zero);
  std::swap(p.a_sums, p.b_sums);
  p.d_column_major = p.c.column_major = false;
  return p;
}

uint32_t tiles_for(const Problem& p) {
  const uint32_t tiles = tiles_of(kind_of(p));
  return takes_copies(p) ? tiles & copied_tiles : tiles & ~copied_tiles;
}

Status check_row_sums(const RowSums& p) {
  constexpr int64_t longest = 1 << 24;
  for (const auto& [name, size] : {std::pair("rows", p.rows), std::pair("K", p.k), std::pair("batches", p.batches),
                                   std::pair("the stride", p.stride), std::pair("the batch stride", p.batch_stride)})
    if (size < 0) return invalid(fmt::format("row sums: {} = {} is negative", name, size));
  if (p.k > longest)
    return unsupported(fmt::format("row sums: K = {} is above {}: the sums might not fit 32 bits", p.k, longest));
  if (p.rows > 0 && p.batches > (int64_t{1} << 40) / p.rows)
    return unsupported(fmt::format("row sums: {} rows, {} times, are too many", p.rows, p.batches));
  if (p.rows == 0 || p.batches == 0) return {};
  if (p.matrix == nullptr && p.k > 0) return invalid("row sums: the matrix is null");
  if (p.sums == nullptr) return invalid("row sums: sums is null");
  return check_vector("sums", p.sums);
}

bool is_empty(const Problem& p) { return p.m == 0 || p.n == 0 || p.batches == 0; }

Status check_plan(const Problem& p, const Plan& plan) {
  if (plan.blocks <= 0) return invalid(fmt::format("gemm: the plan has {} blocks; plan() makes one for the problem", plan.blocks));
  if (plan.workspace_bytes == 0) return {};
  if (p.workspace == nullptr) return invalid(fmt::format("gemm: workspace is null, {} bytes are needed", plan.workspace_bytes));
  if (p.workspace_bytes < plan.workspace_bytes)
    return invalid(fmt::format("gemm: the workspace has {} bytes, {} are needed", p.workspace_bytes, plan.workspace_bytes));
  if (reinterpret_cast<uintptr_t>(p.workspace) % 128 != 0)
    return invalid("gemm: the workspace does not start on a multiple of 128 bytes");
  return {};
}

Status can_run(const Problem& p) {
  WF_CHECK(check_size("M", p.m));
  WF_CHECK(check_size("N", p.n));
  WF_CHECK(check_size("K", p.k));
  WF_CHECK(check_size("batches", p.batches));
  WF_CHECK(check_kind(p));
  if (is_empty(p)) return {};
  WF_CHECK(check_size("rows of B", rows_of_b(p)));
  if (p.alpha != 0 && p.k > 0) {
    WF_CHECK(check_matrix('A', p.type, p.a, p.m, p.k, p.batches));
    WF_CHECK(check_matrix('B', b_type(p), p.b, rows_of_b(p), p.k, p.batches));
  }
  const Operand d{p.d, p.d_stride, p.d_batch_stride, p.d_column_major};
  if (p.beta != 0) {
    Operand c = p.c;
    c.column_major = p.d_column_major;
    WF_CHECK(check_matrix('C', p.output_type, c, p.m, p.n, p.batches));
  }
  WF_CHECK(check_matrix('D', p.output_type, d, p.m, p.n, p.batches));
  if (p.batches > 1 && p.d_batch_stride == 0)
    return invalid("gemm: D has a batch stride of 0: all batches would be written to one place");
  WF_CHECK(check_apart(p, d));
  WF_CHECK(check_vector("row_scale", p.row_scale));
  WF_CHECK(check_vector("column_scale", p.column_scale));
  WF_CHECK(check_vector("bias", p.bias));
  WF_CHECK(check_vector("row_bias", p.row_bias));
  WF_CHECK(check_vector("a_zero", p.a_zero));
  WF_CHECK(check_vector("b_zero", p.b_zero));
  WF_CHECK(check_vector("a_sums", p.a_sums));
  WF_CHECK(check_vector("b_sums", p.b_sums));
  WF_CHECK(check_vector("output_scale", p.output_scale));
  WF_CHECK(check_vector("output_zero", p.output_zero));
  WF_CHECK(check_vector("row_amax", p.row_amax));
  const int64_t per_batch = ((p.m + 63) / 64) * ((rows_of_b(p) + 15) / 16);
  if (per_batch > (int64_t{1} << 30) / p.batches)
    return unsupported(fmt::format("gemm: M x N = {} x {}{} has too many tiles", p.m, p.n,
                                   p.batches > 1 ? fmt::format(", {} times,", p.batches) : ""));
  return {};
}

}  // namespace warpfold::kernels::gemm
