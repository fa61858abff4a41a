// A unit of the build, of which CMakeLists.txt makes many: the configurations of WF_ELEMENT, WF_HEAD_DIM and
// WF_PLAIN.
#include "warpfold/hopper/hopper.h"
// Before the kernel, which uses them:
#include WF_WGMMA_HEADER

#include "instances.h"
#include "warpfold/kernels/attention/launch.h"

namespace warpfold::kernels::attention {

template <class Element, int kHeadDim, bool kPlain>
std::vector<Instance> instances() {
  constexpr DType type = std::is_same_v<Element, hopper::bf16>  ? DType::kBF16
                         : std::is_same_v<Element, hopper::f16> ? DType::kF16
                                                                : DType::kF8E4M3;
  std::vector<Instance> all;
  for (const TileId id : all_tiles)
    with_tile(id, [&]<class Tile>(Tile) {
      if constexpr (Tile::eight_bit == (sizeof(Element) == 1) && Tile::head_dim == kHeadDim &&
                    (Tile::variant == Variant::plain) == kPlain)
        all.push_back({type, id, &launch<Config<Element, Tile>>});
    });
  return all;
}

template std::vector<Instance> instances<hopper::WF_ELEMENT, WF_HEAD_DIM, WF_PLAIN>();

}  // namespace warpfold::kernels::attention
