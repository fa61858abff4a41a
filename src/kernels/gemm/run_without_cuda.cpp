// run() of a build without CUDA: checks the problem all the same, then says what is missing.
#include "normalise.h"

namespace warpfold::kernels::gemm {

Status run(const Problem& problem, const Plan& chosen, void*) {
  WF_CHECK(can_run(problem));
  if (is_empty(problem)) return {};
  WF_CHECK(check_plan(problem, chosen));
  return fail(ErrorCode::kUnsupported, "gemm: this build has no CUDA");
}

Status run(const Problem& problem, void*, std::optional<TileId>) {
  WF_CHECK(can_run(problem));
  if (is_empty(problem)) return {};
  return fail(ErrorCode::kUnsupported, "gemm: this build has no CUDA");
}

Status row_sums(const RowSums& problem, void*) {
  WF_CHECK(check_row_sums(problem));
  if (problem.rows == 0 || problem.batches == 0) return {};
  return fail(ErrorCode::kUnsupported, "row sums: this build has no CUDA");
}

Status run(const GroupedProblem& problem, void*, std::optional<TileId>) {
  WF_CHECK(can_run(problem));
  if (is_empty(problem)) return {};
  return fail(ErrorCode::kUnsupported, "grouped gemm: this build has no CUDA");
}

}  // namespace warpfold::kernels::gemm
