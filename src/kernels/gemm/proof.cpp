// Every configuration that is compiled is proved here; one that is not stops the build with the reason.
#include "warpfold/kernels/gemm/chain.h"
#include "warpfold/kernels/gemm/proofs.h"

namespace warpfold::kernels::gemm {
namespace {

template <class Tile>
constexpr Chain of_bf16 = chain<Config<hopper::bf16, Tile>>();

}  // namespace

Chain chain_of(TileId id) {
  return with_tile(id, [](auto tile) {
    static_assert(Proof<of_bf16<decltype(tile)>>::holds);
    // fp16 has the same tiles: the width of an element is all that a layout sees.
    static_assert(sizeof(hopper::f16) == sizeof(hopper::bf16));
    return of_bf16<decltype(tile)>;
  });
}

}  // namespace warpfold::kernels::gemm
