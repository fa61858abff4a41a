// Verdicts of the hardware rules: a value, or the rule that is broken with the numbers of the case, printed
// in one sentence. The verdicts of the algebra, with rules of the chip instead of reasons of arithmetic.
#pragma once

#include "warpfold/layout/verdict.h"

namespace warpfold::layout::hardware {

enum class Rule : uint8_t {
  none,
  // Shared and global memory accesses. n as in the sentence
  access_misaligned,
  access_negative,
  access_lanes,
  access_width,
  access_start,
  bytes_overflow,
  // Tensor maps
  tma_rank,
  tma_element,
  tma_address,
  tma_size,
  tma_inner_stride,
  tma_stride_multiple,
  tma_stride_range,
  tma_box,
  tma_inner_box,
  tma_span,
  tma_element_stride,
  tma_box_bytes,
  tma_box_coordinate,
  tma_box_start,
  tma_shared_address,
  tma_swizzle,
  tma_tile_modes,
  tma_tile_gap,
  tma_tile_step,
  tma_tile_divides,
  // Matrix descriptors
  wgmma_element,
  wgmma_major,
  wgmma_swizzle,
  wgmma_modes,
  wgmma_mn,
  wgmma_k,
  wgmma_rows,
  wgmma_part,
  wgmma_bytes,
  wgmma_shape,
  wgmma_pattern,
  wgmma_unit,
  wgmma_stride,
  wgmma_start,
  wgmma_base_offset,
  // Fragments and synthesis
  fragment_shape,
  synthesis_size,
  synthesis_patterns,
  synthesis_outside,
  synthesis_lanes,
  synthesis_weight,
  too_many_modes,
};

struct Why {
  Rule rule = Rule::none;
  int64_t n[6] = {};

