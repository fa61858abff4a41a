// Operand tiles of WGMMA in shared memory: the canonical layouts, and the 64-bit descriptor of a given tile.
//
// An operand is a matrix (MN, K): MN is M for A and N for B. The instruction reads it in units of 16 bytes
// that lie along K (K-major) or along MN (MN-major, 16-bit types only), and takes 32 bytes of K: 16, 32 or 8
// elements of 16, 8 or 32 bits. With span = 16, 32, 64 or 128 bytes, E = span / element and T = 16 / element
// it reads element (i,k) at
//   K-major, swizzled   start + i%8 * span + i/8 * SBO + k * element                      then Sw<B,4,3>
//   K-major, no swizzle start + i%8 * 16   + i/8 * SBO + k%T * element + k/T * LBO
//   MN-major, swizzled  start + i%E * element + i/E * LBO + k%8 * span + k/8 * SBO        then Sw<B,4,3>
//   MN-major, none      start + i%T * element + i/T * SBO + k%8 * 16   + k/8 * LBO
// so the four patterns are layouts with two free strides, LBO and SBO. A tile is canonical where its own
// function equals one of them; a tile longer than one instruction is read in steps whose descriptors differ
// in the start.
#pragma once

#include "warpfold/layout/hardware/tile.h"

namespace warpfold::layout::hardware {

enum class Major : uint8_t { k, mn };

// Elements of K that one wgmma takes.
WF_HD constexpr int64_t wgmma_k(int element_bytes) { return 32 / element_bytes; }

// Is there a wgmma of this N? Multiples of 8 up to 256; for integers 24 and multiples of 16 from 32 on.
WF_HD constexpr bool wgmma_has_n(int64_t n, bool integers) {
  if (n < 8 || n > 256 || n % 8 != 0) return false;
  return !integers || n <= 24 || n % 16 == 0;
}

// Bytes that the fields of a descriptor reach.
inline constexpr int64_t shared_window = int64_t{1} << 18;

struct WgmmaDescriptor {
  uint64_t bits = 0;
  SwizzleMode mode = SwizzleMode::none;
  int64_t start = 0;          // shared address of the first element, in bytes
  int64_t leading_bytes = 0;  // LBO; 16 where the instruction does not read it
  int64_t stride_bytes = 0;   // SBO
  int base_offset = 0;        // number of the 128-byte row in which the swizzle pattern starts

  constexpr bool operator==(const WgmmaDescriptor&) const = default;
};

// Fields in units of 16 bytes: start in bits 0-13, LBO 16-29, SBO 32-45; base offset 49-51; mode 62-63.
WF_HD constexpr uint64_t encode(const WgmmaDescriptor& d) {
  constexpr uint64_t field = 0x3FFF;
  const uint64_t mode = d.mode == SwizzleMode::none ? 0 : 4 - static_cast<uint64_t>(d.mode);
  return (static_cast<uint64_t>(d.start) >> 4 & field) |
         (static_cast<uint64_t>(d.leading_bytes) >> 4 & field) << 16 |
         (static_cast<uint64_t>(d.stride_bytes) >> 4 & field) << 32 |
         static_cast<uint64_t>(d.base_offset) << 49 | mode << 62;
}

namespace detail {

WF_HD constexpr Why wgmma_type(int element_bytes, Major major) {
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4)
    return broken(Rule::wgmma_element, 8 * element_bytes);
  if (major == Major::mn && element_bytes != 2) return broken(Rule::wgmma_major, 8 * element_bytes);
  return {};
}

// One of a tile's two modes as the descriptor reads it: blocks of `block` elements that lie `step` bytes
// apart inside a group of `group` blocks, and groups `far` bytes apart. `far` is free and read off the tile;
// `far_used` tells whether it occurs.
struct DescriptorMode {
  int64_t block, group, step;
  int64_t far = 0;
  bool far_used = false;

