// The compiled configurations, and what a unit of the build makes of them.
#pragma once

#include <vector>

#include "plan.h"

namespace warpfold::kernels::attention {

struct Instance {
  DType type;
  TileId tile;
  Status (*launch)(const Problem&, int blocks, void* stream);
};

// The tiles of a head dim, either the plain ones or those with options.
template <class Element, int kHeadDim, bool kPlain>
std::vector<Instance> instances();

}  // namespace warpfold::kernels::attention
