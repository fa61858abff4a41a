// Bank conflicts of one warp-wide shared-memory access.
//
// Shared memory has 32 banks; the 4-byte word w lies in bank w mod 32. The chip serves an access phase by
// phase, so that a phase asks for at most 128 bytes: the whole warp for 4-byte accesses, each half for 8
// bytes, each quarter for 16 bytes, and the 8 row addresses of each 8x8 matrix for ldmatrix and stmatrix. A
// bank gives one word per wavefront; lanes that ask for the same word share it. Hence
//   wavefronts(phase) = max over banks of the number of different words asked of that bank.
// Counting a 16-byte access as if all 32 lanes came together would call the conflict-free case 4-way
// conflicting.
//
// On an H200 an access takes 1.00 to 1.09 cycles a wavefront of this count, for loads, stores, ldmatrix and
// stmatrix, with and without conflicts (tests/layout/hardware/records). One case is faster than counted: 8-
// and 16-byte loads in which lanes 2i and 2i+1 ask for one address take half the phases; the count is then an
// upper bound.
#pragma once

#include "warpfold/layout/hardware/tile.h"

namespace warpfold::layout::hardware {

enum class SharedAccess : uint8_t { b32, b64, b128, matrix_x1, matrix_x2, matrix_x4 };

// Who takes part: `lanes` addresses of `bytes` bytes each, `per_phase` of them at a time.
struct AccessShape {
  int lanes, bytes, per_phase;
  WF_HD constexpr int phases() const { return lanes / per_phase; }
};

// ldmatrix and stmatrix take a row address from 8 lanes for each matrix: lanes 0-7 the first, 8-15 the
// second, ...
WF_HD constexpr AccessShape shape_of(SharedAccess access) {
  switch (access) {
    case SharedAccess::b32:
      return {32, 4, 32};
    case SharedAccess::b64:
      return {32, 8, 16};
    case SharedAccess::b128:
      return {32, 16, 8};
    case SharedAccess::matrix_x1:
      return {8, 16, 8};
    case SharedAccess::matrix_x2:
      return {16, 16, 8};
    case SharedAccess::matrix_x4:
      return {32, 16, 8};
  }
  return {32, 4, 32};
}

constexpr std::string_view name_of(SharedAccess access) {
  switch (access) {
    case SharedAccess::b32:
      return "32-bit";
    case SharedAccess::b64:
      return "64-bit";
    case SharedAccess::b128:
      return "128-bit";
    case SharedAccess::matrix_x1:
      return "ldmatrix.x1";
    case SharedAccess::matrix_x2:
      return "ldmatrix.x2";
    case SharedAccess::matrix_x4:
      return "ldmatrix.x4";
  }
  return "";
}

struct BankReport {
  int phases = 0;
  int wavefronts[4] = {};  // of each phase
  int total = 0;           // of the access
  int degree = 0;          // of the worst phase: n-way
  int ideal = 0;           // total without conflicts: one a phase
  int worst_phase = 0;
  int worst_bank = 0;  // a bank in which that phase asks for `degree` words

  constexpr bool operator==(const BankReport&) const = default;
};

// The wavefronts of `lanes` addresses of `bytes` bytes that are served together; `bank` is a worst one.
WF_HD constexpr int wavefronts_of_phase(const int64_t* address, int lanes, int bytes, int& bank) {
  constexpr int banks = 32;
  int64_t words[banks] = {};  // of all banks together: at most 32 in a phase
  int count = 0, in_bank[banks] = {}, worst = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    for (int64_t word = address[lane] / 4, end = word + bytes / 4; word < end; ++word) {
      bool seen = false;
      for (int i = 0; i < count && !seen; ++i) seen = words[i] == word;
      if (seen) continue;
      words[count++] = word;
      const int here = static_cast<int>(word % banks);
      if (++in_bank[here] > worst) {
        worst = in_bank[here];
        bank = here;
      }
    }
  }
  return worst;
}

// The conflicts of the access in which lane l asks for the bytes from `byte_of_lane(l)` on.
template <class ByteOfLane>
WF_HD constexpr Verdict<BankReport> bank_conflicts(SharedAccess access, const ByteOfLane& byte_of_lane) {
  const AccessShape shape = shape_of(access);
  int64_t address[32] = {};
  for (int lane = 0; lane < shape.lanes; ++lane) {
    address[lane] = byte_of_lane(lane);
    if (address[lane] < 0) return illegal<BankReport>(broken(Rule::access_negative, lane, address[lane]));
    if (address[lane] % shape.bytes != 0)
      return illegal<BankReport>(broken(Rule::access_misaligned, lane, shape.bytes, address[lane]));
  }
  BankReport report;
  report.phases = report.ideal = shape.phases();
  for (int phase = 0; phase < report.phases; ++phase) {
    int bank = 0;
    const int waves =
        wavefronts_of_phase(address + phase * shape.per_phase, shape.per_phase, shape.bytes, bank);
    report.wavefronts[phase] = waves;
    report.total += waves;
    if (waves <= report.degree) continue;
    report.degree = waves;
    report.worst_phase = phase;
    report.worst_bank = bank;
  }
  return legal(report);
}

// The access of a tile in which lane l asks for the bytes from element lanes(l) of the unswizzled tile on.
struct LaneBytes {
  Layout lanes;  // lane -> element offset in the tile
  Swizzle swizzle;
  int element_bytes = 2;
  int64_t start = 0;  // byte offset added before the swizzle

  WF_HD constexpr int64_t operator()(int lane) const { return swizzle(start + lanes(lane) * element_bytes); }
};

WF_HD constexpr Verdict<BankReport> bank_conflicts(SharedAccess access, const Layout& lanes,
                                                   const Swizzle& swizzle, int element_bytes,
                                                   int64_t start = 0) {
  if (lanes.size() < shape_of(access).lanes)
    return illegal<BankReport>(broken(Rule::access_lanes, shape_of(access).lanes, lanes.size()));
  if (const Why why = check_bytes(lanes, element_bytes); !why.none()) return illegal<BankReport>(why);
  int64_t low = start, high = start;
  if (!checked_mul_add(lanes.lowest(), element_bytes, low) ||
      !checked_mul_add(lanes.highest(), element_bytes, high))
    return illegal<BankReport>(broken(Rule::access_start, start));
  return bank_conflicts(access, LaneBytes{lanes, swizzle, element_bytes, start});
}

}  // namespace warpfold::layout::hardware
