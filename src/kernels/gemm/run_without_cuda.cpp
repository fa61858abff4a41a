// run() of a build without CUDA: checks the problem all the same, then says what is missing.
#include "warpfold/kernels/gemm/config.h"
#include "warpfold/kernels/gemm/gemm.h"

namespace warpfold::kernels::gemm {

Status run(const Problem& problem, const Plan& chosen, void*) {
  WF_CHECK(can_run(problem));
  if (chosen.blocks == 0) return {};
  return fail(ErrorCode::kUnsupported, "gemm: this build has no CUDA");
}

Status run(const Problem& problem, void* stream, std::optional<TileId>) {
  return run(problem, Plan{.blocks = problem.m > 0 && problem.n > 0 ? 1 : 0}, stream);
}

}  // namespace warpfold::kernels::gemm