  WF_HD constexpr int64_t operator()(int64_t x, int64_t element_bytes) const {
    const int64_t b = x / block;
    return x % block * element_bytes + b % group * step + b / group * far;
  }
};

// Does mode `m` of the tile follow `d` on [begin, begin + extent)? Reads d.far off the tile, which is the
// stride (1) or the leading (0) byte offset.
WF_HD constexpr Why follows(const SharedTile& tile, int m, int64_t begin, int64_t extent, int which,
                            DescriptorMode& d) {
  const Layout mode = tile.layout.mode(m);
  const int64_t origin = mode(begin);
  const int64_t period = d.block * d.group;
  if (extent > period && !d.far_used) {
    d.far = (mode(begin + period) - origin) * tile.element_bytes;
    d.far_used = true;
    if (d.far < 0 || d.far >= shared_window) return broken(Rule::wgmma_stride, which, d.far);
  }
  for (int64_t x = 1; x < extent; ++x) {
    const int64_t have = (mode(begin + x) - origin) * tile.element_bytes, want = d(x, tile.element_bytes);
    if (have == want) continue;
    const int64_t i = m == 0 ? begin + x : 0, k = m == 1 ? begin + x : 0;
    if (x < d.block && d.block > 1) {
      const int64_t last = begin + d.block - 1;
      return broken(Rule::wgmma_unit, m == 0 ? begin : 0, m == 1 ? begin : 0, m == 0 ? last : 0,
                    m == 1 ? last : 0);
    }
    return broken(Rule::wgmma_pattern, i, k, have + origin * tile.element_bytes,
                  want + origin * tile.element_bytes);
  }
  return {};
}

struct DescriptorModes {
  DescriptorMode mn, k;
};

// The two modes with their fixed strides, from the table at the top.
WF_HD constexpr DescriptorModes descriptor_modes(Major major, SwizzleMode mode, int64_t element_bytes) {
  const int64_t span = span_bytes(mode), unit = 16 / element_bytes, units = span / 16;
  if (major == Major::k) {
    if (mode == SwizzleMode::none) return {{1, 8, 16}, {unit, 1, 0}};
    // All of K in one instruction lies in one row of the span: two units 16 bytes apart.
    return {{1, 8, span}, {unit, 2, 16}};
  }
  if (mode == SwizzleMode::none) return {{unit, 1, 0}, {1, 8, 16}};
  return {{unit, units, 16}, {1, 8, span}};
}

// Which offset the free stride of MN is. K-major: SBO leads from 8 rows to the next. MN-major: swizzled, SBO leads from
// 8 k to the next; else LBO does.
WF_HD constexpr bool mn_is_stride(Major major, SwizzleMode mode) {
  return major == Major::k || mode == SwizzleMode::none;
}

WF_HD constexpr Why descriptor_stride(int which, int64_t bytes) {
  if (bytes % 16 != 0 || bytes < 0 || bytes >= shared_window) return broken(Rule::wgmma_stride, which, bytes);
  return {};
}

}  // namespace detail

// The canonical tile of mn x k elements in which whole swizzle patterns follow one another along the mode
// that is not contiguous, and the columns (K-major) or rows (MN-major) of one span lie behind each other: the
// image that TMA writes for boxes of one span x all of the other mode.
//   K-major  ((8,mn/8),(E,k/E)):((E,8E),(1,mn*E))      MN-major  ((E,mn/E),(8,k/8)):((1,k*E),(E,8E))
WF_HD constexpr Verdict<SharedTile> canonical_tile(Major major, SwizzleMode mode, int element_bytes,
                                                   int64_t mn, int64_t k) {
  if (const Why why = detail::wgmma_type(element_bytes, major); why.rule != Rule::none)
    return illegal<SharedTile>(why);
  const int64_t e = span_bytes(mode) / element_bytes, step = wgmma_k(element_bytes);
  const int64_t mn_multiple = major == Major::k || e < 8 ? 8 : e;
  const int64_t k_multiple = major == Major::mn || e < step ? step : e;
  if (mn <= 0 || mn % mn_multiple != 0) return illegal<SharedTile>(broken(Rule::wgmma_mn, mn, mn_multiple));
  if (k <= 0 || k % k_multiple != 0) return illegal<SharedTile>(broken(Rule::wgmma_k, k, k_multiple, step));
  int64_t elements = 0;
  if (!checked_mul(mn, k, elements) || elements > int64_largest / element_bytes)
    return illegal<SharedTile>(broken(Rule::wgmma_bytes, mn, k));
  LayoutBuilder b;
  const auto mode_of_two = [&b](int64_t s0, int64_t d0, int64_t s1, int64_t d1) {
    b.begin();
    b.add(s0, d0);
    b.add(s1, d1);
    b.end();
  };
  b.begin();
  if (major == Major::k) {
    mode_of_two(8, e, mn / 8, 8 * e);
    mode_of_two(e, 1, k / e, mn * e);
  } else {
    mode_of_two(e, 1, mn / e, k * e);
    mode_of_two(8, e, k / 8, 8 * e);
  }
  b.end();
  SharedTile tile;
  tile.layout = b.layout();
  tile.swizzle = swizzle_of(mode);
  tile.element_bytes = element_bytes;
  return legal(tile);
}

