// run() of a build without CUDA: checks the problem all the same, then says what is missing.
#include "plan.h"

namespace warpfold::kernels::weight_only {

Status run(const Problem& p, const Plan& plan, void*) {
  WF_CHECK(can_run(p));
  if (is_empty(p)) return {};
  WF_CHECK(check_plan(p, plan));
  return fail(ErrorCode::kUnsupported, "weight-only: this build has no CUDA");
}

Status run(const Problem& p, void*, std::optional<TileId>) {
  WF_CHECK(can_run(p));
  if (is_empty(p)) return {};
  return fail(ErrorCode::kUnsupported, "weight-only: this build has no CUDA");
}

}  // namespace warpfold::kernels::weight_only
