// Element and block types of tensors.
// A block type stores `block_size` consecutive elements of the innermost mode in `block_bytes` bytes;
// plain types have block_size 1. Block layouts are those of ggml (see formats/blocks.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace warpfold {

enum class DType : std::uint8_t {
  kF32, kF16, kBF16, kF64,
  kF8E4M3, kF8E5M2,
  kI8, kI16, kI32, kI64, kU8, kBool,
  kQ4_0, kQ4_1, kQ5_0, kQ5_1, kQ8_0, kQ4_K, kQ5_K, kQ6_K,
};

struct DTypeInfo {
  std::string_view name;   // as printed: "F32", "Q4_K"
  std::int64_t block_size;   // elements a block
  std::int64_t block_bytes;  // bytes a block
};

constexpr DTypeInfo info(DType t) {
  switch (t) {
    case DType::kF32: return {"F32", 1, 4};
    case DType::kF16: return {"F16", 1, 2};
    case DType::kBF16: return {"BF16", 1, 2};
    case DType::kF64: return {"F64", 1, 8};
    case DType::kF8E4M3: return {"F8_E4M3", 1, 1};
    case DType::kF8E5M2: return {"F8_E5M2", 1, 1};
    case DType::kI8: return {"I8", 1, 1};
    case DType::kI16: return {"I16", 1, 2};
    case DType::kI32: return {"I32", 1, 4};
    case DType::kI64: return {"I64", 1, 8};
    case DType::kU8: return {"U8", 1, 1};
    case DType::kBool: return {"BOOL", 1, 1};
    case DType::kQ4_0: return {"Q4_0", 32, 18};
    case DType::kQ4_1: return {"Q4_1", 32, 20};
    case DType::kQ5_0: return {"Q5_0", 32, 22};
    case DType::kQ5_1: return {"Q5_1", 32, 24};
    case DType::kQ8_0: return {"Q8_0", 32, 34};
    case DType::kQ4_K: return {"Q4_K", 256, 144};
    case DType::kQ5_K: return {"Q5_K", 256, 176};
    case DType::kQ6_K: return {"Q6_K", 256, 210};
  }
  return {"?", 1, 0};
}

constexpr bool is_block_type(DType t) { return info(t).block_size > 1; }

}  // namespace warpfold
