// Runs a planned product on the current device.
#include "gemm_units.h"
#include "kernels/device.h"
#include "normalise.h"

namespace warpfold::kernels::gemm {
namespace {

const std::vector<Instance>& all_instances() {
  static const std::vector<Instance> all = [] {
    std::vector<Instance> list;
    for (const auto make : units)
      for (const Instance& i : make()) list.push_back(i);
    return list;
  }();
  return all;
}

// The current device's multiprocessors, if it can reach what the product uses.
Result<int> device_for(const Problem& p) {
  const bool products = p.alpha != 0 && p.k > 0;
  const auto used = [&](const void* data) { return products ? data : nullptr; };
  return multiprocessors("gemm", {{used(p.a.data), "A"},
                                  {used(p.b.data), "B"},
                                  {p.beta != 0 ? p.c.data : nullptr, "C"},
                                  {p.d, "D"},
                                  {used(p.row_scale), "row_scale"},
                                  {used(p.column_scale), "column_scale"},
                                  {p.bias, "bias"},
                                  {p.row_bias, "row_bias"},
                                  {used(p.a_zero), "a_zero"},
                                  {used(p.b_zero), "b_zero"},
                                  {used(p.a_sums), "a_sums"},
                                  {used(p.b_sums), "b_sums"},
                                  {p.output_scale, "output_scale"},
                                  {p.output_zero, "output_zero"},
                                  {p.row_amax, "row_amax"},
                                  {p.workspace, "workspace"}});
}

// A normalised problem with a plan that check_plan accepts.
Status launch_planned(const Problem& p, const Plan& chosen, void* stream) {
  const Kind kind = kind_of(p);
  for (const Instance& i : all_instances())
    if (i.tile == chosen.tile && i.kind == kind) return i.launch(p, chosen.blocks, stream);
  return fail(ErrorCode::kUnsupported, "gemm: the plan is for another kind of product: its tile is not compiled for this one");
}

}  // namespace

Status run(const Problem& problem, const Plan& chosen, void* stream) {
  WF_CHECK(can_run(problem));
  if (is_empty(problem)) return {};
  WF_CHECK(check_plan(problem, chosen));
  WF_CHECK(device_for(problem));
  return launch_planned(normalised(problem), chosen, stream);
}

Status run(const Problem& problem, void* stream, std::optional<TileId> tile) {
  WF_CHECK(can_run(problem));
  if (is_empty(problem)) return {};
  WF_TRY(const int count, device_for(problem));
  const Problem p = normalised(problem);
  WF_TRY(const Plan chosen, choose(p, count, tile, p.workspace_bytes));
  WF_CHECK(check_plan(p, chosen));
  return launch_planned(p, chosen, stream);
}

}  // namespace warpfold::kernels::gemm
