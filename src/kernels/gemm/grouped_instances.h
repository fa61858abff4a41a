// The compiled grouped configurations: three tiles for each type, two with scales, bias and activation, one whose threads copy.
#pragma once

#include <vector>

#include "warpfold/kernels/gemm/launch_grouped.h"

namespace warpfold::kernels::gemm {

struct GroupedInstance {
  DType type, output;
  bool fused;  // serves products without, too
  TileId tile;
  Status (*launch)(const GroupedProblem&, int blocks, void* stream);
};
using GroupedInstances = std::vector<GroupedInstance>;

template <class In, class Out, Fusion kFusion, class... Tiles>
GroupedInstances grouped_instances() {
  const auto of = []<class Tile>(Tile) {
    using Kernel = Config<In, In, Out, Grouped<Tile>, kFusion>;
    GroupedInstance i{dtype_of<In>(), dtype_of<Out>(), kFusion != Fusion::none, Tile::id, nullptr};
    if constexpr (Tile::copied)
      i.launch = &launch_grouped_copied<Kernel>;
    else
      i.launch = &launch_grouped<Kernel>;
    return i;
  };
  return {of(Tiles{})...};
}
inline GroupedInstances operator+(GroupedInstances a, const GroupedInstances& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

GroupedInstances grouped_bf16_instances();
GroupedInstances grouped_f16_instances();
GroupedInstances grouped_int8_instances();
GroupedInstances grouped_fp8_instances();

}  // namespace warpfold::kernels::gemm
