// Tensor maps: is a TMA transfer legal, and which tensor map moves a tile of a global layout?
//
// A tensor map describes a global tensor of 1 to 5 dimensions, dimension 0 contiguous, and a box of it. One
// instruction copies the box to shared memory in order, dimension 0 fastest, without gaps, its 16-byte units
// permuted by a swizzle. The rules are those of the driver's encoder (interleave none) and of the copy
// instruction:
// clang-format off
//   global address           a multiple of 16
//   sizes                    1 to 2^32
//   strides 1..              multiples of 16 bytes, below 2^40
//   box sizes                1 to 256; a row of the box is a multiple of 16 bytes, and at most the swizzle's span
//   element strides          1 to 8
//   shared address           a multiple of 128; under a swizzle of the pattern's 8 spans, since what reads the tile
//                            counts on it (the copy itself would take any multiple of 128)
//   first byte of the box    a multiple of 16 within dimension 0 (an H200 answers "illegal instruction" otherwise)
// clang-format on
#pragma once

#include "warpfold/layout/canonical.h"
#include "warpfold/layout/hardware/tile.h"

namespace warpfold::layout::hardware {

inline constexpr int max_tma_rank = 5;
inline constexpr int64_t max_shared_bytes = 227 * 1024;  // of a block

struct TensorMap {
  int rank = 1;
  int element_bytes = 2;
  SwizzleMode swizzle = SwizzleMode::none;
  int64_t address = 0;                                     // of element 0
  int64_t size[max_tma_rank] = {1, 1, 1, 1, 1};            // elements
  int64_t stride[max_tma_rank] = {1, 0, 0, 0, 0};          // elements; dimension 0 moves 1
  int64_t box[max_tma_rank] = {1, 1, 1, 1, 1};             // elements
  int64_t element_stride[max_tma_rank] = {1, 1, 1, 1, 1};  // of the box

  WF_HD constexpr int64_t box_elements() const {
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= ceil_div(box[i], element_stride[i]);
    return count;
  }
  WF_HD constexpr int64_t box_bytes() const { return box_elements() * element_bytes; }

  constexpr bool operator==(const TensorMap&) const = default;
};

// The first rule that the tensor map breaks.
WF_HD constexpr Why check(const TensorMap& t) {
  if (t.rank < 1 || t.rank > max_tma_rank) return broken(Rule::tma_rank, t.rank);
  if (t.element_bytes != 1 && t.element_bytes != 2 && t.element_bytes != 4 && t.element_bytes != 8)
    return broken(Rule::tma_element, t.element_bytes);
  if (t.address % 16 != 0) return broken(Rule::tma_address, floor_mod(t.address, 16));
  for (int i = 0; i < t.rank; ++i)
    if (t.size[i] < 1 || t.size[i] > int64_t{1} << 32) return broken(Rule::tma_size, i, t.size[i]);
  if (t.stride[0] != 1) return broken(Rule::tma_inner_stride, t.stride[0]);
  for (int i = 1; i < t.rank; ++i) {
    int64_t bytes = 0;
    const bool fits = checked_mul(t.stride[i], t.element_bytes, bytes);
    if (!fits || bytes < 0 || bytes >= int64_t{1} << 40)
      return broken(Rule::tma_stride_range, i, fits ? bytes : int64_largest);
    if (bytes % 16 != 0) return broken(Rule::tma_stride_multiple, i, bytes);
  }
  for (int i = 0; i < t.rank; ++i)
    if (t.box[i] < 1 || t.box[i] > 256) return broken(Rule::tma_box, i, t.box[i]);
  for (int i = 0; i < t.rank; ++i)
    if (t.element_stride[i] < 1 || t.element_stride[i] > 8)
      return broken(Rule::tma_element_stride, i, t.element_stride[i]);
  const int64_t row = t.box[0] * t.element_bytes;
  if (row % 16 != 0) return broken(Rule::tma_inner_box, t.box[0], t.element_bytes);
  if (t.swizzle != SwizzleMode::none && row > span_bytes(t.swizzle))
    return broken(Rule::tma_span, row, span_bytes(t.swizzle));
  if (t.box_bytes() > max_shared_bytes) return broken(Rule::tma_box_bytes, t.box_bytes(), max_shared_bytes);
  return {};
}

// May a box that starts at element `first` of dimension 0 be copied to (or from) shared address `shared`?
WF_HD constexpr Why check_box(const TensorMap& t, int64_t first, int64_t shared) {
  if (first != static_cast<int32_t>(first)) return broken(Rule::tma_box_coordinate, first);
  const int64_t byte = first * t.element_bytes;
  if (byte % 16 != 0) return broken(Rule::tma_box_start, byte);
  const int64_t multiple = t.swizzle == SwizzleMode::none ? 128 : pattern_bytes(t.swizzle);
  if (shared < 0 || shared % multiple != 0) return broken(Rule::tma_shared_address, shared, multiple);
  return {};
}

// A tensor map with the meaning of its dimensions: dimension i counts steps of `step[i]` along mode `mode[i]`
// of the global layout (indices inside the mode). Its box coordinate for a tile at index x of that mode is x
// / step[i] % size[i].
struct TileMap {
  TensorMap map;
  int mode[max_tma_rank] = {};
  int64_t step[max_tma_rank] = {};

