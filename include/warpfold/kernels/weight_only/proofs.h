// The proofs of the compiled weight-only configurations, for tools that show them.
#pragma once

#include "warpfold/kernels/chain.h"

namespace warpfold::kernels::weight_only {

enum class TileId : uint8_t;

Chain chain_of(TileId id);  // with Q4_0 weights

}  // namespace warpfold::kernels::weight_only
