// Reads what an accepted file promises to be readable: the first and last row of every tensor, and its last
// byte.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "warpfold/formats/blocks.h"
#include "warpfold/formats/gguf.h"

namespace warpfold::test {

inline void require(bool holds) {
  if (!holds) std::abort();
}

inline void read_tensors(std::span<const std::byte> file, const std::vector<formats::NamedTensor>& tensors) {
  for (const auto& [name, view] : tensors) {
    require(view.size() >= 0 && view.bytes() >= 0);
    if (view.bytes() == 0) continue;
    const auto bytes = static_cast<std::size_t>(view.bytes());
    require(view.data >= file.data() &&
            bytes <= static_cast<std::size_t>(file.data() + file.size() - view.data));
    const std::size_t row_bytes = bytes / static_cast<std::size_t>(view.rows());
    std::vector<float> row(static_cast<std::size_t>(view.columns()));
    require(formats::dequantize_row(view.dtype, {view.data, row_bytes}, row).has_value());
    require(formats::dequantize_row(view.dtype, {view.data + bytes - row_bytes, row_bytes}, row).has_value());
  }
}

}  // namespace warpfold::test
