// The proofs of the compiled GEMM configurations, for tools that show them.
#pragma once

#include "warpfold/core/dtype.h"
#include "warpfold/kernels/chain.h"

namespace warpfold::kernels::gemm {

enum class TileId : uint8_t;

// Of products of BF16, or of I8 with the exact sums as result, scaled to BF16 where a tile has no such (promoted tiles:
// of E4M3).
Chain chain_of(TileId id, DType type = DType::kBF16);

}  // namespace warpfold::kernels::gemm
