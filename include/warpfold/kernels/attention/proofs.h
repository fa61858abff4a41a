// The proofs of the compiled attention configurations, for tools that show them.
#pragma once

#include "warpfold/kernels/chain.h"

namespace warpfold::kernels::attention {

enum class TileId : uint8_t;

Chain chain_of(TileId id);

}  // namespace warpfold::kernels::attention
