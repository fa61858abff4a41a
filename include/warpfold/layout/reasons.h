// Why an operation on layouts has no result: the codes, the numbers that go with each, and the sentences.
#pragma once

#include "warpfold/layout/text.h"

namespace warpfold::layout {

enum class Reason : uint8_t {
  none,
  // Text. n = column (from 1), Expected
  syntax,
  number_overflow,   // n = column
  profile_mismatch,  // n = column of the stride, or 0
  // Values. n as in the sentence
  bad_size,
  size_overflow,
  offset_overflow,
  cosize_overflow,
  extent_overflow,  // n = mode, factor, factor
  too_many_modes,
  undecided,          // n = work allowed
  not_a_layout,       // n = index, value there, value a layout would have
  not_a_layout_wide,  // n = index, value there; the value a layout would have does not fit
  not_injective,      // n = two indices, their offset
  // Composition. witness = coordinate of B. n[7] = 1 + mode of a tiler, or 0
  turns,    // n = mode of B, steps before the turn, steps that are left, A(B), what the layout gives
  carries,  // n = t, P_t, largest carry sum, A(B), what the layout gives, the modes of B as bits
  composed_overflow,  // n = value of B at the witness
  tiler_rank,
  // Complement. n = sizes and strides of the chain
  complement_negative,
  complement_broadcast,
  complement_chain,  // n = N, d of the mode before, N, d of the mode
  complement_size,   // n = N, d of the last mode, M, N*d
  complement_room,   // n = M
  // Division
  lossy,            // n = as in LostIndices: extent, N, d, limit; how many, nearest strides that tile
  lossy_broadcast,  // n = N
  // Inverses
  left_inverse_none,      // n = index, its offset; witness = its coordinate
  left_inverse_negative,  // n = stride; witness = a coordinate with this offset
  no_coordinate,          // n = offset, rest
  not_in_image,           // n = offset, lowest and highest offset
  // Recast
  recast_split,     // n = mode, size, stride, ratio
  recast_gap,       // n = ratio
  recast_negative,  // n = mode, stride
  recast_width,     // n = bits, bits
  // Swizzles and GF(2)
  swizzle_range,    // n = B, M, S
  swizzle_base,     // n = B, M, S, shift of the base
  swizzle_ratio,    // n = bits from, bits to
  not_linear_size,  // n = mode, size
  not_linear,       // n = mode, mode, stride, stride
  gf2_shape,        // n = columns of the first, rows of the second
  gf2_singular,     // n = rank, size
  not_one_swizzle,
  not_linear_offset,  // n = offset
  not_a_bijection,    // n = size
  // Slices and modes
  mode_range,           // n = first mode, end, rank
  coordinate,           // the coordinate is not nested like the shape
  coordinate_overflow,  // at the witness
  shift_overflow,       // n = offset before a swizzle, lowest and highest offset of the layout
  permutation_map,      // n = position, value, length
  refinement,           // n = mode, what is left of it, the same of the other shape
  refinement_end,       // n = mode, what is left of it
};

// What the parser wanted at the column of a syntax error.
enum class Expected : uint8_t {
  number,
  close_or_comma,
  end,
  size,
  stride,
  swizzle,
  tiler,
  not_empty,
  integer
};

// How good an accepted answer is.
enum class Grade : uint8_t {
  exact,
  padded,       // covers more than was asked: the caller predicates
  overlapping,  // of a product: two elements that do not broadcast share an offset, or it was not decided
};

// The indices below `limit` that a tile misses or repeats, as far as its first mode N:d that breaks the chain decides:
// up to the copies of N*d that fit below the stride of the tile's next mode; for the last mode, up to the size
// divided, but at least one whole tile. The modes before it, with their rest, cover [0, extent) once.
//   extent <= d  copies of [0, extent) are laid from 0 on while they fit below d, and the whole is repeated every d:
//                y is missed when y mod d >= extent * floor(d / extent);
//   extent > d   the N copies of [0, extent) that start every d overlap: y is met again when some j in [1, N) has
//                j*d <= y < (j-1)*d + extent.
struct LostIndices {
  int64_t extent, size, stride, limit;