// What one wgmma reads of a tile: rows [mn_begin, mn_begin + mn) and one step of K from k_begin on.
struct WgmmaPart {
  int64_t mn_begin = 0, mn = 64, k_begin = 0;
};

// The descriptor of one instruction's part of a tile that starts at shared address `address`. The tile is
// swizzled relative to its own start: where that is no multiple of the pattern, the base offset says in which
// row the pattern starts.
WF_HD constexpr Verdict<WgmmaDescriptor> wgmma_descriptor(const SharedTile& tile, Major major,
                                                          int64_t address, const WgmmaPart& part) {
  using Result = Verdict<WgmmaDescriptor>;
  const auto no = [](const Why& why) -> Result { return illegal<WgmmaDescriptor>(why); };
  if (const Why why = detail::wgmma_type(tile.element_bytes, major); why.rule != Rule::none) return no(why);
  WgmmaDescriptor d;
  if (!mode_of(tile.swizzle, d.mode))
    return no(broken(Rule::wgmma_swizzle, tile.swizzle.bits, tile.swizzle.base, tile.swizzle.shift));
  if (tile.layout.rank() != 2) return no(broken(Rule::wgmma_modes, tile.layout.rank()));
  const int64_t step = wgmma_k(tile.element_bytes);
  const Layout mn_mode = tile.layout.mode(0), k_mode = tile.layout.mode(1);
  if (part.mn < 8 || part.mn > 256 || part.mn % 8 != 0) return no(broken(Rule::wgmma_rows, part.mn));
  if (part.mn_begin < 0 || part.mn_begin > mn_mode.size() - part.mn)
    return no(broken(Rule::wgmma_part, part.mn_begin, part.mn, mn_mode.size()));
  if (part.k_begin < 0 || part.k_begin > k_mode.size() - step)
    return no(broken(Rule::wgmma_part, part.k_begin, step, k_mode.size()));
  if (const Why why = check_bytes(tile.layout, tile.element_bytes); !why.none()) return no(why);

  const bool mn_is_stride = detail::mn_is_stride(major, d.mode);
  detail::DescriptorModes modes = detail::descriptor_modes(major, d.mode, tile.element_bytes);
  for (const int m :
       {major == Major::k ? 1 : 0, major == Major::k ? 0 : 1}) {  // first the mode of the 16-byte units
    const int which = (m == 0) == mn_is_stride ? 1 : 0;
    const Why why = m == 0 ? detail::follows(tile, 0, part.mn_begin, part.mn, which, modes.mn)
                           : detail::follows(tile, 1, part.k_begin, step, which, modes.k);
    if (why.rule != Rule::none) return no(why);
  }

  const detail::DescriptorMode& stride = mn_is_stride ? modes.mn : modes.k;
  const detail::DescriptorMode& leading = mn_is_stride ? modes.k : modes.mn;
  d.stride_bytes = stride.far_used ? stride.far : pattern_bytes(d.mode);
  d.leading_bytes = leading.far_used ? leading.far : 16;
  if (const Why why = detail::descriptor_stride(0, d.leading_bytes); why.rule != Rule::none) return no(why);
  if (const Why why = detail::descriptor_stride(1, d.stride_bytes); why.rule != Rule::none) return no(why);

  d.start = address + (mn_mode(part.mn_begin) + k_mode(part.k_begin)) * tile.element_bytes;
  if (d.start % 16 != 0 || d.start < 0 || d.start >= shared_window)
    return no(broken(Rule::wgmma_start, d.start));
  if (d.mode != SwizzleMode::none && address % pattern_bytes(d.mode) != 0) {
    if (address % 128 != 0) return no(broken(Rule::wgmma_base_offset, address, 128));
    d.base_offset = static_cast<int>(address >> 7 & 7);
  }
  d.bits = encode(d);
  return legal(d);
}

