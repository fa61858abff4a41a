// What a batch of sequences has to fulfil before a pass.
#pragma once

#include <cstdint>
#include <span>

#include "warpfold/core/error.h"

namespace warpfold::models {

// lengths (B) add up to the number of tokens, each from 1 to the context. Errors: kInvalidArgument with the
// numbers.
Status check_lengths(std::span<const std::int64_t> lengths, std::int64_t tokens, std::int64_t context);
Status check_ids(std::span<const std::int32_t> tokens, std::int64_t vocab);

}  // namespace warpfold::models
