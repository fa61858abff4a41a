// Every configuration that is compiled is proved here; one that is not stops the build with the reason.
#include "warpfold/kernels/gemm/chain.h"
#include "warpfold/kernels/gemm/proofs.h"

namespace warpfold::kernels::gemm {
namespace {

template <class Element, class Output, class Tile>
constexpr Chain of = chain<Config<Element, Output, Tile>>();

}  // namespace

Chain chain_of(TileId id) {
  return with_tile(id, [](auto tile) {
    using Tile = decltype(tile);
    static_assert(Proof<of<hopper::bf16, hopper::bf16, Tile>>::holds);
    static_assert(Proof<of<int8_t, int32_t, Tile>>::holds);
    // fp16 has the layouts of bf16, and an int8 product with a 16-bit result has nothing but parts of these
    // two.
    static_assert(sizeof(hopper::f16) == sizeof(hopper::bf16));
    return of<hopper::bf16, hopper::bf16, Tile>;
  });
}

}  // namespace warpfold::kernels::gemm
