// Configurations of the weight-only kernel: a format of weights, a type of D, a tile, and what follows from them.
//
//   D (M, N) = epilogue (A (M, K) W (N, K)^T),  as  D^T = W A^T: rows of W fill the 64 rows of a WGMMA
//
// Sums and their way out are those of a swapped tile of the GEMM. Operands are not: a stage holds packed chunks of 128
// rows of W, which the two multiplying warpgroups turn into operand A in registers, 64 rows each, and a tile of A (M, K),
// which is operand B in shared memory.
#pragma once

#include "warpfold/kernels/gemm/config.h"
#include "warpfold/kernels/weight_only/tiles.h"

namespace warpfold::kernels::weight_only {

template <DType kWeights, class OutputType, class TileType>
struct Config : gemm::Config<hopper::bf16, hopper::bf16, OutputType, TileType, gemm::Fusion::full> {
  using Gemm = gemm::Config<hopper::bf16, hopper::bf16, OutputType, TileType, gemm::Fusion::full>;
  using Gemm::math_warpgroups;
  using Gemm::tile_m;
  using Gemm::tile_n;
  using Box = typename Gemm::Box;
  static constexpr DType weights = kWeights;
  static constexpr bool scaled_sums = TileType::scaled_sums;
  static constexpr bool sums_of_x = scaled_sums && has_minimum(weights);  // the minimum multiplies them
  static constexpr int resident = sums_of_x ? 1 : TileType::resident;     // they take too many registers for two

  // Two chunks of a stage halve its overhead, where they are small and their registers fit.
  static constexpr int tile_k = kWeights == DType::kQ4_0 && tile_n <= 32 ? 128 : 64;
  static constexpr int chunks = tile_k / chunk_k;
  static constexpr int weight_bytes = chunks * chunk_bytes(weights);  // of a stage
  using XTile = hopper::TileShape<hopper::bf16, tile_n, tile_k>;      // of A (M, K): (tile_n, tile_k)
  static constexpr int empty_arrivals = 4 * math_warpgroups;          // one of each reading warp

  // Only whole warpgroups hand registers on; where that is not needed, the producer is one warp.
  static constexpr bool moves_registers = resident == 1;
  static constexpr int producer_threads = moves_registers ? 128 : 32;
  static constexpr int threads = 128 * math_warpgroups + producer_threads;
  // A quarter of the registers and of the warps belongs to each scheduler.
  static constexpr int math_registers =
      moves_registers ? 240 : 65536 / 4 / 32 / ((resident * threads / 32 + 3) / 4) / 8 * 8;
  static constexpr int producer_registers = moves_registers ? 24 : math_registers;

  struct Offsets {
    uint32_t x, box, weights, factors, full, empty, c_full, end;
  };
  static constexpr SharedPlan plan(Offsets& at, int ring) {
    SharedPlan p;
    at.x = p.add("A", ring, XTile::bytes, XTile::alignment);
    at.box = p.add("boxes of D", math_warpgroups * Gemm::buffers, Box::bytes, Box::alignment);
    at.weights = p.add("weights", ring, weight_bytes, 128);
    at.factors = p.add("column factors", math_warpgroups, tile_n * int(sizeof(gemm::Factor)), 16);
    at.full = p.add("full", ring, 8, 8);
    at.empty = p.add("empty", ring, 8, 8);
    at.c_full = p.add("C arrived", math_warpgroups * Gemm::buffers, 8, 8);
    at.end = uint32_t(p.bytes);
    return p;
  }
  // A multiprocessor has 228 KiB, of which each block costs one besides its own.
  static constexpr int shared_limit = resident == 1 ? 227 * 1024 : 228 * 1024 / resident - 1024;
  static constexpr int most_stages() {
    Offsets at{};
    int ring = 1;
    while (plan(at, ring + 1).bytes <= shared_limit) ++ring;
    return ring;
  }
  static constexpr int stages = most_stages();
  static constexpr SharedPlan plan() {
    Offsets at{};
    return plan(at, stages);
  }
  static constexpr Offsets offsets() {
    Offsets at{};
    plan(at, stages);
    return at;
  }
  static constexpr int shared_bytes = offsets().end;

  static_assert(tile_m == panel_rows && math_warpgroups == 2, "a warpgroup multiplies half of a chunk's rows");
  static_assert(tile_k <= panel_k && panel_k % tile_k == 0, "the last stage has whole chunks");
};

}  // namespace warpfold::kernels::weight_only
