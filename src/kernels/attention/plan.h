// What the host decides about a problem.
#pragma once

#include "warpfold/kernels/attention/tiles.h"

namespace warpfold::kernels::attention {

// Nothing to write.
bool is_empty(const Problem& p);

// The tile for a problem that can_run accepts: the given one, if it serves such a problem, or the table's.
Result<TileId> choose(const Problem& p, std::optional<TileId> tile);

// Blocks of a launch on a GPU of `multiprocessors`.
int blocks_of(const Problem& p, TileId tile, int multiprocessors);

Status check_workspace(const Problem& p);

}  // namespace warpfold::kernels::attention
