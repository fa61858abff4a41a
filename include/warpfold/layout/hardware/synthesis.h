// Swizzle synthesis: given how a tile is written and read, the swizzle or padding with the fewest wavefronts.
//
// The search is exhaustive, so the counts in the result are the proof. Candidates, in this order, and the
// first of those with the fewest wavefronts wins:
//   1. the plain tile
//   2. the swizzles that TMA applies when it writes the tile as one box: Sw<1..3,4,3> with rows of at most
//   the span
//   3. every other Sw<B,M,S>, by B, then M, then S: units of 2^M bytes at least as wide as the widest access,
//   so that
//      an access stays in one piece; S >= B, so that the map is its own inverse; M + B <= 7, because only
//      bits 2 to 6 of an address choose a bank; and 2^(M+B) divides the tile, so that it is permuted inside
//      itself
//   4. padding: rows p bytes further apart, p a multiple of the widest access up to 128, smallest first. It
//   costs
//      memory, and TMA cannot write it
#pragma once

#include "warpfold/layout/hardware/banks.h"

namespace warpfold::layout::hardware {

inline constexpr int max_tile_patterns = 8;
inline constexpr int64_t max_pattern_lanes = int64_t{1} << 18;  // of all patterns together: bounds the work
inline constexpr int64_t max_pattern_weight = int64_t{1} << 32;

// One way in which a warp goes over the tile. Mode 0 of `lanes` are the lanes that give addresses, further
// modes are the instructions, one after the other: (lane, instruction) -> byte offset in the plain tile.
struct TilePattern {
  SharedAccess access = SharedAccess::b128;
  Layout lanes;
  int64_t weight = 1;  // how often the pattern occurs, relative to the others

  constexpr bool operator==(const TilePattern&) const = default;
};

struct Arrangement {
  Swizzle swizzle;      // of byte offsets; no bits where the tile is plain or padded
  int64_t padding = 0;  // bytes after each row
  bool tma = false;     // TMA can write the tile like this, as one box

  WF_HD constexpr int64_t operator()(int64_t byte, int64_t row_bytes) const {
    return swizzle(padding == 0 ? byte : byte / row_bytes * (row_bytes + padding) + byte % row_bytes);
  }
  constexpr bool operator==(const Arrangement&) const = default;
};

struct Synthesis {
  Arrangement best;
  int64_t wavefronts = 0;                   // of all patterns, weighted
  int64_t plain = 0;                        // the same for the plain tile
  int64_t ideal = 0;                        // the same without any conflict
  int64_t best_of[max_tile_patterns] = {};  // unweighted, of each pattern
  int64_t plain_of[max_tile_patterns] = {};
  int64_t ideal_of[max_tile_patterns] = {};
  int64_t candidates = 0;  // examined

  constexpr bool operator==(const Synthesis&) const = default;
};

namespace detail {

// Wavefronts of one pattern in one arrangement, and their count without conflicts.
WF_HD constexpr Why pattern_wavefronts(const TilePattern& pattern, const Arrangement& arrangement,
                                       int64_t row_bytes, int64_t& wavefronts, int64_t& ideal) {
  const int lanes = shape_of(pattern.access).lanes;
  wavefronts = ideal = 0;
  for (int64_t first = 0; first < pattern.lanes.size(); first += lanes) {
    const auto report = bank_conflicts(
        pattern.access, [&](int lane) { return arrangement(pattern.lanes(first + lane), row_bytes); });
    if (!report) return report.why;
    wavefronts += report->total;
    ideal += report->ideal;
  }
  return {};
}

// Keeps the better arrangement.
struct Search {
  int64_t row_bytes;
  const TilePattern* patterns;
  int count;
  Synthesis result = {};

