// The row-wise loops of a forward pass.
#pragma once

#include <algorithm>
#include <cstdint>

#include "warpfold/core/thread_pool.h"

namespace warpfold::models {

// Calls body(t) for every token: in parallel when there are enough to share.
template <class Body>
void for_tokens(std::int64_t tokens, ThreadPool& pool, Body body) {
  constexpr std::int64_t kTokensAChunk = 8;
  if (tokens <= kTokensAChunk) {
    for (std::int64_t t = 0; t < tokens; ++t) body(t);
    return;
  }
  pool.parallel_for((tokens + kTokensAChunk - 1) / kTokensAChunk, [&](std::int64_t c, int) {
    for (std::int64_t t = c * kTokensAChunk; t < std::min((c + 1) * kTokensAChunk, tokens); ++t) body(t);
  });
}

}  // namespace warpfold::models
