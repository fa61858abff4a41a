// What a product with packed weights must fulfil. No CUDA here: the answers are the same on every machine.
#include <fmt/format.h>

#include "../gemm/overlap.h"
#include "plan.h"
#include "warpfold/kernels/weight_only/partial.h"

namespace warpfold::kernels::weight_only {
namespace {

auto invalid(std::string text) { return fail(ErrorCode::kInvalidArgument, std::move(text)); }
auto unsupported(std::string text) { return fail(ErrorCode::kUnsupported, std::move(text)); }

// What the GEMM asks of sizes, C and D, of A, and of memory that must lie apart, is asked here, too.
gemm::Problem plain(const Problem& p) {
  gemm::Problem g;
  g.type = p.type;
  g.output_type = p.output_type;
  g.m = p.m;
  g.n = p.n;
  g.k = p.k;
  g.a = p.a;
  g.c = p.c;
  g.d = p.d;
  g.d_stride = p.d_stride;
  g.beta = p.beta;
  return g;
}
gemm::Problem without_weights(const Problem& p) {
  gemm::Problem g = plain(p);
  g.alpha = 0;
  return g;
}
// One column of D, with a row of A in place of the weights.
gemm::Problem with_a_only(const Problem& p) {
  gemm::Problem g = plain(p);
  g.n = 1;
  g.b = p.a;
  g.beta = 0;
  return g;
}

Status check_apart(const Problem& p) {
  const gemm::Lines d({p.d, p.d_stride}, p.m, p.n, 1, info(p.output_type).block_bytes);
  if (overlap(d, gemm::Lines(p.a, p.m, p.k, 1, info(p.type).block_bytes)) == gemm::Overlap::yes)
    return invalid("weight-only: D overlaps A, which is read while D is written");
  if (overlap(d, gemm::Lines({p.weights}, 1, packed_bytes(p.weight_type, p.n, p.k), 1, 1)) ==
      gemm::Overlap::yes)
    return invalid("weight-only: D overlaps the weights, which are read while D is written");
  return {};
}

Status check_vector(const char* name, const float* data) {
  if (const auto address = reinterpret_cast<uintptr_t>(data); address % 4 != 0)
    return invalid(fmt::format("weight-only: {} starts {} bytes after a multiple of 4", name, address % 4));
  return {};
}

}  // namespace

bool is_empty(const Problem& p) { return p.m == 0 || p.n == 0; }

Status can_run(const Problem& p) {
  if (!is_packable(p.weight_type))
    return unsupported(
        fmt::format("weight-only: weights of type {} are not supported; Q8_0, Q4_0 and Q4_1 are",
                    info(p.weight_type).name));
  if (p.type != DType::kBF16)
    return unsupported(fmt::format("weight-only: A of type {} is not supported; BF16 is", info(p.type).name));
  if (p.output_type != DType::kBF16 && p.output_type != DType::kF32)
    return unsupported(fmt::format("weight-only: a result of type {} is not supported; BF16 and F32 are",
                                   info(p.output_type).name));
  if (p.k % block_k != 0)
    return unsupported(
        fmt::format("weight-only: K = {} is no multiple of {}, the length of a block", p.k, block_k));
  WF_CHECK(check_vector("row_scale", p.row_scale));
  WF_CHECK(check_vector("column_scale", p.column_scale));
  WF_CHECK(check_vector("bias", p.bias));
  WF_CHECK(gemm::can_run(without_weights(p)));
  if (is_empty(p) || p.alpha == 0 || p.k == 0) return {};
  if (p.weights == nullptr) return invalid("weight-only: the weights are null");
  if (const auto address = reinterpret_cast<uintptr_t>(p.weights); address % 16 != 0)
    return unsupported(
        fmt::format("weight-only: the packed weights start {} bytes after a multiple of 16; copies need a "
                    "multiple of 16",
                    address % 16));
  WF_CHECK(gemm::can_run(with_a_only(p)));
  return check_apart(p);
}

Status check_plan(const Problem& p, const Plan& plan) {
  if (plan.blocks <= 0 || plan.blocks > most_blocks)
    return invalid(
        fmt::format("weight-only: the plan has {} blocks, which are not 1 to {}; plan() makes one for the "
                    "problem",
                    plan.blocks, most_blocks));
  const int64_t needed = with_tile(plan.tile, [&](auto t) { return workspace_of<decltype(t)>(plan.blocks); });
  if (needed == 0) return {};
  if (p.workspace == nullptr)
    return invalid(fmt::format("weight-only: workspace is null, {} bytes are needed", needed));
  if (p.workspace_bytes < needed)
    return invalid(
        fmt::format("weight-only: the workspace has {} bytes, {} are needed", p.workspace_bytes, needed));
  if (reinterpret_cast<uintptr_t>(p.workspace) % 128 != 0)
    return invalid("weight-only: the workspace does not start on a multiple of 128 bytes");
  return {};
}

}  // namespace warpfold::kernels::weight_only
