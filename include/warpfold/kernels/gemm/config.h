// Configurations of the GEMM kernel: the tile of the output, its schedule, and what follows from them.
//
//   D (M, N) = alpha A (M, K) B (N, K)^T + beta C (M, N),  A, B, C, D row-major, fp32 accumulation, D rounded
//   once
//
// One warpgroup copies (the producer), two multiply. A stage of the ring holds a tile of A and one of B, one
// swizzle span (128 bytes) of K deep. The output leaves through boxes of 64 rows of one span, from two
// buffers a warpgroup.
#pragma once

#include "warpfold/hopper/tile_shape.h"
#include "warpfold/kernels/shared_plan.h"

namespace warpfold::kernels::gemm {

// cooperative: both multiplying warpgroups share a tile, half of its rows each: fewest bytes for a product.
// ping_pong: each takes every second tile, so that one stores while the other multiplies.
enum class Schedule : uint8_t { cooperative, ping_pong };

// ---- Tiles. `cluster` blocks take tiles one above the other and share their B tile by multicast.
struct Tile128x256Cluster2 {
  static constexpr const char* name = "128x256_cluster2";
  static constexpr int tile_m = 128, tile_n = 256, stages = 4, cluster = 2;
  static constexpr Schedule schedule = Schedule::cooperative;
};
struct Tile128x128PingPong {
  static constexpr const char* name = "128x128_pingpong";
  static constexpr int tile_m = 128, tile_n = 128, stages = 6, cluster = 1;
  static constexpr Schedule schedule = Schedule::ping_pong;
};
struct Tile128x128PingPongCluster2 {
  static constexpr const char* name = "128x128_pingpong_cluster2";
  static constexpr int tile_m = 128, tile_n = 128, stages = 6, cluster = 2;
  static constexpr Schedule schedule = Schedule::ping_pong;
};
struct Tile128x192PingPong {
  static constexpr const char* name = "128x192_pingpong";
  static constexpr int tile_m = 128, tile_n = 192, stages = 4, cluster = 1;
  static constexpr Schedule schedule = Schedule::ping_pong;
};
struct Tile64x64PingPong {
  static constexpr const char* name = "64x64_pingpong";
  static constexpr int tile_m = 64, tile_n = 64, stages = 8, cluster = 1;
  static constexpr Schedule schedule = Schedule::ping_pong;
};

enum class TileId : uint8_t {
  m128_n128_ping_pong,
  m128_n128_ping_pong_cluster2,
  m128_n192_ping_pong,
  m64_n64_ping_pong,
  m128_n256_cluster2
};
inline constexpr TileId all_tiles[] = {TileId::m128_n128_ping_pong, TileId::m128_n128_ping_pong_cluster2,
                                       TileId::m128_n192_ping_pong, TileId::m64_n64_ping_pong,
                                       TileId::m128_n256_cluster2};

// f(Tile{}) of the tile that `id` names.
template <class Function>
constexpr auto with_tile(TileId id, Function f) {
  switch (id) {
    case TileId::m128_n128_ping_pong_cluster2:
      return f(Tile128x128PingPongCluster2{});
    case TileId::m128_n192_ping_pong:
      return f(Tile128x192PingPong{});
    case TileId::m64_n64_ping_pong:
      return f(Tile64x64PingPong{});
    case TileId::m128_n256_cluster2:
      return f(Tile128x256Cluster2{});
    case TileId::m128_n128_ping_pong:
      break;
  }
  return f(Tile128x128PingPong{});
}

template <class ElementType, class OutputType, class TileType>
struct Config : TileType {
  using Element = ElementType;  // of A and B
  using Output = OutputType;    // of C and D
  using TileType::cluster;
  using TileType::schedule;
  using TileType::stages;
  using TileType::tile_m;
  using TileType::tile_n;

  static constexpr int tile_k = 128 / int(sizeof(Element));  // one span
  static constexpr bool ping_pong = schedule == Schedule::ping_pong;
  static constexpr int math_warpgroups = 2;
  static constexpr int owners = ping_pong ? 1 : math_warpgroups;  // warpgroups that work on one tile
  static constexpr int warpgroup_m = tile_m / owners;
  static constexpr int row_blocks = warpgroup_m / 64;  // WGMMAs of one warpgroup at each step of K
  static constexpr int threads = 128 * (1 + math_warpgroups);
  static constexpr int b_share = tile_n / cluster;  // rows of the B tile that each block fetches

  using Product = hopper::Wgmma<Element, Element, tile_n>;
  using ATile = hopper::TileShape<Element, tile_m, tile_k>;              // (tile_m, tile_k)
  using BTile = hopper::TileShape<Element, tile_n, tile_k>;              // (tile_n, tile_k)
  using Box = hopper::TileShape<Output, 64, 128 / int(sizeof(Output))>;  // (64 rows, one span) of D or C
  static constexpr bool integers = hopper::is_integer_operand<Element>;
  static constexpr bool exact = integers && sizeof(Output) == 4;  // D is the int32 sums

  static constexpr int boxes_across = tile_n / Box::across;
  static constexpr int boxes = row_blocks * boxes_across;  // of one warpgroup and tile
  static constexpr int buffers = boxes > 1 ? 2 : 1;

  // Thread t of a warpgroup gives the address of this row and column of each 16 x 16 patch of a box to
  // stmatrix (and to ldmatrix for C): the four 8 x 8 matrices are the patch's quarters, as the accumulator
  // fragment holds them.
  static constexpr int patch_row(int t) { return t / 32 * 16 + t % 16; }
  static constexpr int patch_column(int t) { return t % 32 / 16 * 8; }

  // Arrivals that end a phase: `full` the producer and the bytes; `empty` one of each reading warp.
  static constexpr int full_bytes = ATile::bytes + BTile::bytes;
  static constexpr int empty_arrivals = 4 * owners * cluster;

  // Registers of a thread; the sum over the warpgroups fits the 64 Ki of a multiprocessor.
  static constexpr int producer_registers = 24, math_registers = 240;
  static constexpr int accumulators = row_blocks * Product::accumulators;

  struct Offsets {
    uint32_t a, b, box, full, empty, c_full, end;
  };
  static constexpr SharedPlan plan(Offsets& at) {
    SharedPlan p;
    at.a = p.add("A", stages, ATile::bytes, ATile::alignment);
    at.b = p.add("B", stages, BTile::bytes, BTile::alignment);
    at.box = p.add("boxes of D", math_warpgroups * buffers, Box::bytes, Box::alignment);
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

  static_assert(tile_m % (64 * owners) == 0, "a warpgroup multiplies blocks of 64 rows");
  static_assert(tile_n % Box::across == 0, "the output leaves in boxes of one span");
  static_assert(boxes % buffers == 0, "the next tile starts with the buffer that has been idle longest");
  static_assert(b_share % 8 == 0 && b_share * cluster == tile_n,
                "each block of a cluster fetches an equal share of B");
};

}  // namespace warpfold::kernels::gemm
