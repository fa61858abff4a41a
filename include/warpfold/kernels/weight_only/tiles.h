// The tiles of the weight-only product: 128 rows of W by some rows of A ("tokens").
#pragma once

#include "warpfold/kernels/gemm/tiles.h"
#include "warpfold/kernels/weight_only/packed.h"
#include "warpfold/kernels/weight_only/weight_only.h"

namespace warpfold::kernels::weight_only {

enum class TileId : uint8_t { tokens_16, tokens_32, tokens_64, tokens_128, tokens_256 };

// resident     blocks that fit a multiprocessor: with two, the weights of the next launch arrive while this one ends
// scaled_sums  codes are multiplied as integers, and the sums of each 32 of K are scaled: exact, and cheaper than
//              scaling the weights where a thread has fewer sums than weights. Else weights are scaled and rounded.
struct TileDefaults : gemm::TileDefaults {
  static constexpr gemm::Schedule schedule = gemm::Schedule::cooperative;
  static constexpr bool split = true, swapped = true, scaled_sums = false;
  static constexpr int tile_m = 128, resident = 1;
  static constexpr int stages = 0;  // as many as fit: Config
};
struct Tile16 : TileDefaults {
  static constexpr const char* name = "16_tokens";
  static constexpr TileId id = TileId::tokens_16;
  static constexpr int tile_n = 16, resident = 2;
  static constexpr bool scaled_sums = true;
};
struct Tile32 : Tile16 {
  static constexpr const char* name = "32_tokens";
  static constexpr TileId id = TileId::tokens_32;
  static constexpr int tile_n = 32, resident = 1;
};
struct Tile64 : TileDefaults {
  static constexpr const char* name = "64_tokens";
  static constexpr TileId id = TileId::tokens_64;
  static constexpr int tile_n = 64;
};
struct Tile128 : TileDefaults {
  static constexpr const char* name = "128_tokens";
  static constexpr TileId id = TileId::tokens_128;
  static constexpr int tile_n = 128;
};
struct Tile256 : TileDefaults {
  static constexpr const char* name = "256_tokens";
  static constexpr TileId id = TileId::tokens_256;
  static constexpr int tile_n = 256;
  static constexpr bool split = false;  // neighbouring blocks share tiles of A and W in L2
};

inline constexpr TileId all_tiles[] = {TileId::tokens_16, TileId::tokens_32, TileId::tokens_64, TileId::tokens_128,
                                       TileId::tokens_256};

// f(Tile{}) of the tile that `id` names.
template <class Function>
constexpr auto with_tile(TileId id, Function f) {
  switch (id) {
    case TileId::tokens_32:
      return f(Tile32{});
    case TileId::tokens_64:
      return f(Tile64{});
    case TileId::tokens_128:
      return f(Tile128{});
    case TileId::tokens_256:
      return f(Tile256{});
    case TileId::tokens_16:
      break;
  }
  return f(Tile16{});
}

// Boxes of 256 rows of 32-bit results leave no room for the ring.
constexpr bool is_compiled(TileId id, DType output) { return id != TileId::tokens_256 || output != DType::kF32; }

}  // namespace warpfold::kernels::weight_only
