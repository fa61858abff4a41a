// Weight matrices repacked for matrix products: panels of 16 rows, so that one vector holds the same column
// of 16 rows and no product needs a horizontal sum.
//
// W (N, K), row-major in the file, becomes ceil(N / 16) panels. A panel of a block-quantised matrix is
//     data   (K / 32 groups): the 32 columns of 16 rows, bits as in the file
//     scales (K / 32 groups): 16 scales, and 16 minima where the type has them
//     supers (K / 256):       16 fp16 scales of scales, K types only
// and a panel of a float matrix is (K, 16). Nothing is rounded: every weight keeps its exact value, and a
// panel takes the bytes of its rows in the file (the last panel is padded with zero rows).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/core/tensor.h"
#include "warpfold/core/thread_pool.h"

namespace warpfold::ops {

inline constexpr std::int64_t kPanelRows = 16;
inline constexpr std::int64_t kGroup = 32;  // columns that share a scale, and an activation scale

// Memory for packed weights in few large stretches, so that huge pages back them: decoding reads all weights for
// every token, and small pages would cost it a table walk each 4 KiB. Freed as a whole.
class WeightArena {
 public:
  // 64-byte aligned, zeroed; nullptr when the system has no more memory.
  std::byte* allocate(std::int64_t bytes);

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* p) const;
  };
  std::vector<std::unique_ptr<std::byte, Unmap>> blocks_;
  std::byte* next_ = nullptr;
  std::int64_t left_ = 0;
};

// What a packer tells the owner of its source: this stretch is about to be read, and will not be read again.
struct SourceHooks {
  std::function<void(std::span<const std::byte>)> reading, consumed;
};

class PackedMatrix {
 public:
  // weight (N, K): F32, F16, BF16 with any K, or a block type with K a multiple of its block size.
  // The matrix lives as long as the arena. The hooks are called from the pool's threads.
  // Errors: kUnsupported by type name, kInvalidArgument for a shape that the type does not allow.
  static Result<PackedMatrix> pack(const TensorView& weight, WeightArena& arena, ThreadPool& pool,
                                   const SourceHooks& hooks = {});

  PackedMatrix() = default;

  DType dtype() const { return dtype_; }
  std::int64_t rows() const { return rows_; }        // N, outputs
  std::int64_t columns() const { return columns_; }  // K, inputs
  std::int64_t panels() const { return (rows_ + kPanelRows - 1) / kPanelRows; }
  std::int64_t bytes() const { return panels() * panel_bytes_; }
  bool quantised() const { return is_block_type(dtype_); }
  const std::byte* panel(std::int64_t p) const { return data_ + p * panel_bytes_; }

  // out (K) = row `row` as floats, exactly as the file defines them.
  void unpack_row(std::int64_t row, float* out) const;

 private:
  DType dtype_ = DType::kF32;
  std::int64_t rows_ = 0, columns_ = 0, panel_bytes_ = 0;
  std::byte* data_ = nullptr;  // in the arena
};

}  // namespace warpfold::ops
