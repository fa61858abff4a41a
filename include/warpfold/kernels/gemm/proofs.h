// The proofs of the compiled GEMM configurations, for tools that show them.
#pragma once

#include "warpfold/kernels/chain.h"

namespace warpfold::kernels::gemm {

enum class TileId : uint8_t;

Chain chain_of(TileId id);

}  // namespace warpfold::kernels::gemm
