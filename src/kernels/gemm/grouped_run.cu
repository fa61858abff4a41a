// Runs a grouped product on the current device.
#include "grouped_instances.h"
#include "kernels/device.h"
#include "normalise.h"

namespace warpfold::kernels::gemm {

Status run(const GroupedProblem& p, void* stream, std::optional<TileId> tile) {
  WF_CHECK(can_run(p));
  if (is_empty(p)) return {};
  WF_TRY(const int count, multiprocessors("grouped gemm"));
  const TileId chosen = tile.value_or(grouped_tile(p));
  for (const auto make : {grouped_bf16_instances, grouped_f16_instances, grouped_int8_instances})
    for (const GroupedInstance& i : make())
      if (i.type == p.type && i.tile == chosen) return i.launch(p, count, stream);
  return fail(ErrorCode::kUnsupported,
              std::string("grouped gemm: tile ") + with_tile(chosen, [](auto t) { return t.name; }) + " is not compiled");
}

}  // namespace warpfold::kernels::gemm
