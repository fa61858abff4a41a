// Configurations of the GEMM kernel: element types, majors, fusion and a tile, and what follows from them.
//
//   D (M, N) = epilogue (A (M, K) B (N, K)^T),  fp32 or int32 accumulation, D rounded once
//
// One warpgroup copies (the producer), two multiply. A stage of the ring holds a tile of A and one of B, one
// swizzle span (128 bytes) of K deep. The output leaves through boxes of one span, from two buffers a
// warpgroup (as many as boxes where these are odd). In a swapped tile A and B are the caller's B and A, and the boxes hold the transposed tile.
#pragma once

#include <type_traits>

#include "warpfold/hopper/tile_shape.h"
#include "warpfold/kernels/gemm/tiles.h"
#include "warpfold/kernels/shared_plan.h"

namespace warpfold::kernels::gemm {

// The name that callers give to an element type of a kernel.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, hopper::bf16>)
    return DType::kBF16;
  else if constexpr (std::is_same_v<T, hopper::f16>)
    return DType::kF16;
  else if constexpr (std::is_same_v<T, hopper::e4m3>)
    return DType::kF8E4M3;
  else if constexpr (std::is_same_v<T, hopper::e5m2>)
    return DType::kF8E5M2;
  else if constexpr (std::is_same_v<T, int8_t>)
    return DType::kI8;
  else if constexpr (std::is_same_v<T, int32_t>)
    return DType::kI32;
  else
    return DType::kF32;  // float, and tf32 as an operand
}

// Scale and offset of a row or column.
struct Factor {
  float scale, bias;
};
// Zero point of a row or column and the sum over K of its elements; of a column less K times its zero point.
struct ZeroPoint {
  int32_t zero, sum;
};
static_assert(sizeof(ZeroPoint) == sizeof(Factor), "zero points lie in shared memory as the factors do");

template <class TypeA, class TypeB, class OutputType, class TileType, Fusion kFusion = Fusion::none,
          hopper::Major kMajorA = hopper::Major::k, hopper::Major kMajorB = hopper::Major::k>
struct Config : TileType {
  using ElementA = TypeA;
  using ElementB = TypeB;
  using Output = OutputType;  // of C and D
  using TileType::cluster;
  using TileType::schedule;
  using TileType::swapped;
  using TileType::tile_m;
  using TileType::tile_n;

  static constexpr Fusion fusion = kFusion;
  static constexpr hopper::Major major_a = kMajorA, major_b = kMajorB;
  static constexpr int tile_k = 128 / int(sizeof(ElementA));  // one span
  static constexpr bool ping_pong = schedule == Schedule::ping_pong;
  static constexpr int math_warpgroups = 2;
  static constexpr int owners = ping_pong ? 1 : math_warpgroups;  // warpgroups that work on one tile
  static constexpr int warpgroup_m = tile_m / owners;
  static constexpr int row_blocks = warpgroup_m / 64;  // WGMMAs of one warpgroup at each step of K
  static constexpr int b_share = tile_n / cluster;  // rows of the B tile that each block fetches

  using Product = hopper::Wgmma<ElementA, ElementB, tile_n, major_a, major_b>;
  using ATile = hopper::TileShape<ElementA, tile_m, tile_k, major_a>;  // (tile_m, tile_k)
  using BTile = hopper::TileShape<ElementB, tile_n, tile_k, major_b>;  // (tile_n, tile_k)
  static constexpr bool integers = hopper::is_integer_operand<ElementA>;
  static constexpr bool exact = integers && std::is_same_v<Output, int32_t>;  // D is the int32 sums
  static constexpr bool takes_c = !exact && sizeof(Output) > 1;
  static constexpr bool factors = fusion != Fusion::none;                     // of rows and columns
  static constexpr bool quantised = fusion == Fusion::quantised;
  static constexpr bool zero_points = quantised && integers;
  // Zero points take the place of a stage of a large tile.
  static constexpr int stages = TileType::stages - (zero_points && tile_m * tile_n == 128 * 128 ? 1 : 0);
  static constexpr bool gated = fusion == Fusion::gated;
  static constexpr int columns_per_output = gated ? 2 : 1;

  // A box of D or C: 64 rows of the widest span that divides the tile; swapped, tile_n of its rows by the 64 columns
  // that a block of rows of the product becomes.
  static constexpr int output_bytes = tile_n / columns_per_output * int(sizeof(Output));  // of a row of the tile
  static constexpr int box_row_bytes = swapped ? 64 * int(sizeof(Output)) : output_bytes;
  static constexpr hopper::SwizzleMode box_swizzle = box_row_bytes % 128 == 0  ? hopper::SwizzleMode::b128
                                                     : box_row_bytes % 64 == 0 ? hopper::SwizzleMode::b64
                                                                               : hopper::SwizzleMode::b32;
  static constexpr int span = int(layout::hardware::span_bytes(box_swizzle)) / int(sizeof(Output));  // elements
  using Box = std::conditional_t<swapped, hopper::TileShape<Output, tile_n, 64, hopper::Major::k, box_swizzle>,
                                 hopper::TileShape<Output, 64, span, hopper::Major::k, box_swizzle>>;
  static constexpr int boxes_across = swapped ? 1 : tile_n / columns_per_output / span;
  static constexpr int boxes = row_blocks * boxes_across;  // of one warpgroup and tile
  static constexpr int buffers = boxes % 2 == 0 ? 2 : boxes;
  static constexpr int box_columns = swapped ? tile_n : span * columns_per_output;  // of the product

