// The compiled configurations. A unit, as CMakeLists.txt lists them, makes the instances of a few kinds: every tile that
// tiles_of() names, or, where that would take more than 10 s to compile, part WF_PART of WF_PARTS of them.
#pragma once

#include "instance.h"
#include "warpfold/kernels/gemm/launch_copied.h"

namespace warpfold::kernels::gemm {

// Every parts-th of the tiles, from number `part` on.
constexpr uint32_t part_of(uint32_t tiles, int part, int parts) {
  uint32_t mine = 0;
  for (int i = 0, n = 0; i < 32; ++i)
    if ((tiles >> i & 1) != 0 && n++ % parts == part) mine |= 1u << i;
  return mine;
}

// The kernels of one kind. Majors are those of the caller's A and B.
template <class A, class B, class Output, Fusion kFusion = Fusion::none, hopper::Major kMajorA = hopper::Major::k,
          hopper::Major kMajorB = hopper::Major::k, int kPart = WF_PART, int kParts = WF_PARTS>
std::vector<Instance> instances() {
  constexpr Kind kind{dtype_of<A>(), dtype_of<B>(), dtype_of<Output>(), kMajorA == hopper::Major::mn,
                      kMajorB == hopper::Major::mn, kFusion};
  constexpr uint32_t tiles = part_of(tiles_of(kind), kPart, kParts);
  std::vector<Instance> all;
  for (const TileId id : all_tiles)
    with_tile(id, [&]<class Tile>(Tile) {
      if constexpr ((tiles >> int(Tile::id) & 1) != 0 && !Tile::copied) {
        if constexpr (Tile::swapped)
          all.push_back({kind, Tile::id, &launch<Config<B, A, Output, Tile, kFusion, kMajorB, kMajorA>>});
        else
          all.push_back({kind, Tile::id, &launch<Config<A, B, Output, Tile, kFusion, kMajorA, kMajorB>>});
      }
    });
  return all;
}

// The kernel of one kind whose threads copy.
template <class Tile, class A, class B, class Output, Fusion kFusion>
Instance copied_instance() {
  constexpr Kind kind{dtype_of<A>(), dtype_of<B>(), dtype_of<Output>(), false, false, kFusion};
  static_assert((tiles_of(kind) & copied_tiles) == 1u << int(Tile::id));
  return {kind, Tile::id, &launch_copied<Config<A, B, Output, Tile, kFusion>>};
}

}  // namespace warpfold::kernels::gemm