  // `Rule::none`, or why the arrangement is impossible.
  WF_HD constexpr Why consider(const Arrangement& candidate) {
    int64_t total = 0, of[max_tile_patterns] = {}, ideal[max_tile_patterns] = {};
    const bool first = result.candidates == 0;
    for (int i = 0; i < count; ++i) {
      const Why why = pattern_wavefronts(patterns[i], candidate, row_bytes, of[i], ideal[i]);
      if (why.rule != Rule::none) return why;
      total += patterns[i].weight * of[i];
      if (first) result.ideal += patterns[i].weight * ideal[i];
    }
    ++result.candidates;
    if (!first && total >= result.wavefronts) return {};
    result.best = candidate;
    result.wavefronts = total;
    for (int i = 0; i < count; ++i) {
      result.best_of[i] = of[i];
      if (!first) continue;
      result.plain_of[i] = of[i];
      result.ideal_of[i] = ideal[i];
    }
    if (first) result.plain = total;
    return {};
  }
};

}  // namespace detail

// The best arrangement of a row-major tile of `rows` rows of `row_bytes` bytes for the patterns together.
WF_HD constexpr Verdict<Synthesis> synthesise(int64_t rows, int64_t row_bytes, const TilePattern* patterns,
                                              int count) {
  if (count < 1 || count > max_tile_patterns)
    return illegal<Synthesis>(broken(Rule::synthesis_patterns, count, max_tile_patterns));
  if (rows < 1 || row_bytes < 1 || rows > (int64_t{1} << 18) / row_bytes)
    return illegal<Synthesis>(broken(Rule::synthesis_size, rows, row_bytes));
  const int64_t bytes = rows * row_bytes;
  int64_t all_lanes = 0;
  int widest = 2;  // log2 of the widest access
  for (int i = 0; i < count; ++i) {
    const AccessShape shape = shape_of(patterns[i].access);
    const Layout& lanes = patterns[i].lanes;
    if (lanes.size() % shape.lanes != 0)
      return illegal<Synthesis>(broken(Rule::access_lanes, shape.lanes, lanes.size()));
    if (lanes.size() > max_pattern_lanes - all_lanes)
      return illegal<Synthesis>(broken(Rule::synthesis_lanes, i, lanes.size(), max_pattern_lanes));
    all_lanes += lanes.size();
    if (patterns[i].weight < 0 || patterns[i].weight > max_pattern_weight)
      return illegal<Synthesis>(broken(Rule::synthesis_weight, i, patterns[i].weight, max_pattern_weight));
    if (lanes.lowest() < 0 || lanes.highest() > bytes - shape.bytes)
      return illegal<Synthesis>(broken(Rule::synthesis_outside, i,
                                       lanes.lowest() < 0 ? lanes.lowest() : lanes.highest(), shape.bytes,
                                       bytes));
    while (int64_t{1} << widest < shape.bytes) ++widest;
  }

  detail::Search search{row_bytes, patterns, count};
  const auto by_tma = [&](const Swizzle& s) {
    SwizzleMode mode{};
    return mode_of(s, mode) && row_bytes % 16 == 0 &&
           (mode == SwizzleMode::none || row_bytes <= span_bytes(mode));
  };
  if (const Why why = search.consider({Swizzle{}, 0, by_tma(Swizzle{})}); why.rule != Rule::none)
    return illegal<Synthesis>(why);
  for (const bool tma : {true, false})
    for (int b = 1; widest + b <= 7; ++b)
      for (int m = widest; m + b <= 7 && bytes % (int64_t{1} << (m + b)) == 0; ++m)
        for (int s = b; int64_t{1} << (m + s) < bytes; ++s) {
          const Swizzle swizzle{b, m, s};
          if (by_tma(swizzle) == tma) (void)search.consider({swizzle, 0, tma});
        }
  // A padding that breaks the alignment of an access is no candidate.
  for (int64_t padding = int64_t{1} << widest; padding <= 128; padding += int64_t{1} << widest)
    (void)search.consider({Swizzle{}, padding, false});
  return legal(search.result);
}

}  // namespace warpfold::layout::hardware
