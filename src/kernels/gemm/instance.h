// A compiled configuration.
#pragma once

#include <vector>

#include "warpfold/kernels/gemm/gemm.h"
#include "warpfold/kernels/gemm/tiles.h"

namespace warpfold::kernels::gemm {

struct Instance {
  Kind kind;
  TileId tile;
  Status (*launch)(const Problem&, int blocks, void* stream);
};

}  // namespace warpfold::kernels::gemm