// A whole tile as an operand: blocks of `mn` rows times steps of K, all with the same mode, LBO and SBO.
struct WgmmaOperand {
  WgmmaDescriptor first;
  int64_t mn = 0;      // rows of a block
  int64_t blocks = 0;  // along MN
  int64_t steps = 0;   // along K

  constexpr bool operator==(const WgmmaOperand&) const = default;
};

// Is every block and step of the tile canonical with one LBO and SBO? `mn` = 0 takes all rows as one block, if one
// instruction reads as many: M is 64, N at most 256.
WF_HD constexpr Verdict<WgmmaOperand> wgmma_operand(const SharedTile& tile, Major major, int64_t address,
                                                    int64_t mn = 0) {
  if (tile.layout.rank() != 2) return illegal<WgmmaOperand>(broken(Rule::wgmma_modes, tile.layout.rank()));
  if (const Why why = detail::wgmma_type(tile.element_bytes, major); why.rule != Rule::none)
    return illegal<WgmmaOperand>(why);
  const int64_t rows = tile.layout.mode(0).size(), columns = tile.layout.mode(1).size();
  const int64_t step = wgmma_k(tile.element_bytes);
  WgmmaOperand operand;
  operand.mn = mn == 0 ? rows : mn;
  if (mn == 0 && rows % 8 != 0) return illegal<WgmmaOperand>(broken(Rule::wgmma_mn, rows, 8));
  if (operand.mn < 8 || operand.mn > 256 || operand.mn % 8 != 0)
    return illegal<WgmmaOperand>(broken(Rule::wgmma_rows, operand.mn, mn == 0 ? 1 : 0));
  if (rows % operand.mn != 0) return illegal<WgmmaOperand>(broken(Rule::wgmma_mn, rows, operand.mn));
  if (columns % step != 0) return illegal<WgmmaOperand>(broken(Rule::wgmma_k, columns, step, step));
  if (tile.layout.size() > shared_window / tile.element_bytes)
    return illegal<WgmmaOperand>(broken(Rule::wgmma_bytes, rows, columns));
  operand.blocks = rows / operand.mn;
  operand.steps = columns / step;
  const Verdict<WgmmaDescriptor> first = wgmma_descriptor(tile, major, address, {0, operand.mn, 0});
  if (!first) return illegal<WgmmaOperand>(first.why);
  operand.first = *first;
  // The two modes add up, so blocks and steps can be checked one after the other.
  for (int64_t i = 1; i < operand.blocks + operand.steps - 1; ++i) {
    const bool along_mn = i < operand.blocks;
    const WgmmaPart part{along_mn ? i * operand.mn : 0, operand.mn,
                         along_mn ? 0 : (i - operand.blocks + 1) * step};
    const Verdict<WgmmaDescriptor> d = wgmma_descriptor(tile, major, address, part);
    if (!d) return illegal<WgmmaOperand>(d.why);
    if (d->stride_bytes != first->stride_bytes || d->leading_bytes != first->leading_bytes) {
      // The element to which that offset leads from the start of the part.
      const bool leading = d->leading_bytes != first->leading_bytes;
      const bool in_mn = leading != detail::mn_is_stride(major, d->mode);
      const detail::DescriptorModes modes = detail::descriptor_modes(major, d->mode, tile.element_bytes);
      const int64_t x = part.mn_begin + (in_mn ? modes.mn.block * modes.mn.group : 0);
      const int64_t y = part.k_begin + (in_mn ? 0 : modes.k.block * modes.k.group);
      const int64_t lies = (tile.layout.mode(0)(x) + tile.layout.mode(1)(y)) * tile.element_bytes;
      const int64_t wrong = leading ? d->leading_bytes - first->leading_bytes : d->stride_bytes - first->stride_bytes;
      return illegal<WgmmaOperand>(broken(Rule::wgmma_pattern, x, y, lies, lies - wrong));
    }
  }
  return legal(operand);
}

// The bits of the descriptor of block `block` and step `step` of an operand: only the start address moves.
WF_HD constexpr uint64_t descriptor_bits(const WgmmaOperand& operand, const SharedTile& tile, int64_t block,
                                         int64_t step) {
  WgmmaDescriptor d = operand.first;
  const int64_t k = step * wgmma_k(tile.element_bytes);
  d.start += (tile.layout.mode(0)(block * operand.mn) + tile.layout.mode(1)(k)) * tile.element_bytes;
  return encode(d);
}

}  // namespace warpfold::layout::hardware
