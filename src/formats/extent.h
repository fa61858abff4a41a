// How many bytes a tensor's shape and type ask for, computed so that no product can wrap.
#pragma once

#include <cstdint>
#include <optional>

#include "warpfold/core/tensor.h"

namespace warpfold::formats {

// The bytes of the view's data; nothing when they, or a product of its non-zero extents, exceed 2^63 - 1, so
// that size(), rows() and bytes() of an accepted view cannot overflow even with a zero among the extents.
// Extents are not negative and the columns are whole blocks.
inline std::optional<std::uint64_t> checked_bytes(const TensorView& view) {
  std::int64_t elements = 1;
  bool empty = false;
  for (const std::int64_t extent : view.shape) {
    if (extent == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(elements, extent, &elements)) {
      return std::nullopt;
    }
  }
  std::int64_t bytes = 0;
  if (empty) return 0;
  if (__builtin_mul_overflow(elements / info(view.dtype).block_size, info(view.dtype).block_bytes, &bytes))
    return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace warpfold::formats
