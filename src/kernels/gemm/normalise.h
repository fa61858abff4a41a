// What planning and running share on the host.
#pragma once

#include "warpfold/kernels/gemm/grouped_gemm.h"
#include "warpfold/kernels/gemm/row_sums.h"
#include "warpfold/kernels/gemm/tiles.h"

namespace warpfold::kernels::gemm {

// The problem with D row-major: D^T = B A^T has the roles of A and B, rows and columns exchanged.
Problem normalised(Problem p);

// Is there a matrix that TMA cannot take?
bool takes_copies(const Problem& p);

// The tiles that such a problem may have, as bits 1 << TileId; 0: it is not supported.
uint32_t tiles_for(const Problem& p);

// The kind of kernel for a problem that is normalised and that can_run accepts.
Kind kind_of(const Problem& p);

Status check_row_sums(const RowSums& p);

// Nothing to do.
bool is_empty(const Problem& p);
bool is_empty(const GroupedProblem& p);

// Has it more than alpha, or a type that is compiled only with scales?
bool is_fused(const GroupedProblem& p);

// The tile of a grouped product: sizes are not known here, so it goes by the mean rows of a group.
TileId grouped_tile(const GroupedProblem& p);

// plan() for a problem that is normalised and that can_run accepts.
Result<Plan> choose(const Problem& p, int multiprocessors, std::optional<TileId> tile, int64_t workspace_limit);

// Can the plan be launched with the problem's workspace?
Status check_plan(const Problem& p, const Plan& plan);

}  // namespace warpfold::kernels::gemm
