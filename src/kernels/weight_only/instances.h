// The compiled configurations: a .cu file for each format of weights, with all tiles and results.
#pragma once

#include <vector>

#include "warpfold/kernels/weight_only/launch.h"

namespace warpfold::kernels::weight_only {

struct Instance {
  DType weights, output;
  TileId tile;
  Status (*launch)(const Problem&, int blocks, void* stream);
};

template <DType kWeights, class Output>
void add_instances(std::vector<Instance>& all) {
  for (const TileId id : all_tiles)
    with_tile(id, [&]<class Tile>(Tile) {
      constexpr DType output = gemm::dtype_of<Output>();
      if constexpr (is_compiled(Tile::id, output))
        all.push_back({kWeights, output, Tile::id, &launch<Config<kWeights, Output, Tile>>});
    });
}
// D in bf16 or fp32.
template <DType kWeights>
std::vector<Instance> instances() {
  std::vector<Instance> all;
  add_instances<kWeights, hopper::bf16>(all);
  add_instances<kWeights, float>(all);
  return all;
}

std::vector<Instance> q8_0_instances();
std::vector<Instance> q4_0_instances();
std::vector<Instance> q4_1_instances();

}  // namespace warpfold::kernels::weight_only
