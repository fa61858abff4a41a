// The compiled configurations. A .cu file makes the instances of a few kinds: every tile that tiles_of() names. One that
// would take more than 10 s to compile is compiled twice, for half of the tiles each: WF_HALF is 0 or 1.
#pragma once

#include <vector>

#include "warpfold/kernels/gemm/launch_copied.h"

#ifndef WF_HALF
#define WF_HALF 2  // both
#endif

namespace warpfold::kernels::gemm {

struct Instance {
  Kind kind;
  TileId tile;
  Status (*launch)(const Problem&, int blocks, void* stream);
};

// The kernels of one kind. Majors are those of the caller's A and B.
template <class A, class B, class Output, Fusion kFusion = Fusion::none, hopper::Major kMajorA = hopper::Major::k,
          hopper::Major kMajorB = hopper::Major::k, int kHalf = WF_HALF>
std::vector<Instance> instances() {
  constexpr Kind kind{dtype_of<A>(), dtype_of<B>(), dtype_of<Output>(), kMajorA == hopper::Major::mn,
                      kMajorB == hopper::Major::mn, kFusion};
  constexpr uint32_t halves[] = {0x55555555, 0xAAAAAAAA, 0xFFFFFFFF}, tiles = tiles_of(kind) & halves[kHalf];
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

template <int kHalf>
std::vector<Instance> bf16_instances();
template <>
std::vector<Instance> bf16_instances<0>();
template <>
std::vector<Instance> bf16_instances<1>();
template <int kHalf>
std::vector<Instance> f16_instances();
template <>
std::vector<Instance> f16_instances<0>();
template <>
std::vector<Instance> f16_instances<1>();
template <int kHalf>
std::vector<Instance> tf32_instances();
template <>
std::vector<Instance> tf32_instances<0>();
template <>
std::vector<Instance> tf32_instances<1>();
template <int kHalf>
std::vector<Instance> fp8_instances();
template <>
std::vector<Instance> fp8_instances<0>();
template <>
std::vector<Instance> fp8_instances<1>();
template <int kHalf>
std::vector<Instance> fp8_mixed_instances();
template <>
std::vector<Instance> fp8_mixed_instances<0>();
template <>
std::vector<Instance> fp8_mixed_instances<1>();
template <int kHalf>
std::vector<Instance> int8_int32_instances();
template <>
std::vector<Instance> int8_int32_instances<0>();
template <>
std::vector<Instance> int8_int32_instances<1>();
template <int kHalf>
std::vector<Instance> int8_bf16_instances();
template <>
std::vector<Instance> int8_bf16_instances<0>();
template <>
std::vector<Instance> int8_bf16_instances<1>();
template <int kHalf>
std::vector<Instance> int8_f16_instances();
template <>
std::vector<Instance> int8_f16_instances<0>();
template <>
std::vector<Instance> int8_f16_instances<1>();
std::vector<Instance> bf16_fused_instances();
std::vector<Instance> bf16_major_instances();
std::vector<Instance> f16_fused_instances();
std::vector<Instance> f16_major_instances();
std::vector<Instance> int8_bf16_fused_instances();
std::vector<Instance> int8_f16_fused_instances();
std::vector<Instance> int8_quantised_instances();
std::vector<Instance> int8_16_bit_quantised_instances();
std::vector<Instance> bf16_quantised_instances();
std::vector<Instance> f16_quantised_instances();
std::vector<Instance> copied_bf16_instances();
std::vector<Instance> copied_f16_instances();
std::vector<Instance> copied_tf32_instances();
std::vector<Instance> copied_fp8_instances();
std::vector<Instance> copied_int8_instances();

}  // namespace warpfold::kernels::gemm
