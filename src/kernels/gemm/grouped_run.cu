// Runs a grouped product on the current device.
#include "grouped_instances.h"
#include "kernels/device.h"
#include "normalise.h"

namespace warpfold::kernels::gemm {

Status run(const GroupedProblem& p, void* stream, std::optional<TileId> tile) {
  WF_CHECK(can_run(p));
  if (is_empty(p)) return {};
  const bool products = p.alpha != 0 && p.k > 0;
  WF_TRY(const int count,
         multiprocessors("grouped gemm", {{products ? p.a.data : nullptr, "A"},
                                          {products && p.b_pointers == nullptr ? p.b.data : nullptr, "B"},
                                          {products ? p.b_pointers : nullptr, "b_pointers"},
                                          {p.d, "D"},
                                          {products ? p.row_scale : nullptr, "row_scale"},
                                          {products ? p.column_scale : nullptr, "column_scale"},
                                          {p.bias, "bias"},
                                          {p.starts, "starts"},
                                          {p.counts, "counts"}}));
  const TileId own = grouped_tile(p), chosen = tile.value_or(own);
  if ((copied_tiles >> int(own) & 1) != 0 && chosen != own)
    return fail(ErrorCode::kUnsupported, "grouped gemm: TMA cannot take these matrices, so only a copied tile can");
  static const GroupedInstances all =
      grouped_bf16_instances() + grouped_f16_instances() + grouped_int8_instances() + grouped_fp8_instances();
  for (const GroupedInstance& i : all)
    if (i.type == p.type && i.output == p.output_type && i.tile == chosen && (i.fused || !is_fused(p)))
      return i.launch(p, count, stream);
  return fail(ErrorCode::kUnsupported,
              std::string("grouped gemm: tile ") + with_tile(chosen, [](auto t) { return t.name; }) + " is not compiled");
}

}  // namespace warpfold::kernels::gemm
