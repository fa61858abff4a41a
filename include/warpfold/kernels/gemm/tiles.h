// The tiles of the output, and which of them are compiled for which kind of product.
#pragma once

#include <array>
#include <cstdint>

#include "warpfold/core/dtype.h"
#include "warpfold/kernels/gemm/gemm.h"

namespace warpfold::kernels::gemm {

// cooperative: both multiplying warpgroups share a tile, half of its rows each.
// ping_pong: each takes every second tile, so that one stores while the other multiplies.
enum class Schedule : uint8_t { cooperative, ping_pong };

enum class TileId : uint8_t {
  m128_n128,
  m128_n192,
  m128_n96,
  m128_n64,
  m64_n96,
  m64_n64,
  m64_n48,
  swapped_n16_split,
  swapped_n32_split,
  promoted_m128_n128,
  promoted_m128_n192,
  copied_m128_n128,
  copied_promoted_m128_n128
};

// ---- Tiles. `cluster` blocks take tiles one above the other and share their B tile by multicast.
//
// split         blocks take equal shares of all steps of K (stream-K), so a tile may be summed by several blocks
// swapped       the roles of A and B are exchanged and the tile leaves transposed: with few rows of A, the 64 rows
//               of a WGMMA are filled by rows of B (the weights)
// resident      blocks that fit a multiprocessor: with two, the next launch is set up while this one ends
// promoted      the products of each 128 of K are summed in full fp32: the tensor cores keep fewer bits for fp8
// copied        threads copy operands and results that TMA cannot take: see copied.h
// grouped       rows of A and D come in groups, each with a matrix B of its own: see grouped.h
// product_sets  promoted: results of stages that are held at a time
struct TileDefaults {
  static constexpr int cluster = 1, resident = 1, product_sets = 1;
  static constexpr Schedule schedule = Schedule::ping_pong;
  static constexpr bool split = false, swapped = false, promoted = false, copied = false, grouped = false;
};
struct Tile128x128 : TileDefaults {
  static constexpr const char* name = "128x128";
  static constexpr TileId id = TileId::m128_n128;
  static constexpr int tile_m = 128, tile_n = 128, stages = 6;
};
struct Tile128x192 : TileDefaults {
  static constexpr const char* name = "128x192";
  static constexpr TileId id = TileId::m128_n192;
  static constexpr int tile_m = 128, tile_n = 192, stages = 4;
};
struct Tile128x96 : TileDefaults {
  static constexpr const char* name = "128x96";
  static constexpr TileId id = TileId::m128_n96;
  static constexpr Schedule schedule = Schedule::cooperative;
  static constexpr int tile_m = 128, tile_n = 96, stages = 6;
};
struct Tile128x64 : Tile128x96 {
  static constexpr const char* name = "128x64";
  static constexpr TileId id = TileId::m128_n64;
  static constexpr int tile_n = 64, stages = 8;
};
struct Tile64x96 : TileDefaults {
  static constexpr const char* name = "64x96";
  static constexpr TileId id = TileId::m64_n96;
  static constexpr int tile_m = 64, tile_n = 96, stages = 8;
};
struct Tile64x64 : TileDefaults {
  static constexpr const char* name = "64x64";
  static constexpr TileId id = TileId::m64_n64;
  static constexpr int tile_m = 64, tile_n = 64, stages = 10;
};
struct Tile64x48 : TileDefaults {
  static constexpr const char* name = "64x48";
  static constexpr TileId id = TileId::m64_n48;
  static constexpr int tile_m = 64, tile_n = 48, stages = 12;
};
struct TileSwapped16 : TileDefaults {
  static constexpr const char* name = "swapped_64x16_split";
  static constexpr TileId id = TileId::swapped_n16_split;
  static constexpr int tile_m = 64, tile_n = 16, stages = 10, resident = 2;
  static constexpr bool split = true, swapped = true;
};
struct TileSwapped32 : TileSwapped16 {
  static constexpr const char* name = "swapped_64x32_split";
  static constexpr TileId id = TileId::swapped_n32_split;
  static constexpr int tile_n = 32, stages = 8;
};
struct TilePromoted128 : TileDefaults {
  static constexpr const char* name = "promoted_128x128";
  static constexpr TileId id = TileId::promoted_m128_n128;
  static constexpr int tile_m = 128, tile_n = 128, stages = 6, product_sets = 2;
  static constexpr Schedule schedule = Schedule::cooperative;
  static constexpr bool promoted = true;
};
struct TilePromoted192 : TilePromoted128 {
  static constexpr const char* name = "promoted_128x192";
  static constexpr TileId id = TileId::promoted_m128_n192;
  static constexpr int tile_n = 192, stages = 4, cluster = 2, product_sets = 1;
};

struct TileCopied : Tile128x128 {
  static constexpr const char* name = "copied_128x128";
  static constexpr TileId id = TileId::copied_m128_n128;
  static constexpr bool copied = true;
};
struct TileCopiedPromoted : TilePromoted128 {
  static constexpr const char* name = "copied_promoted_128x128";
  static constexpr TileId id = TileId::copied_promoted_m128_n128;
  static constexpr int product_sets = 1;
  static constexpr bool copied = true;
};

// The tile of a grouped product.
template <class TileType>
struct Grouped : TileType {
  static constexpr bool grouped = true;
};

inline constexpr TileId all_tiles[] = {
    TileId::m128_n128, TileId::m128_n192, TileId::m128_n96, TileId::m128_n64, TileId::m64_n96, TileId::m64_n64, TileId::m64_n48,
    TileId::swapped_n16_split, TileId::swapped_n32_split, TileId::promoted_m128_n128, TileId::promoted_m128_n192,
    TileId::copied_m128_n128, TileId::copied_promoted_m128_n128};

// f(Tile{}) of the tile that `id` names.
template <class Function>
constexpr auto with_tile(TileId id, Function f) {
  switch (id) {
    case TileId::m128_n192:
      return f(Tile128x192{});
    case TileId::m128_n96:
      return f(Tile128x96{});
    case TileId::m128_n64:
      return f(Tile128x64{});
    case TileId::m64_n96:
      return f(Tile64x96{});
    case TileId::m64_n64:
      return f(Tile64x64{});
    case TileId::m64_n48:
      return f(Tile64x48{});
    case TileId::swapped_n16_split:
      return f(TileSwapped16{});
    case TileId::swapped_n32_split:
      return f(TileSwapped32{});
    case TileId::promoted_m128_n128:
      return f(TilePromoted128{});
    case TileId::promoted_m128_n192:
      return f(TilePromoted192{});
    case TileId::copied_m128_n128:
      return f(TileCopied{});
    case TileId::copied_promoted_m128_n128:
      return f(TileCopiedPromoted{});
    case TileId::m128_n128:
      break;
  }
  return f(Tile128x128{});
}

// ---- Kinds of products: what a kernel is compiled for beside its tile.

// What happens to the sums before they are rounded.
enum class Fusion : uint8_t {
  none,    // alpha * sum + beta * C
  linear,  // scales of rows and columns and a bias, too
  full,    // and an activation
  quantised,  // and zero points of A, B and D, and the rows' largest values
  gated    // activation (gate) * up, of pairs of columns
};

struct Kind {
  DType a = DType::kBF16, b = DType::kBF16, output = DType::kBF16;
  bool a_column_major = false, b_column_major = false;
  Fusion fusion = Fusion::none;
  constexpr bool operator==(const Kind&) const = default;
};

constexpr DType b_type(const Problem& p) { return p.b_type.value_or(p.type); }
// Columns of the product A B^T: a gated one has two for each column of D.
constexpr int64_t rows_of_b(const Problem& p) { return p.gate == Gate::none ? p.n : 2 * p.n; }

constexpr bool is_fp8(DType t) { return t == DType::kF8E4M3 || t == DType::kF8E5M2; }
constexpr bool is_16_bit(DType t) { return t == DType::kBF16 || t == DType::kF16; }

// The tiles whose threads copy.
inline constexpr uint32_t copied_tiles = 1u << int(TileId::copied_m128_n128) | 1u << int(TileId::copied_promoted_m128_n128);

// The tiles that are compiled for a kind, as bits 1 << TileId; 0: the kind does not exist.
//
// The types of language models have all tiles; other results, majors and fusions have the one that is best for
// large products and those for few rows. Copied tiles transpose, so they exist for K-major kinds only, and with the largest
// fusion of each type: it does what the others do.
constexpr uint32_t tiles_of(const Kind& k) {
  constexpr auto bit = [](TileId id) { return 1u << int(id); };
  constexpr uint32_t basic = bit(TileId::m128_n128) | bit(TileId::m128_n64) | bit(TileId::m64_n64) |
                             bit(TileId::swapped_n16_split) | bit(TileId::swapped_n32_split);
  // 48 columns of 32-bit results are no whole number of boxes.
  const uint32_t all = basic | bit(TileId::m128_n192) | bit(TileId::m128_n96) | bit(TileId::m64_n96) |
                       (k.output == DType::kF32 || k.output == DType::kI32 ? 0 : bit(TileId::m64_n48));
  // Of quantised products, of which many kinds exist.
  constexpr uint32_t copied = bit(TileId::copied_m128_n128);
  constexpr uint32_t few = copied | bit(TileId::m128_n128) | bit(TileId::m64_n64) | bit(TileId::swapped_n16_split);
  const bool row_column = !k.a_column_major && !k.b_column_major;  // A (M, K) and B (N, K), both K-major
  if (is_16_bit(k.a)) {
    if (k.a != k.b) return 0;
    if (row_column && k.fusion == Fusion::quantised) return k.output == k.a || k.output == DType::kI8 ? few : 0;
    if (k.output != k.a && k.output != DType::kF32) return 0;
    if (!row_column) return k.fusion == Fusion::none && k.output == k.a ? bit(TileId::m128_n128) | bit(TileId::m64_n64) : 0;
    if (k.output == DType::kF32) return k.fusion == Fusion::none ? basic | copied : 0;
    switch (k.fusion) {
      case Fusion::none:
        return all;
      case Fusion::full:
        return basic | copied;
      case Fusion::gated:
        return bit(TileId::m128_n128) | copied;
      case Fusion::linear:
      case Fusion::quantised:
        return 0;
    }
  }
  if (!row_column) return 0;  // only 16-bit operands may lie otherwise
  if (k.a == DType::kF32)
    return k.b == k.a && k.output == k.a && k.fusion == Fusion::none ? all | copied : 0;
  if (k.a == DType::kI8) {
    if (k.b != k.a) return 0;
    if (k.fusion == Fusion::quantised)
      return is_16_bit(k.output) || k.output == DType::kI8 || k.output == DType::kI32 || k.output == DType::kF32 ? few : 0;
    if (k.output == DType::kI32) return k.fusion == Fusion::none ? all : 0;
    if (is_16_bit(k.output)) return k.fusion == Fusion::linear ? all : k.fusion == Fusion::full ? basic : 0;
    return 0;
  }
  if (is_fp8(k.a) && is_fp8(k.b)) {
    if (k.output != DType::kBF16) return 0;
    if (k.fusion == Fusion::quantised && k.a == DType::kF8E4M3 && k.b == k.a)
      return bit(TileId::m128_n128) | bit(TileId::promoted_m128_n128) | bit(TileId::copied_promoted_m128_n128);
    if (k.fusion != Fusion::linear) return 0;
    const uint32_t promoted = bit(TileId::copied_promoted_m128_n128) | bit(TileId::promoted_m128_n128) | bit(TileId::promoted_m128_n192);
    return (k.a == DType::kF8E4M3 && k.b == k.a ? all : bit(TileId::m128_n128)) | promoted;
  }
  return 0;
}

}  // namespace warpfold::kernels::gemm