  WF_HD constexpr bool none() const { return rule == Rule::none; }
  constexpr bool operator==(const Why&) const = default;
};

WF_HD constexpr Why broken(Rule rule, int64_t a = 0, int64_t b = 0, int64_t c = 0, int64_t d = 0,
                           int64_t e = 0, int64_t f = 0) {
  Why why;
  why.rule = rule;
  why.n[0] = a;
  why.n[1] = b;
  why.n[2] = c;
  why.n[3] = d;
  why.n[4] = e;
  why.n[5] = f;
  return why;
}

// The broken rule in one sentence with its numbers; empty for Rule::none.
constexpr Text sentence(const Why& why) {
  Text t;
  const int64_t* n = why.n;
  switch (why.rule) {
    case Rule::none:
      break;
    case Rule::access_misaligned:
      t << "lane " << n[0] << " accesses " << n[1] << " bytes at byte " << n[2]
        << ", which is no multiple of " << n[1];
      break;
    case Rule::access_negative:
      t << "lane " << n[0] << " accesses byte " << n[1] << ", before the tile";
      break;
    case Rule::access_lanes:
      t << "the access needs " << n[0] << " lanes, the layout has " << n[1];
      break;
    case Rule::access_width:
      t << "an access is 1, 2, 4, 8 or 16 bytes wide, not " << n[0];
      break;
    case Rule::access_start:
      t << "overflow: the lanes' addresses from byte " << n[0] << " on do not fit 64 bits";
      break;
    case Rule::bytes_overflow:
      t << "overflow: offsets from " << n[0] << " to " << n[1] << " in elements of " << n[2]
        << " bytes do not fit 64 bits";
      break;
    case Rule::tma_rank:
      t << "the tensor map needs " << n[0] << " dimensions; it has 1 to 5";
      break;
    case Rule::tma_element:
      t << "a tensor map's element has 1, 2, 4 or 8 bytes, not " << n[0];
      break;
    case Rule::tma_address:
      t << "the global address lies " << n[0] << " bytes past a multiple of 16; a tensor map starts on one";
      break;
    case Rule::tma_size:
      t << "dimension " << n[0] << " has size " << n[1] << "; allowed are 1 to 4294967296";
      break;
    case Rule::tma_inner_stride:
      t << "dimension 0, the fastest in shared memory, moves " << n[0]
        << " elements in global memory; a tensor map needs 1";
      break;
    case Rule::tma_stride_multiple:
      t << "dimension " << n[0] << " moves " << n[1] << " bytes, which is no multiple of 16";
      break;
    case Rule::tma_stride_range:
      t << "dimension " << n[0] << " moves " << n[1] << " bytes; allowed are 0 to below 2^40 = 1099511627776";
      break;
    case Rule::tma_box:
      t << "the box has size " << n[1] << " in dimension " << n[0] << "; allowed are 1 to 256";
      break;
    case Rule::tma_inner_box:
      t << "a row of the box has " << n[0] << " elements of " << n[1] << " bytes = " << n[0] * n[1]
        << " bytes, which is no multiple of 16";
      break;
    case Rule::tma_span:
      t << "a row of the box has " << n[0] << " bytes, more than the " << n[1]
        << " bytes that the swizzle spans";
      break;
    case Rule::tma_element_stride:
      t << "the element stride of dimension " << n[0] << " is " << n[1] << "; allowed are 1 to 8";
      break;
    case Rule::tma_box_bytes:
      t << "the box has " << n[0] << " bytes; a block has at most " << n[1] << " bytes of shared memory";
      break;
    case Rule::tma_box_coordinate:
      t << "the box starts at element " << n[0] << " of dimension 0; a copy takes coordinates of 32 bits";
      break;
    case Rule::tma_box_start:
      t << "the box starts at byte " << n[0] << " of dimension 0, which is no multiple of 16";
      break;
    case Rule::tma_shared_address:
      t << "the box is written to shared address " << n[0] << "; allowed are multiples of " << n[1]
        << " from 0 on";
      break;
    case Rule::tma_swizzle:
      t << "Sw<" << n[0] << ',' << n[1] << ',' << n[2]
        << "> on bytes is none of the tensor map's swizzles: none, Sw<1,4,3>, Sw<2,4,3>, Sw<3,4,3>";
      break;
    case Rule::tma_tile_modes:
      t << "the tile has " << n[1] << " modes and the global layout has " << n[0]
        << "; each tile mode is a part of one";
      break;
    case Rule::tma_tile_gap:
      t << "a box is written without gaps: after " << n[0] << " elements the tile's next mode has stride "
        << n[1];
      break;
    case Rule::tma_tile_step:
      t << "mode " << n[0] << " of the tile moves " << n[1] << " elements from index " << n[2]
        << " of the global mode, which is no single step there";
      break;
    case Rule::tma_tile_divides:
      t << "the tile cuts mode " << n[0] << " of the global layout into pieces of " << n[2]
        << ", which do not divide " << n[1];
      break;
    case Rule::wgmma_element:
      t << "wgmma operands have 8, 16 or 32 bits, not " << n[0];
      break;
    case Rule::wgmma_major:
      t << n[0] << "-bit operands of wgmma are K-major only; MN-major needs 16 bits";
      break;
    case Rule::wgmma_swizzle:
      t << "Sw<" << n[0] << ',' << n[1] << ',' << n[2]
        << "> on bytes is none of wgmma's swizzles: none, Sw<1,4,3>, Sw<2,4,3>, Sw<3,4,3>";
      break;
    case Rule::wgmma_modes:
      t << "a wgmma operand has the two modes (MN,K), this layout has " << n[0];
      break;
    case Rule::wgmma_mn:
      t << "the MN extent is " << n[0] << ", which is no multiple of " << n[1];
      break;
    case Rule::wgmma_k:
      t << "the K extent is " << n[0] << " elements; one wgmma takes " << n[2];
      if (n[1] == n[2])
        t << ", and the extent is a multiple";
      else
        t << ", one row of the swizzle has " << n[1] << ", and the extent is a multiple of both";
      break;
    case Rule::wgmma_rows:
      t << "one wgmma reads a block of 8 to 256 rows, a multiple of 8, not " << n[0];
      if (n[1] != 0) t << "; give the rows of a block, such as 64";
      break;
    case Rule::wgmma_part:
      t << "a part of " << n[1] << " from " << n[0] << " on lies outside the " << n[2] << " of the tile";
      break;
    case Rule::wgmma_bytes:
      t << "a tile of " << n[0] << " x " << n[1]
        << " elements has more than the 262144 bytes that descriptors reach";
      break;
    case Rule::wgmma_shape:
      t << "wgmma has no shape with N = " << n[0] << " for this type; N is a multiple of " << n[1]
        << " from 8 to 256";
      break;
    case Rule::wgmma_pattern:
      t << "not canonical: element (" << n[0] << ',' << n[1] << ") lies at byte " << n[2]
        << " of the unswizzled tile, the descriptor reads it at byte " << n[3];
      break;
    case Rule::wgmma_unit:
      t << "not canonical: elements (" << n[0] << ',' << n[1] << ") to (" << n[2] << ',' << n[3]
        << ") are not 16 consecutive bytes";
      break;
    case Rule::wgmma_stride:
      t << "the " << (n[0] == 0 ? "leading" : "stride") << " byte offset is " << n[1]
        << "; a descriptor holds multiples of 16 from 0 to 262128";
      break;
    case Rule::wgmma_start:
      t << "the tile starts at shared address " << n[0]
        << "; a descriptor holds multiples of 16 below 262144";
      break;
    case Rule::wgmma_base_offset:
      t << "the swizzle pattern starts at shared address " << n[0] << ", which is no multiple of " << n[1];
      break;
    case Rule::fragment_shape:
      t << "no fragment has the shape " << n[0] << " x " << n[1];
      break;
    case Rule::synthesis_size:
      t << "a tile of " << n[0] << " rows of " << n[1] << " bytes is none; it has 1 to 262144 bytes";
      break;
    case Rule::synthesis_patterns:
      t << n[0] << " access patterns; allowed are 1 to " << n[1];
      break;
    case Rule::synthesis_outside:
      t << "pattern " << n[0] << " accesses " << n[2] << " bytes at byte " << n[1] << ", outside the tile of "
        << n[3] << " bytes";
      break;
    case Rule::synthesis_lanes:
      t << "pattern " << n[0] << " has " << n[1] << " lanes; all patterns together have at most " << n[2]
        << ", and one that occurs often is given a weight";
      break;
    case Rule::synthesis_weight:
      t << "pattern " << n[0] << " has weight " << n[1] << "; allowed are 0 to " << n[2];
      break;
    case Rule::too_many_modes:
      t << "the layout would need more than " << n[0] << " modes";
      break;
  }
  return t;
}

template <class T>
using Verdict = layout::Verdict<T, Why>;

template <class T>
WF_HD constexpr Verdict<T> illegal(const Why& why) {
  Verdict<T> v;
  v.why = why;
  return v;
}

template <class T>
WF_HD constexpr Verdict<T> legal(const T& value) {
  Verdict<T> v;
  v.value = value;
  return v;
}

}  // namespace warpfold::layout::hardware
