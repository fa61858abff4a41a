// Every configuration that is compiled is proved here; one that is not stops the build with the reason.
#include "warpfold/kernels/weight_only/chain.h"
#include "warpfold/kernels/weight_only/proofs.h"

namespace warpfold::kernels::weight_only {
namespace {

template <DType kWeights, class Output, class Tile>
constexpr Chain of = chain<Config<kWeights, Output, Tile>>();

template <class Output, class Tile>
constexpr bool all_formats_hold() {
  if constexpr (is_compiled(Tile::id, gemm::dtype_of<Output>()))
    return Proof<of<DType::kQ8_0, Output, Tile>>::holds && Proof<of<DType::kQ4_0, Output, Tile>>::holds &&
           Proof<of<DType::kQ4_1, Output, Tile>>::holds;
  return true;
}

}  // namespace

Chain chain_of(TileId id) {
  return with_tile(id, [](auto tile) {
    using Tile = decltype(tile);
    static_assert(all_formats_hold<hopper::bf16, Tile>() && all_formats_hold<float, Tile>());
    return of<DType::kQ4_0, hopper::bf16, Tile>;
  });
}

}  // namespace warpfold::kernels::weight_only