  WF_HD constexpr bool repeated() const { return stride < extent; }
  WF_HD constexpr int64_t first() const { return repeated() ? stride : extent * (stride / extent); }
  // The next one after y, or -1.
  WF_HD constexpr int64_t next(int64_t y) const {
    if (++y < first()) return first();
    const int64_t turn = y / stride, start = turn * stride;
    if (!repeated()) {
      if (y - start < first()) y = first() < limit - start ? start + first() : limit;
    } else if (turn >= size) {
      if (y - start + (turn - size) * stride >= extent - 2 * stride) return -1;
    } else if (y - start >= extent - stride) {
      if (turn + 1 >= size) return -1;
      y = stride < limit - start ? start + stride : limit;
    }
    return y < limit ? y : -1;
  }
  WF_HD constexpr int64_t count() const {
    if (!repeated())
      return limit / stride * (stride - first()) + (limit % stride > first() ? limit % stride - first() : 0);
    const int64_t runs = (limit - 1) / stride < size - 1 ? (limit - 1) / stride : size - 1;
    if (extent - stride >= stride) return last() - stride + 1;
    return runs * (extent - stride) - (runs * stride + (extent - stride) - 1 - last());
  }
  WF_HD constexpr int64_t last() const {
    const int64_t top = limit - 1;
    if (!repeated()) return top % stride >= first() ? top : top - top % stride - 1;
    const int64_t runs = top / stride < size - 1 ? top / stride : size - 1;
    const int64_t from = runs * stride, length = extent - stride;
    return length - 1 < top - from ? from + length - 1 : top;
  }
};

struct Why {
  Reason reason = Reason::none;
  int64_t n[8] = {};
  IntTuple witness;  // a coordinate at which the answer would be wrong

