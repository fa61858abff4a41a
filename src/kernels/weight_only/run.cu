// Runs a planned product on the current device.
#include "instances.h"
#include "kernels/device.h"
#include "plan.h"

namespace warpfold::kernels::weight_only {
namespace {

const std::vector<Instance>& all_instances() {
  static const std::vector<Instance> all = [] {
    std::vector<Instance> list;
    for (const auto make : {q8_0_instances, q4_0_instances, q4_1_instances})
      for (const Instance& i : make()) list.push_back(i);
    return list;
  }();
  return all;
}

}  // namespace

Status run(const Problem& p, const Plan& plan, void* stream) {
  WF_CHECK(can_run(p));
  if (is_empty(p)) return {};
  WF_CHECK(check_plan(p, plan));
  WF_CHECK(multiprocessors("weight-only"));
  for (const Instance& i : all_instances())
    if (i.tile == plan.tile && i.weights == p.weight_type && i.output == p.output_type)
      return i.launch(p, plan.blocks, stream);
  return fail(ErrorCode::kUnsupported,
              "weight-only: the plan is for another kind of product: its tile is not compiled for this one");
}

Status run(const Problem& p, void* stream, std::optional<TileId> tile) {
  WF_CHECK(can_run(p));
  if (is_empty(p)) return {};
  WF_TRY(const int count, multiprocessors("weight-only"));
  WF_TRY(const Plan chosen, plan(p, count, tile, p.workspace_bytes));
  return run(p, chosen, stream);
}

}  // namespace warpfold::kernels::weight_only