  constexpr bool operator==(const TileMap&) const = default;
};

namespace detail {

// Dimensions while they are collected: more than a tensor map has, so that the refusal can say how many.
struct TmaDimension {
  int mode = 0;
  int64_t step = 1;    // along the global mode
  int64_t size = 1;    // of the tensor
  int64_t stride = 1;  // in global memory, elements
  int64_t box = 1;
  int64_t shared = 0;  // stride in the tile
};

struct TmaDimensions {
  TmaDimension list[2 * max_leaves] = {};
  int count = 0;
};

// Cuts mode m of the global layout into dimensions along which the tile has one stride each. Both are
// coalesced mode by mode. A tile mode that ends inside a global mode cuts it in two, and tiles must not
// straddle the cut, so its size divides what is left there; only the last piece of the last global mode may
// stick out.
WF_HD constexpr Why split_mode(const Layout& global, const Layout& tile, int m, TmaDimensions& dims) {
  const Layout whole = global.mode(m), part = tile.mode(m);
  int leaf = 0;
  int64_t left = whole.shape[0], stride = whole.stride[0], step = 1;  // of the current global mode
  const auto add = [&](int64_t size, int64_t box, int64_t shared) {
    dims.list[dims.count++] = TmaDimension{m, step, size, stride, box, shared};
  };
  const auto next_leaf = [&] {
    step *= left;
    if (++leaf >= whole.leaves()) return;
    left = whole.shape[leaf];
    stride = whole.stride[leaf];
  };
  for (int i = 0; i < part.leaves(); ++i) {
    int64_t rest = part.shape[i], shared = part.stride[i];
    while (rest > 1) {
      const bool last_leaf = leaf + 1 == whole.leaves(), whole_rest = rest <= left || last_leaf;
      const bool last_piece = whole_rest && i + 1 == part.leaves();
      const int64_t piece = whole_rest ? rest : left;
      if (!whole_rest && rest % left != 0) return broken(Rule::tma_tile_step, m, rest, step);
      if (whole_rest && left % piece != 0 && !(last_leaf && last_piece))
        return broken(Rule::tma_tile_divides, m, left, piece);
      add(last_piece ? left : piece, piece, shared);
      rest /= piece;
      if (last_piece) {
        next_leaf();
        continue;
      }
      left /= piece;
      step *= piece;
      // A product that does not fit is not needed: nothing is left to move along.
      checked_mul(shared, piece, shared);
      checked_mul(stride, piece, stride);
      if (left == 1 && !last_leaf) next_leaf();
    }
  }
  for (; leaf < whole.leaves(); next_leaf())  // where the tile does not reach
    if (left > 1) add(left, 1, 0);
  return {};
}

}  // namespace detail

// The tensor map that fills `tile` from a tensor with layout `global`: both have the same number of modes,
// and mode m of the tile takes consecutive elements of mode m of the global layout. The order of the box's
// dimensions is the order of the tile's strides, so a tile of several swizzle columns becomes one box of a
// dimension more:
//   (4096,4096):(4096,1), tile ((8,16),(64,2)):((64,512),(1,8192)) with Sw<3,4,3>
//   -> sizes (64,4096,64), strides (1,4096,64), box (64,128,2)
// A refusal says which rule of tensor maps, or of their gapless order, the tile breaks.
WF_HD constexpr Verdict<TileMap> tile_map(const Layout& global, const SharedTile& tile, int64_t address = 0) {
  const int modes = global.rank();
  if (tile.layout.rank() != modes)
    return illegal<TileMap>(broken(Rule::tma_tile_modes, modes, tile.layout.rank()));
  TileMap result;
  TensorMap& map = result.map;
  map.element_bytes = tile.element_bytes;
  map.address = address;
  if (!mode_of(tile.swizzle, map.swizzle))
    return illegal<TileMap>(
        broken(Rule::tma_swizzle, tile.swizzle.bits, tile.swizzle.base, tile.swizzle.shift));

  // Coalesced mode by mode: fewer dimensions, and a tile mode that runs on is seen to be one step.
  const Layout simple_global = coalesce_modes(global), simple_tile = coalesce_modes(tile.layout);
  detail::TmaDimensions dims;
  for (int m = 0; m < modes; ++m)
    if (const Why why = detail::split_mode(simple_global, simple_tile, m, dims); why.rule != Rule::none)
      return illegal<TileMap>(why);

  // Box dimensions by stride in the tile, then those that the box does not run along.
  int64_t written = 1;
  int rank = 0;
  bool used[2 * max_leaves] = {};
  int box_dims = 0;
  for (int i = 0; i < dims.count; ++i) box_dims += dims.list[i].box > 1 ? 1 : 0;
  for (; rank < dims.count; ++rank) {
    int next = -1;
    for (int i = 0; i < dims.count; ++i) {
      if (used[i] || (rank < box_dims) != (dims.list[i].box > 1)) continue;
      if (next < 0 || (rank < box_dims && dims.list[i].shared < dims.list[next].shared)) next = i;
    }
    const detail::TmaDimension& d = dims.list[next];
    if (rank < box_dims && d.shared != written)
      return illegal<TileMap>(broken(Rule::tma_tile_gap, written, d.shared));
    used[next] = true;
    written *= d.box;
    // Under a swizzle a row shorter than the span still takes one (an H200 was asked).
    if (rank == 0 && map.swizzle != SwizzleMode::none && written < span_bytes(map.swizzle) / map.element_bytes)
      written = span_bytes(map.swizzle) / map.element_bytes;
    if (rank >= max_tma_rank) continue;
    map.size[rank] = d.size;
    map.stride[rank] = d.stride;
    map.box[rank] = d.box;
    result.mode[rank] = d.mode;
    result.step[rank] = d.step;
  }
  map.rank = rank == 0 ? 1 : rank;
  if (const Why why = check(map); why.rule != Rule::none) return illegal<TileMap>(why);
  return legal(result);
}

}  // namespace warpfold::layout::hardware
