// A tile in shared memory: a layout that gives each coordinate its element, and a swizzle of the byte
// addresses.
//
// TMA and WGMMA know four swizzles, all with M = 4 and S = 3: 16-byte units, permuted inside a span of 16,
// 32, 64 or 128 bytes by the number of the 128-byte row. The chip applies them to the absolute shared
// address, so a tile starts on a multiple of the pattern's 8 spans for its offsets to be swizzled alike.
#pragma once

#include "warpfold/layout/hardware/verdict.h"
#include "warpfold/layout/swizzle.h"

namespace warpfold::layout::hardware {

enum class SwizzleMode : uint8_t { none, b32, b64, b128 };

// Bytes inside which a mode permutes its 16-byte units. Without a swizzle a unit stays alone.
WF_HD constexpr int64_t span_bytes(SwizzleMode mode) { return int64_t{16} << static_cast<int>(mode); }

// A swizzled tile starts on a multiple of this: the pattern repeats after 8 spans.
WF_HD constexpr int64_t pattern_bytes(SwizzleMode mode) {
  return mode == SwizzleMode::none ? 16 : 8 * span_bytes(mode);
}

WF_HD constexpr Swizzle swizzle_of(SwizzleMode mode) { return Swizzle{static_cast<int>(mode), 4, 3}; }

// The mode whose swizzle of byte addresses is s; a swizzle of no bits is `none` whatever its base and shift.
WF_HD constexpr bool mode_of(const Swizzle& s, SwizzleMode& mode) {
  mode = SwizzleMode::none;
  if (s.bits == 0) return true;
  if (s.bits < 0 || s.bits > 3 || s.base != 4 || s.shift != 3) return false;
  mode = static_cast<SwizzleMode>(s.bits);
  return true;
}

// Sw on elements of 2^k bytes as Sw on bytes: the base grows by k.
WF_HD constexpr Swizzle on_bytes(Swizzle elements, int element_bytes) {
  for (; element_bytes > 1; element_bytes /= 2) ++elements.base;
  return elements;
}

// Do the offsets of l fit 64 bits in bytes?
WF_HD constexpr Why check_bytes(const Layout& l, int element_bytes) {
  int64_t low = 0, high = 0, extent = 0;
  const bool fits = checked_mul(l.lowest(), element_bytes, low) &&
                    checked_mul(l.highest(), element_bytes, high) && low != int64_lowest &&
                    checked_add(high, -low, extent);
  return fits ? Why{} : broken(Rule::bytes_overflow, l.lowest(), l.highest(), element_bytes);
}

// One past the largest Sw(x) for 0 <= x < bytes. A swizzle permutes blocks of 2^(M+B) bytes (for S < 0 of 2^(M+B-S)) in
// themselves, so only the last block, x = c + r with r <= most, can reach past `bytes`: for S >= 0 all its r are xored
// with one number w, and the largest r ^ w is found bit by bit, r below `most` being free from the first bit it leaves.
WF_HD constexpr int64_t swizzled_extent(const Swizzle& s, int64_t bytes) {
  if (s.bits == 0 || bytes <= 0) return bytes;
  const int64_t block = int64_t{1} << (s.base + s.bits + (s.shift < 0 ? -s.shift : 0));
  const int64_t most = (bytes - 1) % block, c = bytes - 1 - most, w = s(c) ^ c;
  if (s.shift < 0) return c + block;
  int64_t largest = 0;
  bool below = false;  // is the r that is being built already less than `most`?
  for (int64_t bit = block / 2; bit > 0; bit /= 2) {
    const bool can_be_1 = below || (most & bit) != 0, one = (w & bit) == 0 && can_be_1;
    largest |= (one ? bit : 0) ^ (w & bit);
    below = below || (!one && (most & bit) != 0);
  }
  return c + largest + 1;
}

struct SharedTile {
  Layout layout;    // coordinate -> element, unswizzled
  Swizzle swizzle;  // of byte offsets
  int element_bytes = 2;

  // Byte of the element at a coordinate or index.
  template <class... Coordinate>
  WF_HD constexpr int64_t byte(const Coordinate&... c) const {
    return swizzle(layout(c...) * element_bytes);
  }
  // The bytes that the tile takes from its start: for a swizzled one, as if it had every offset below its cosize.
  WF_HD constexpr int64_t bytes() const { return swizzled_extent(swizzle, layout.cosize() * element_bytes); }

  constexpr bool operator==(const SharedTile&) const = default;
};

}  // namespace warpfold::layout::hardware
