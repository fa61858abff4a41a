// Coalescing of one warp-wide global-memory access: the 32-byte sectors and 128-byte lines that it touches.
// A sector is what moves between L2 and an SM, a line what the L1 cache tags; n bytes asked for in one piece
// need ceil(n / 32) sectors. The bytes used per sector moved is the access's efficiency.
#pragma once

#include "warpfold/layout/hardware/tile.h"

namespace warpfold::layout::hardware {

struct CoalescingReport {
  int sectors = 0;        // different 32-byte sectors touched
  int lines = 0;          // different 128-byte lines touched
  int ideal_sectors = 0;  // sectors that the asked bytes fill when they lie in one aligned piece
  int64_t bytes = 0;      // different bytes asked for

  constexpr bool operator==(const CoalescingReport&) const = default;
};

namespace detail {

// How many different values of x / unit are among the first `count` of x.
WF_HD constexpr int distinct(const int64_t* x, int count, int64_t unit) {
  int found = 0;
  for (int i = 0; i < count; ++i) {
    bool seen = false;
    for (int k = 0; k < i && !seen; ++k) seen = floor_div(x[k], unit) == floor_div(x[i], unit);
    found += seen ? 0 : 1;
  }
  return found;
}

}  // namespace detail

// Lane l of 32 asks for `width` bytes (1, 2, 4, 8 or 16) from byte_of_lane(l) on, relative to an address that
// is a multiple of 128.
template <class ByteOfLane>
WF_HD constexpr Verdict<CoalescingReport> coalescing(int width, const ByteOfLane& byte_of_lane) {
  if (width != 1 && width != 2 && width != 4 && width != 8 && width != 16)
    return illegal<CoalescingReport>(broken(Rule::access_width, width));
  int64_t byte[32] = {};
  for (int lane = 0; lane < 32; ++lane) {
    byte[lane] = byte_of_lane(lane);
    if (floor_mod(byte[lane], width) != 0)
      return illegal<CoalescingReport>(broken(Rule::access_misaligned, lane, width, byte[lane]));
  }
  CoalescingReport report;
  report.sectors = detail::distinct(byte, 32, 32);
  report.lines = detail::distinct(byte, 32, 128);
  report.bytes = int64_t{width} * detail::distinct(byte, 32, width);
  report.ideal_sectors = static_cast<int>(ceil_div(report.bytes, 32));
  return legal(report);
}

// Lane l asks for the bytes from element lanes(l) on.
WF_HD constexpr Verdict<CoalescingReport> coalescing(int width, const Layout& lanes, int element_bytes) {
  if (lanes.size() < 32) return illegal<CoalescingReport>(broken(Rule::access_lanes, 32, lanes.size()));
  if (const Why why = check_bytes(lanes, element_bytes); !why.none()) return illegal<CoalescingReport>(why);
  return coalescing(width, [&](int lane) { return lanes(lane) * element_bytes; });
}

}  // namespace warpfold::layout::hardware