  WF_HD constexpr bool none() const { return reason == Reason::none; }
  constexpr bool operator==(const Why&) const = default;
};

constexpr std::string_view words(Expected expected) {
  switch (expected) {
    case Expected::number:
      return "a number or '('";
    case Expected::close_or_comma:
      return "',' or ')'";
    case Expected::end:
      return "the end";
    case Expected::size:
      return "a size of at least 1";
    case Expected::stride:
      return "a stride";
    case Expected::swizzle:
      return "a swizzle such as Sw<3,4,3>";
    case Expected::tiler:
      return "a tiler such as <4:1,8:2>";
    case Expected::integer:
      return "a number";
    case Expected::not_empty:
      return "a number (an empty tuple inside another is no shape)";
  }
  return "";
}

// "mode 0", "modes 0 and 1", "modes 0, 1 and 3"
constexpr void list_modes(Text& t, int64_t bits) {
  int total = 0, done = 0;
  for (int i = 0; i < max_leaves; ++i) total += static_cast<int>(bits >> i & 1);
  t << (total == 1 ? "mode " : "modes ");
  for (int i = 0; i < max_leaves; ++i) {
    if ((bits >> i & 1) == 0) continue;
    if (done > 0) t << (done + 1 == total ? " and " : ", ");
    t << i;
    ++done;
  }
  t << (total == 1 ? " of B carries" : " of B carry");
}

// The reason in one sentence with its numbers; empty for Reason::none.
constexpr Text sentence(const Why& why) {
  Text t;
  const int64_t* n = why.n;
  if (n[7] > 0) t << "mode " << n[7] - 1 << ": ";
  switch (why.reason) {
    case Reason::none:
      break;
    case Reason::syntax:
      t << "column " << n[0] << ": expected " << words(static_cast<Expected>(n[1]));
      break;
    case Reason::number_overflow:
      t << "column " << n[0] << ": overflow: the number does not fit 64 bits";
      break;
    case Reason::profile_mismatch:
      if (n[0] > 0) t << "column " << n[0] << ": ";
      t << "the stride is not nested like the shape";
      break;
    case Reason::bad_size:
      t << "mode " << n[0] << " has size " << n[1] << "; a size is at least 1";
      break;
    case Reason::size_overflow:
      t << "overflow: the size " << n[1] << " * " << n[2] << " at mode " << n[0] << " does not fit 64 bits";
      break;
    case Reason::offset_overflow:
      t << "overflow: the offset (" << n[1] << " - 1) * " << n[2] << " of mode " << n[0]
        << " does not fit 64 bits";
      break;
    case Reason::extent_overflow:
      t << "overflow: the offset " << n[1] << " * " << n[2] << " of mode " << n[0] << " does not fit 64 bits";
      break;
    case Reason::cosize_overflow:
      t << "overflow: offsets from " << n[0] << " to " << n[1] << " span more than 64 bits";
      break;
    case Reason::too_many_modes:
      t << "the result needs more than " << n[0] << " modes";
      break;
    case Reason::undecided:
      t << "undecided: more than " << n[0] << " steps of search would be needed";
      break;
    case Reason::not_a_layout:
      t << "not a layout: at index " << n[0] << " the value is " << n[1] << " but a layout would have "
        << n[2];
      break;
    case Reason::not_a_layout_wide:
      t << "not a layout: at index " << n[0] << " the value is " << n[1]
        << " but a layout would have one past 64 bits";
      break;
    case Reason::not_injective:
      t << "not injective: indices " << n[0] << " and " << n[1] << " both have offset " << n[2];
      break;
    case Reason::turns:
      t << "not composable: along mode " << n[0] << " of B, A turns after " << n[1]
        << " steps, which does not divide " << n[2] << ": at coordinate " << why.witness << " A(B) = " << n[3]
        << " but the layout gives " << n[4];
      break;
    case Reason::carries:
      t << "not composable: ";
      list_modes(t, n[5]);
      t << " past " << n[1] << " = P_" << n[0] << " of A: at coordinate " << why.witness << " A(B) = " << n[3]
        << " but the layout gives " << n[4];
      break;
    case Reason::composed_overflow:
      t << "overflow: at coordinate " << why.witness << " B has " << n[0]
        << ", and A there or the layout's offset does not fit 64 bits";
      break;
    case Reason::tiler_rank:
      t << "the tiler has " << n[0] << " modes, the layout only " << n[1];
      break;
    case Reason::complement_negative:
      t << "no complement: mode " << n[0] << ':' << n[1] << " runs backwards";
      break;
    case Reason::complement_broadcast:
      t << "no complement: not injective, mode " << n[0] << ":0 stays at one offset";
      break;
    case Reason::complement_chain:
      if (n[3] < n[0] * n[1])
        t << "no complement: modes " << n[0] << ':' << n[1] << " and " << n[2] << ':' << n[3]
          << " overlap: " << n[0] << '*' << n[1] << " = " << n[0] * n[1] << " does not divide " << n[3];
      else
        t << "no complement: " << n[0] << '*' << n[1] << " = " << n[0] * n[1] << " of mode " << n[0] << ':'
          << n[1] << " does not divide the stride " << n[3] << " of mode " << n[2] << ':' << n[3];
      break;
    case Reason::complement_size:
      t << "no complement: " << n[0] << '*' << n[1] << " = " << n[3] << " of mode " << n[0] << ':' << n[1]
        << " does not divide " << n[2];
      break;
    case Reason::complement_room:
      t << "no complement in [0, " << n[0] << "): M is at least 1";
      break;
    case Reason::lossy: {
      const LostIndices lost{n[0], n[1], n[2], n[3]};
      t << "lossy: the tile's extent " << n[0] << " does not divide the stride " << n[2] << " of its mode "
        << n[1] << ':' << n[2] << ", so ";
      if (n[4] == 1)
        t << "index " << lost.first() << " is ";
      else
        t << n[4] << " indices from " << lost.first() << " to " << lost.last() << " are ";
      t << (lost.repeated() ? "met more than once" : "missed");
      if (n[5] > 0 && n[6] > 0)
        t << "; strides " << n[5] << " and " << n[6] << " tile";
      else if (n[5] > 0 || n[6] > 0)
        t << "; stride " << n[5] + n[6] << " tiles";
      break;
    }
    case Reason::lossy_broadcast:
      t << "lossy: mode " << n[0] << ":0 of the tile meets every index " << n[0] << " times";
      break;
    case Reason::left_inverse_none:
      t << "no left inverse: no layout takes back all offsets up to " << n[1] << ", the offset at "
        << why.witness;
      break;
    case Reason::left_inverse_negative:
      t << "no left inverse: at coordinate " << why.witness << " the offset is " << n[0]
        << ", and no layout has an index below 0";
      break;
    case Reason::no_coordinate:
      t << "no coordinate has offset " << n[0] << ": " << n[1] << " is left over";
      break;
    case Reason::not_in_image:
      t << "no index has offset " << n[0] << ", which is "
        << (n[0] < n[1] || n[0] > n[2] ? "outside" : "a gap in") << " the offsets from " << n[1] << " to " << n[2];
      break;
    case Reason::recast_split:
      t << "cannot recast: mode " << n[0] << ", " << n[1] << ':' << n[2] << ", does not split into groups of "
        << n[3];
      break;
    case Reason::recast_gap:
      t << "cannot recast: the elements do not fill groups of " << n[0] << " neighbouring offsets";
      break;
    case Reason::recast_negative:
      t << "cannot recast: mode " << n[0] << " has the negative stride " << n[1];
      break;
    case Reason::recast_width:
      t << "cannot recast between " << n[0] << " and " << n[1] << " bits";
      break;
    case Reason::swizzle_range:
      t << "Sw<" << n[0] << ',' << n[1] << ',' << n[2]
        << "> is no swizzle: B and M are at least 0, |S| at least B, and "
        << "B + M + |S| at most 62";
      break;
    case Reason::swizzle_base:
      t << "Sw<" << n[0] << ',' << n[1] << ',' << n[2] << "> moves to the base " << n[3]
        << ": the elements are wider than the swizzle's unit";
      break;
    case Reason::swizzle_ratio:
      t << "a swizzle cannot be recast from " << n[0] << " to " << n[1]
        << " bits: the ratio is no power of two";
      break;
    case Reason::not_linear_size:
      t << "not linear over GF(2): mode " << n[0] << " has size " << n[1] << ", which is no power of two";
      break;
    case Reason::not_linear:
      t << "not linear over GF(2): " << n[2] << " of mode " << n[0] << " and " << n[3] << " of mode " << n[1]
        << " share a bit, so their sum carries";
      break;
    case Reason::gf2_shape:
      t << "the product needs " << n[0] << " rows, the second matrix has " << n[1];
      break;
    case Reason::gf2_singular:
      t << "no inverse: rank " << n[0] << " of " << n[1];
      break;
    case Reason::not_one_swizzle:
      t << "this GF(2) map is not one Sw<B,M,S>";
      break;
    case Reason::not_linear_offset:
      t << "not linear over GF(2): the offset " << n[0] << " is added before the swizzle";
      break;
    case Reason::not_a_bijection:
      t << "no inverse: layout and swizzle do not both permute [0, " << n[0] << ')';
      break;
    case Reason::mode_range:
      t << "modes " << n[0] << " to " << n[1] << " are no range of the " << n[2] << " modes";
      break;
    case Reason::coordinate:
      t << "coordinate " << why.witness << " is not nested like the shape";
      break;
    case Reason::coordinate_overflow:
      t << "overflow: the offset at " << why.witness << " does not fit 64 bits";
      break;
    case Reason::refinement:
      t << "no mutual refinement: of " << n[1] << " in mode " << n[0] << " of the first shape and " << n[3]
        << " in mode " << n[2] << " of the second, neither divides the other";
      break;
    case Reason::refinement_end:
      t << "no mutual refinement: the second shape ends before " << n[1] << " in mode " << n[0]
        << " of the first";
      break;
    case Reason::shift_overflow:
      t << "overflow: " << n[0] << " plus the offsets from " << n[1] << " to " << n[2]
        << " does not fit 64 bits";
      break;
    case Reason::permutation_map:
      t << "entry " << n[0] << " of the map is " << n[1] << "; it must lie in [1, " << n[2] << ']';
      break;
  }
  return t;
}

}  // namespace warpfold::layout
