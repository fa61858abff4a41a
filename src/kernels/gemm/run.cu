// Runs a planned product on the current device.
#include "instances.h"
#include "kernels/device.h"
#include "normalise.h"

namespace warpfold::kernels::gemm {
namespace {

const std::vector<Instance>& all_instances() {
  static const std::vector<Instance> all = [] {
    std::vector<Instance> list;
    for (const auto make :
         {bf16_instances<0>, bf16_instances<1>, f16_instances<0>, f16_instances<1>, tf32_instances<0>,
          tf32_instances<1>, fp8_instances<0>, fp8_instances<1>, fp8_mixed_instances<0>, fp8_mixed_instances<1>,
          int8_int32_instances<0>, int8_int32_instances<1>, int8_bf16_instances<0>, int8_bf16_instances<1>,
          int8_f16_instances<0>, int8_f16_instances<1>, bf16_fused_instances, bf16_major_instances,
          f16_fused_instances, f16_major_instances, int8_bf16_fused_instances, int8_f16_fused_instances,
          int8_quantised_instances, int8_16_bit_quantised_instances, bf16_quantised_instances,
          f16_quantised_instances, copied_bf16_instances, copied_f16_instances, copied_tf32_instances,
          copied_fp8_instances, copied_int8_instances})
      for (const Instance& i : make()) list.push_back(i);
    return list;
  }();
  return all;
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
  WF_CHECK(multiprocessors("gemm"));
  return launch_planned(normalised(problem), chosen, stream);
}

Status run(const Problem& problem, void* stream, std::optional<TileId> tile) {
  WF_CHECK(can_run(problem));
  if (is_empty(problem)) return {};
  WF_TRY(const int count, multiprocessors("gemm"));
  const Problem p = normalised(problem);
  WF_TRY(const Plan chosen, choose(p, count, tile, p.workspace_bytes));
  WF_CHECK(check_plan(p, chosen));
  return launch_planned(p, chosen, stream);
}

}  // namespace warpfold::kernels::gemm