  // Registers of a 16 x 16 patch lie in a box as four 8 x 8 matrices, in the order in which the accumulator
  // fragment holds them; thread t of a warpgroup gives the address of this row and column of the box to
  // stmatrix (and to ldmatrix for C), transposing in a swapped tile.
  static constexpr int patch_row(int t) { return swapped ? t % 32 / 16 * 8 + t % 8 : t / 32 * 16 + t % 16; }
  static constexpr int patch_column(int t) {
    return swapped ? t / 32 * 16 + t / 8 % 2 * 8 : t % 32 / 16 * 8;
  }

  // Element (row, column) of a box that a lane holds in register i of the patch at `x`: as the accumulator fragment
  // has it, transposed in a swapped tile.
  static constexpr int element_row(int warp, int lane, int x, int i) {
    return swapped ? x + i / 4 * 8 + lane % 4 * 2 + i % 2 : warp * 16 + lane / 4 + i / 2 % 2 * 8;
  }
  static constexpr int element_column(int warp, int lane, int x, int i) {
    return swapped ? warp * 16 + lane / 4 + i / 2 % 2 * 8 : x + i / 4 * 8 + lane % 4 * 2 + i % 2;
  }
  // Byte of a column's factors among those of the tile; a lane loads those of two columns, from this one of eight on.
  static constexpr int factor_offset(int column) { return column * int(sizeof(Factor)); }
  static constexpr int factor_column(int lane) { return lane % 4 * 2; }
  // 32-bit results of two patches side by side leave in two turns. A quad of lanes holds 32 consecutive bytes of a
  // row; odd rows visit the four 32-byte groups of a row in another order than even ones, or two rows of each
  // half-warp would meet in the same banks. Does the lane store the left patch in this turn?
  static constexpr bool left_patch(int lane, int turn) { return (turn == 0) != (lane / 4 % 2 != 0); }

  // Arrivals that end a phase: `full` the producer and the bytes, or all threads that copy; `empty` one of each reading warp.
  static constexpr int full_bytes = ATile::bytes + BTile::bytes;
  static constexpr int full_arrivals = TileType::copied ? 128 : 1;
  static constexpr int empty_arrivals = 4 * owners * cluster;

  // Registers of a thread; the sum over the warpgroups fits the 64 Ki of a multiprocessor.
  // Only whole warpgroups hand registers on; where that is not needed, the producer is one warp.
  static constexpr bool moves_registers = TileType::resident == 1;
  static constexpr int producer_threads = moves_registers ? 128 : 32;
  static constexpr int threads = 128 * math_warpgroups + producer_threads;
  static constexpr int math_registers = moves_registers ? (TileType::copied ? 224 : 240) : 65536 / (TileType::resident * threads) / 8 * 8;
  static constexpr int producer_registers = moves_registers ? (TileType::copied ? 56 : 24) : math_registers;
  static constexpr int accumulators = row_blocks * Product::accumulators;
  static constexpr int sums = accumulators * (TileType::promoted ? 1 + TileType::product_sets : 1);

  struct Offsets {
    uint32_t a, b, box, factors, zeros, full, empty, c_full, end;
  };
  static constexpr SharedPlan plan(Offsets& at) {
    SharedPlan p;
    at.a = p.add("A", stages, ATile::bytes, ATile::alignment);
    at.b = p.add("B", stages, BTile::bytes, BTile::alignment);
    at.box = p.add("boxes of D", math_warpgroups * buffers, Box::bytes, Box::alignment);
    if (factors) at.factors = p.add("column factors", math_warpgroups, tile_n * int(sizeof(Factor)), 16);
    if (zero_points) at.zeros = p.add("column zero points", math_warpgroups, tile_n * int(sizeof(ZeroPoint)), 16);
    at.full = p.add("full", stages, 8, 8);
    at.empty = p.add("empty", stages, 8, 8);
    at.c_full = p.add("C arrived", math_warpgroups * buffers, 8, 8);
    at.end = uint32_t(p.bytes);
    return p;
  }
  static constexpr SharedPlan plan() {
    Offsets at{};
    return plan(at);
  }
  static constexpr Offsets offsets() {
    Offsets at{};
    plan(at);
    return at;
  }
  static constexpr int shared_bytes = offsets().end;

  static_assert(sizeof(ElementA) == sizeof(ElementB));
  static_assert(tile_m % (64 * owners) == 0, "a warpgroup multiplies blocks of 64 rows");
  static_assert(swapped || sizeof(Output) < 4 || span == 32, "32-bit results are written 32 columns at a time");
  static_assert(boxes % buffers == 0, "the next tile starts with the buffer that has been idle longest");
  static_assert(b_share % 8 == 0 && b_share * cluster == tile_n,
                "each block of a cluster fetches an equal share of B");
  static_assert(cluster == 1 || major_b == hopper::Major::k, "a share of B is rows of its tile");
  static_assert(!factors || row_blocks <= 2, "a warp keeps the factors of its rows in one register a lane");
};

}  // namespace warpfold::kernels::gemm
