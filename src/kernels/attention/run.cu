// Runs attention on the current device.
#include "instances.h"
#include "kernels/device.h"
#include "warpfold/hopper/types.h"

namespace warpfold::kernels::attention {
namespace {

template <class Element, int... kHeadDims>
void add_instances(std::vector<Instance>& list) {
  for (const auto make : {instances<Element, kHeadDims, true>..., instances<Element, kHeadDims, false>...})
    for (const Instance& i : make()) list.push_back(i);
}

const std::vector<Instance>& all_instances() {
  static const std::vector<Instance> all = [] {
    std::vector<Instance> list;
    add_instances<hopper::bf16, 64, 96, 128, 192, 256>(list);
    add_instances<hopper::f16, 64, 96, 128, 192, 256>(list);
    add_instances<hopper::e4m3, 64, 128, 256>(list);
    return list;
  }();
  return all;
}

}  // namespace

Status run(const Problem& p, void* stream, std::optional<TileId> tile) {
  WF_CHECK(can_run(p));
  if (is_empty(p)) return {};
  WF_TRY(const TileId chosen, choose(p, tile));
  WF_TRY(const int count, multiprocessors("attention", {{p.q.data, "Q"},
                                                        {p.seqlen_k > 0 ? p.k.data : nullptr, "K"},
                                                        {p.seqlen_k > 0 ? p.v.data : nullptr, "V"},
                                                        {p.o.data, "O"},
                                                        {p.lse, "lse"},
                                                        {p.q_lengths.starts, "cu_seqlens of Q"},
                                                        {p.q_lengths.used, "seqused of Q"},
                                                        {p.k_lengths.starts, "cu_seqlens of K"},
                                                        {p.k_lengths.used, "seqused of K"},
                                                        {p.sink, "sink"},
                                                        {p.alibi, "alibi"},
                                                        {p.bias.data, "bias"},
                                                        {p.q_descale.data, "q_descale"},
                                                        {p.k_descale.data, "k_descale"},
                                                        {p.v_descale.data, "v_descale"},
                                                        {p.workspace, "workspace"}}));
  for (const Instance& i : all_instances())
    if (i.tile == chosen && i.type == p.type) return i.launch(p, blocks_of(p, chosen, count), stream);
  return fail(ErrorCode::kUnsupported, "attention: the tile is not compiled for this type");
}

}  // namespace warpfold::kernels::attention
