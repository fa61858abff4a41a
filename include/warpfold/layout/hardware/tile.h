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

struct SharedTile {
  Layout layout;    // coordinate -> element, unswizzled
  Swizzle swizzle;  // of byte offsets
  int element_bytes = 2;

  // Byte of the element at a coordinate or index.
  template <class... Coordinate>
  WF_HD constexpr int64_t byte(const Coordinate&... c) const {
    return swizzle(layout(c...) * element_bytes);
  }
  WF_HD constexpr int64_t bytes() const { return layout.cosize() * element_bytes; }

  constexpr bool operator==(const SharedTile&) const = default;
};

}  // namespace warpfold::layout::hardware
