// Every configuration that is compiled is proved here; one that is not stops the build with the reason. fp16 has the
// layouts of bf16.
#include "warpfold/kernels/attention/chain.h"
#include "warpfold/kernels/attention/proofs.h"

namespace warpfold::kernels::attention {
namespace {

template <class Tile>
constexpr Chain of = chain<Config<std::conditional_t<Tile::eight_bit, hopper::e4m3, hopper::bf16>, Tile>>();

}  // namespace

Chain chain_of(TileId id) {
  static_assert(sizeof(hopper::f16) == sizeof(hopper::bf16));
  return with_tile(id, []<class Tile>(Tile) {
    static_assert(Proof<of<Tile>>::holds);
    return of<Tile>;
  });
}

}  // namespace warpfold::kernels::attention
