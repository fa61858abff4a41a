// A read-only view of a tensor in memory: pointer, type, shape; contiguous, innermost mode last.
// A weight matrix of a linear layer y = W x is (rows = outputs, columns = inputs).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "warpfold/core/dtype.h"

namespace warpfold {

inline constexpr int kMaxRank = 4;

struct TensorView {
  const std::byte* data = nullptr;
  DType dtype = DType::kF32;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> shape{1, 1, 1, 1};  // shape[rank - 1] is contiguous

  std::int64_t size() const {  // elements
    std::int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= shape[static_cast<std::size_t>(i)];
    return n;
  }
  std::int64_t columns() const { return rank ? shape[static_cast<std::size_t>(rank - 1)] : 1; }
  std::int64_t rows() const { return columns() ? size() / columns() : 0; }
  std::span<const std::byte> span() const { return {data, static_cast<std::size_t>(bytes())}; }
  std::int64_t bytes() const { return size() / info(dtype).block_size * info(dtype).block_bytes; }
};

}  // namespace warpfold
