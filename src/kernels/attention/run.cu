// Runs attention on the current device.
#include "instances.h"
#include "kernels/device.h"

namespace warpfold::kernels::attention {
namespace {

const std::vector<Instance>& all_instances() {
  static const std::vector<Instance> all = [] {
    std::vector<Instance> list;
    for (const auto make : {bf16_64_instances, bf16_128_instances, bf16_256_instances, f16_64_instances, f16_128_instances,
                            f16_256_instances})
      for (const Instance& i : make()) list.push_back(i);
    return list;
  }();
  return all;
}

}  // namespace

Status run(const Problem& p, void* stream, std::optional<TileId> tile) {
  WF_CHECK(can_run(p));
  if (is_empty(p)) return {};
  WF_TRY(const TileId chosen, choose(p, tile));
  WF_TRY(const int count, multiprocessors("attention"));
  for (const Instance& i : all_instances())
    if (i.tile == chosen && i.type == p.type) return i.launch(p, blocks_of(p, chosen, count), stream);
  return fail(ErrorCode::kUnsupported, "attention: the tile is not compiled for this type");
}

}  // namespace warpfold::kernels::attention
