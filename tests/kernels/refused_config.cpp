// Does not compile, and the message says why: six stages of 128 x 192 do not fit into shared memory.
#include "warpfold/kernels/gemm/chain.h"

namespace gemm = warpfold::kernels::gemm;

struct TooManyStages : gemm::Tile128x192 {
  static constexpr int stages = 6;
};
constexpr auto chain =
    gemm::chain<gemm::Config<warpfold::hopper::bf16, warpfold::hopper::bf16, warpfold::hopper::bf16, TooManyStages>>();
static_assert(warpfold::kernels::Proof<chain>::holds);
