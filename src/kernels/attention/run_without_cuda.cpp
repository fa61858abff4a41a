// run() of a build without CUDA: checks the problem all the same, then says what is missing.
#include "plan.h"

namespace warpfold::kernels::attention {

Status run(const Problem& p, void*, std::optional<TileId> tile) {
  WF_CHECK(can_run(p));
  if (is_empty(p)) return {};
  WF_TRY([[maybe_unused]] const TileId chosen, choose(p, tile));
  return fail(ErrorCode::kUnsupported, "attention: this build has no CUDA");
}

}  // namespace warpfold::kernels::attention
