// The shape of a typed tile: a layout value - the canonical WGMMA tile of MN x K elements, swizzled - with
// the constants that follow from it: bytes, alignment, the TMA box that fills it, the descriptor.
//
// The arithmetic below is what the instructions need at run time; that it says the same as the layout, for
// every element, descriptor and box, is checked by kernels/chain.h in a translation unit of each kernel.
//
// clang-format off
//   K-major   rows are MN, a row of `span` bytes holds `across` = span / sizeof(T) elements of K; the columns of
//             one span lie behind one another:
//             element (mn,k) at  k/across * MN*span + mn * span + k%across * sizeof(T)
//   MN-major  rows are K:
//             element (mn,k) at  mn/across * K*span + k * span + mn%across * sizeof(T)
// clang-format on
// and then the swizzle of the absolute address.
#pragma once

#include "warpfold/hopper/types.h"
#include "warpfold/layout/hardware/tma.h"
#include "warpfold/layout/hardware/wgmma.h"

namespace warpfold::hopper {

template <class ElementType, int kMn, int kK, Major kMajor = Major::k,
          SwizzleMode kSwizzle = SwizzleMode::b128>
struct TileShape {
  using Element = ElementType;
  static constexpr int mn = kMn, k = kK, element_bytes = int(sizeof(Element));
  static constexpr Major major = kMajor;
  static constexpr SwizzleMode swizzle = kSwizzle;

  static constexpr int span = int(layout::hardware::span_bytes(kSwizzle));  // bytes of a row of one column
  static constexpr int across = span / element_bytes;                       // elements of a row of one column
  static constexpr int rows = kMajor == Major::k ? kMn : kK;  // along the mode that is not contiguous
  static constexpr int columns = (kMajor == Major::k ? kK : kMn) / across;  // spans
  static constexpr int column_bytes = rows * span;
  static constexpr int bytes = columns * column_bytes;
  static constexpr int alignment = kSwizzle == SwizzleMode::none ? 128 : 8 * span;

  // The layout value (MN, K), in elements.
  static constexpr layout::hardware::SharedTile shared() {
    return *layout::hardware::canonical_tile(layout_major, kSwizzle, element_bytes, kMn, kK);
  }
  // The descriptor fields that do not move: mode, LBO and SBO, from the layout of one step of 64 (or all) rows; of
  // all rows where they are contiguous, since a WGMMA may span several columns there.
  static constexpr int wgmma_rows = kMn % 64 == 0 && kMajor == Major::k ? 64 : kMn;
  static constexpr uint64_t descriptor_base() {
    return layout::hardware::wgmma_descriptor(shared(), layout_major, 0, {0, wgmma_rows, 0})->bits;
  }

  // Bytes from the tile's start to what a WGMMA reads at row `mn_begin` (a multiple of 8; of `across` in
  // MN-major tiles) and step `step` of 32 bytes of K.
  static constexpr uint32_t operand_offset(int mn_begin, int step) {
    constexpr int step_k = 32 / element_bytes;
    if constexpr (kMajor == Major::mn)
      return uint32_t(mn_begin / across * column_bytes + step * step_k * span);
    else if constexpr (kSwizzle == SwizzleMode::none)
      return uint32_t(step * 2 * column_bytes + mn_begin * span);
    else
      return uint32_t(step * 32 / span * column_bytes + step * 32 % span + mn_begin * span);
  }
  // Byte offset of element (row, x) before the swizzle; x counts along the contiguous mode.
  static constexpr uint32_t offset(int row, int x) {
    return uint32_t(x / across * column_bytes + row * span + x % across * element_bytes);
  }

  // The tensor map of a matrix of `tensor_rows` rows, `row_elements` apart, of `width` elements, whose boxes
  // are one column of `box_rows` rows of this tile.
  static constexpr layout::hardware::TensorMap map(int64_t tensor_rows, int64_t width, int64_t row_elements,
                                                   int box_rows = rows) {
    layout::hardware::TensorMap m;
    m.rank = 2;
    m.element_bytes = element_bytes;
    m.swizzle = kSwizzle;
    m.size[0] = width;
    m.size[1] = tensor_rows;
    m.stride[1] = row_elements;
    m.box[0] = across;
    m.box[1] = box_rows;
    return m;
  }

 private:
  static constexpr auto layout_major =
      kMajor == Major::k ? layout::hardware::Major::k : layout::hardware::Major::mn;
};

}  // namespace warpfold::hopper
