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

// The current device's multiprocessors, if it can reach what the product uses.
Result<int> device_for(const Problem& p) {
  const bool products = p.alpha != 0 && p.k > 0;
  return multiprocessors("weight-only", {{products ? p.a.data : nullptr, "A"},
                                         {products ? p.weights : nullptr, "weights"},
                                         {p.beta != 0 ? p.c.data : nullptr, "C"},
                                         {p.d, "D"},
                                         {products ? p.row_scale : nullptr, "row_scale"},
                                         {products ? p.column_scale : nullptr, "column_scale"},
                                         {p.bias, "bias"},
                                         {p.workspace, "workspace"}});
}

// A problem that can_run accepts, with a plan that check_plan accepts.
Status launch_planned(const Problem& p, const Plan& plan, void* stream) {
  for (const Instance& i : all_instances())
    if (i.tile == plan.tile && i.weights == p.weight_type && i.output == p.output_type)
      return i.launch(p, plan.blocks, stream);
  return fail(ErrorCode::kUnsupported,
              "weight-only: the plan is for another kind of product: its tile is not compiled for this one");
}

}  // namespace

Status run(const Problem& p, const Plan& plan, void* stream) {
  WF_CHECK(can_run(p));
  if (is_empty(p)) return {};
  WF_CHECK(check_plan(p, plan));
  WF_CHECK(device_for(p));
  return launch_planned(p, plan, stream);
}

Status run(const Problem& p, void* stream, std::optional<TileId> tile) {
  WF_CHECK(can_run(p));
  if (is_empty(p)) return {};
  WF_TRY(const int count, device_for(p));
  WF_TRY(const Plan chosen, plan(p, count, tile, p.workspace_bytes));
  WF_CHECK(check_plan(p, chosen));
  return launch_planned(p, chosen, stream);
}

}  // namespace warpfold::kernels::weight_only
