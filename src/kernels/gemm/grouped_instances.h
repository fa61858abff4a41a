// The compiled grouped configurations: three tiles for each type.
#pragma once

#include <array>

#include "warpfold/kernels/gemm/launch_grouped.h"

namespace warpfold::kernels::gemm {

inline constexpr TileId grouped_tiles[] = {TileId::m128_n128, TileId::m128_n192, TileId::m64_n64};

struct GroupedInstance {
  DType type;
  TileId tile;
  Status (*launch)(const GroupedProblem&, int blocks, void* stream);
};
using GroupedInstances = std::array<GroupedInstance, std::size(grouped_tiles)>;

template <class In, class Out>
GroupedInstances grouped_instances() {
  const auto of = []<class Tile>(Tile) {
    return GroupedInstance{dtype_of<In>(), Tile::id, &launch_grouped<Config<In, In, Out, Grouped<Tile>>>};
  };
  return {of(Tile128x128{}), of(Tile128x192{}), of(Tile64x64{})};
}

GroupedInstances grouped_bf16_instances();
GroupedInstances grouped_f16_instances();
GroupedInstances grouped_int8_instances();

}  // namespace warpfold::kernels::gemm
