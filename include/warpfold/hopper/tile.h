// Typed tiles: the only way in which kernels touch operands in shared memory. A Tile is a TileShape at a
// shared address; it yields descriptors for WGMMA, addresses for ldmatrix and stmatrix, and the TMA copies
// that fill and empty it.
#pragma once

#include "warpfold/hopper/hopper.h"
#include "warpfold/hopper/tile_shape.h"

namespace warpfold::hopper {
inline namespace WF_TARGET {

// The chip's swizzle: exchanges the 16-byte units of a span by the number of the 128-byte row.
template <SwizzleMode kSwizzle>
WF_ATOM uint32_t swizzled(uint32_t address) {
  constexpr uint32_t mask = (1u << int(kSwizzle)) - 1;
  return address ^ (address >> 7 & mask) << 4;
}

template <class ShapeType>
struct Tile {
  using Shape = ShapeType;
  uint32_t address;  // shared, a multiple of Shape::alignment

  // Descriptor of the operand that starts at row mn_begin and the first step of K. In a cluster a shared address has the
  // block's rank from bit 24 on, which would run into LBO: the start is the lower 18 bits.
  WF_ATOM uint64_t descriptor(int mn_begin = 0) const {
    constexpr uint64_t base = Shape::descriptor_base();
    return base + (((address + Shape::operand_offset(mn_begin, 0)) & 0x3FFFF) >> 4);
  }
  // What to add to a descriptor for an operand `mn` rows and `step` steps of K further on.
  WF_ATOM static constexpr uint64_t descriptor_step(int mn, int step) {
    return Shape::operand_offset(mn, step) >> 4;
  }
  // Address of element (row, x), x along the contiguous mode: a multiple of 16 bytes there.
  WF_ATOM uint32_t element(int row, int x) const {
    return swizzled<Shape::swizzle>(address + Shape::offset(row, x));
  }
  // Fills the tile from (row, x) of the map's matrix; `bytes` arrive at the barrier. `outer` are the map's
  // coordinates beyond the matrix, as a batch.
  template <class... Outer>
  WF_ATOM void load(const TensorMap& map, Barrier b, int row, int x, Outer... outer) const {
    WF_UNROLL
    for (int c = 0; c < Shape::columns; ++c)
      tma_load(address + uint32_t(c * Shape::column_bytes), map, b, x + c * Shape::across, row, outer...);
  }
  // Fills the tile by a map of rows (8, 2, groups) instead of rows: 8 rows of a first matrix, 8 of a second, the
  // next 8 of the first, and so on, from group `group` of both.
  WF_ATOM void load_alternating(const TensorMap& map, Barrier b, int group, int x, int batch) const {
    WF_UNROLL
    for (int c = 0; c < Shape::columns; ++c)
      tma_load(address + uint32_t(c * Shape::column_bytes), map, b, x + c * Shape::across, 0, 0, group, batch);
  }
  // Fills rows [first, first + box rows of the map) of this tile in every block of `mask`.
  template <class... Outer>
  WF_ATOM void load_rows_multicast(const TensorMap& map, Barrier b, uint16_t mask, int first, int row, int x,
                                   Outer... outer) const {
    WF_UNROLL
    for (int c = 0; c < Shape::columns; ++c)
      tma_load_multicast(address + uint32_t(c * Shape::column_bytes + first * Shape::span), map, b, mask,
                         x + c * Shape::across, row, outer...);
  }
  // Stores the tile to (row, x) of the map's matrix, in the thread's open bulk group.
  template <class... Outer>
  WF_ATOM void store(const TensorMap& map, int row, int x, Outer... outer) const {
    WF_UNROLL
    for (int c = 0; c < Shape::columns; ++c)
      tma_store(map, address + uint32_t(c * Shape::column_bytes), x + c * Shape::across, row, outer...);
  }
};

}  // namespace WF_TARGET
}  // namespace warpfold::hopper
