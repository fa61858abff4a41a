// What planning and running share on the host.
#pragma once

#include "../gemm/normalise.h"
#include "warpfold/kernels/weight_only/tiles.h"

namespace warpfold::kernels::weight_only {

// Nothing to do.
bool is_empty(const Problem& p);

// Can the plan be launched with the problem's workspace?
Status check_plan(const Problem& p, const Plan& plan);

}  // namespace warpfold::kernels::weight_only
