// Every configuration that is compiled is proved here; one that is not stops the build with the reason.
#include "warpfold/kernels/gemm/chain.h"
#include "warpfold/kernels/gemm/proofs.h"

namespace warpfold::kernels::gemm {
namespace {

template <class A, class Output, class Tile, Fusion kFusion = Fusion::none, hopper::Major kMajor = hopper::Major::k>
constexpr Chain of = chain<Config<A, A, Output, Tile, kFusion, kMajor, kMajor>>();

}  // namespace

Chain chain_of(TileId id) {
  return with_tile(id, [](auto tile) {
    using Tile = decltype(tile);
    using hopper::bf16;
    // fp16 has the layouts of bf16, tf32 those of fp32, fp8 those of int8; fusion adds the columns' factors.
    static_assert(sizeof(hopper::f16) == sizeof(bf16) && sizeof(hopper::tf32) == sizeof(float) &&
                  sizeof(hopper::e4m3) == sizeof(int8_t));
    if constexpr (Tile::id != TileId::m128_n256_cluster2)
      static_assert(Proof<of<int8_t, bf16, Tile, Fusion::full>>::holds);
    if constexpr (Tile::promoted) {
      return of<hopper::e4m3, bf16, Tile, Fusion::linear>;
    } else {
      static_assert(Proof<of<bf16, bf16, Tile>>::holds);
      if constexpr (Tile::id != TileId::m64_n48) {
        static_assert(Proof<of<int8_t, int32_t, Tile>>::holds);
        static_assert(Proof<of<hopper::tf32, float, Tile>>::holds);
      }
      if constexpr (Tile::id == TileId::m128_n128)
        static_assert(Proof<of<bf16, bf16, Tile, Fusion::gated>>::holds);
      if constexpr (Tile::id == TileId::m128_n128 || Tile::id == TileId::m64_n64)
        static_assert(Proof<of<bf16, bf16, Tile, Fusion::none, hopper::Major::mn>>::holds);
      return of<bf16, bf16, Tile>;
    }
  });
}

}  // namespace warpfold::kernels::gemm
