// The threads of a model.
#pragma once

#include <memory>

#include <fmt/format.h>

#include "warpfold/core/error.h"
#include "warpfold/core/thread_pool.h"

namespace warpfold::engine {

// A pool of `threads` threads; 0: one for each processor that the process may use. Error: `threads` is negative.
inline Result<std::unique_ptr<ThreadPool>> make_pool(int threads) {
  if (threads < 0)
    return fail(ErrorCode::kInvalidArgument, fmt::format("threads is {}; it must be at least 0", threads));
  return std::make_unique<ThreadPool>(threads ? threads : ThreadPool::available_processors());
}

}  // namespace warpfold::engine
