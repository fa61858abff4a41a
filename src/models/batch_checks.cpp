#include "models/batch_checks.h"

#include <fmt/format.h>

namespace warpfold::models {

Status check_lengths(std::span<const std::int64_t> lengths, std::int64_t tokens, std::int64_t context) {
  if (lengths.empty()) return fail(ErrorCode::kInvalidArgument, "the batch has no sequences");
  std::int64_t total = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 1 || lengths[i] > context)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("sequence {} has {} tokens; the model takes 1 to {}", i, lengths[i], context));
    total += lengths[i];
  }
  if (total == tokens) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("the lengths add up to {}, but there are {} tokens", total, tokens));
}

Status check_ids(std::span<const std::int32_t> tokens, std::int64_t vocab) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0 || tokens[i] >= vocab)
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("token {} at position {} is outside the vocabulary of {}", tokens[i], i, vocab));
  return {};
}

}  // namespace warpfold::models
