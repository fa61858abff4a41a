// How the panels of each block type are laid out; shared by packing, unpacking and the product kernels.
//
// A weight is  w = scale * (q - zero_point) + minimum  with q unsigned of `bits` bits.
// The 32 columns of a group are 8 quads of 4 columns. With r the row of 16 and c the column in its quad:
//   low nibbles   byte (j, r, c) of 256 = q[r][4j + c] & 15 | (q[r][4j + 16 + c] & 15) << 4,   j = 0..3
//   5-bit types   then byte (r, c) of 64: bit j = bit 4 of q[r][4j + c],                       j = 0..7
//   6-bit types   then byte (h, r, c) of 128: bits 2j, 2j+1 = bits 4, 5 of q[r][4(j + 4h) + c], j = 0..3
//   8-bit types   byte (j, r, c) of 512 = q[r][4j + c],                                        j = 0..7
// so that one 4-byte lane holds one quad of one row: what a 4-way int8 dot product takes.
#pragma once

#include <cstdint>

#include "warpfold/core/dtype.h"
#include "warpfold/ops/packed_matrix.h"

namespace warpfold::ops {

enum class ScaleKind {
  kScale,       // fp16 scale a group
  kScaleMin,    // fp16 scale and fp16 minimum a group
  kSuper,       // 6-bit scale and minimum a group, fp16 factors for both a super-block of 256
  kSuper16,     // 8-bit signed scale for each half group, one fp16 factor a super-block of 256
};

struct PanelFormat {
  int bits;
  int zero_point;
  ScaleKind scales;

  constexpr std::int64_t data_bytes() const { return bits * 64; }  // a group: 32 columns x 16 rows x bits / 8
  constexpr std::int64_t scale_bytes() const { return scales == ScaleKind::kScaleMin ? 64 : 32; }
  constexpr std::int64_t super_bytes() const {  // a super-block of 8 groups
    return scales == ScaleKind::kSuper ? 64 : scales == ScaleKind::kSuper16 ? 32 : 0;
  }
  constexpr std::int64_t panel_bytes(std::int64_t columns) const {
    const std::int64_t groups = columns / kGroup;
    return groups * (data_bytes() + scale_bytes()) + groups / 8 * super_bytes();
  }
};

constexpr PanelFormat panel_format(DType t) {
  switch (t) {
    case DType::kQ4_0: return {4, 8, ScaleKind::kScale};
    case DType::kQ4_1: return {4, 0, ScaleKind::kScaleMin};
    case DType::kQ5_0: return {5, 16, ScaleKind::kScale};
    case DType::kQ5_1: return {5, 0, ScaleKind::kScaleMin};
    case DType::kQ8_0: return {8, 128, ScaleKind::kScale};
    case DType::kQ4_K: return {4, 0, ScaleKind::kSuper};
    case DType::kQ5_K: return {5, 0, ScaleKind::kSuper};
    case DType::kQ6_K: return {6, 32, ScaleKind::kSuper16};
    default: return {0, 0, ScaleKind::kScale};
  }
}

// Panels take exactly the bytes of 16 rows in the file.
static_assert(panel_format(DType::kQ4_1).panel_bytes(256) == 16 * 8 * info(DType::kQ4_1).block_bytes);
static_assert(panel_format(DType::kQ5_0).panel_bytes(256) == 16 * 8 * info(DType::kQ5_0).block_bytes);
static_assert(panel_format(DType::kQ8_0).panel_bytes(256) == 16 * 8 * info(DType::kQ8_0).block_bytes);
static_assert(panel_format(DType::kQ6_K).panel_bytes(256) == 16 * info(DType::kQ6_K).block_bytes);
// K types spend 8 bits on each 6-bit scale: 4 bytes more a row and super-block.
static_assert(panel_format(DType::kQ4_K).panel_bytes(256) == 16 * (info(DType::kQ4_K).block_bytes + 4));
static_assert(panel_format(DType::kQ5_K).panel_bytes(256) == 16 * (info(DType::kQ5_K).block_bytes + 4));

}  // namespace warpfold::ops
