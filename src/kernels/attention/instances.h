// The compiled configurations. A .cu file makes those of an element type and a head dim.
#pragma once

#include <vector>

#include "plan.h"
#include "warpfold/kernels/attention/launch.h"

namespace warpfold::kernels::attention {

struct Instance {
  DType type;
  TileId tile;
  Status (*launch)(const Problem&, int blocks, void* stream);
};

template <class Element, int kHeadDim>
std::vector<Instance> instances() {
  constexpr DType type = std::is_same_v<Element, hopper::bf16> ? DType::kBF16 : DType::kF16;
  std::vector<Instance> all;
  for (const TileId id : all_tiles)
    with_tile(id, [&]<class Tile>(Tile) {
      if constexpr (Tile::head_dim == kHeadDim) all.push_back({type, id, &launch<Config<Element, Tile>>});
    });
  return all;
}

std::vector<Instance> bf16_64_instances();
std::vector<Instance> bf16_128_instances();
std::vector<Instance> bf16_256_instances();
std::vector<Instance> f16_64_instances();
std::vector<Instance> f16_128_instances();
std::vector<Instance> f16_256_instances();

}  // namespace warpfold::kernels::attention
