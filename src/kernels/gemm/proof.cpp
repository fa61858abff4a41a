// Every configuration that is compiled is proved here; one that is not stops the build with the reason.
#include <bit>

#include "warpfold/kernels/gemm/chain.h"
#include "warpfold/kernels/gemm/proofs.h"

namespace warpfold::kernels::gemm {
namespace {

using hopper::bf16;
using hopper::Major;

// A proof knows of an operand only its size (and whether it may have zero points), of a result its size and whether it is the exact sums, and of a fusion
// whether there are factors and pairs of columns. Configurations that agree in this share a proof.
template <class T, Fusion kFusion>
using Like = std::conditional_t<sizeof(T) == 1 && kFusion != Fusion::quantised, int8_t, std::conditional_t<sizeof(T) == 2, bf16, T>>;
constexpr Fusion like(Fusion f) { return f == Fusion::linear ? Fusion::full : f; }

template <class A, class B, class Output, class Tile, Fusion kFusion, Major kMajorA, Major kMajorB>
constexpr Chain of = chain<Config<Like<A, kFusion>, Like<B, kFusion>, Like<Output, kFusion>, Tile, like(kFusion), kMajorA, kMajorB>>();

// Proves all tiles of one kind of product, and gives their number.
template <class A, class B, class Output, Fusion kFusion = Fusion::none, Major kMajorA = Major::k,
          Major kMajorB = Major::k>
constexpr int prove() {
  constexpr uint32_t tiles = tiles_of({dtype_of<A>(), dtype_of<B>(), dtype_of<Output>(), kMajorA == Major::mn,
                                       kMajorB == Major::mn, kFusion});
  for (const TileId id : all_tiles)
    with_tile(id, []<class Tile>(Tile) {
      if constexpr ((tiles >> int(Tile::id) & 1) != 0) {
        if constexpr (Tile::swapped)
          static_assert(Proof<of<B, A, Output, Tile, kFusion, kMajorB, kMajorA>>::holds);
        else
          static_assert(Proof<of<A, B, Output, Tile, kFusion, kMajorA, kMajorB>>::holds);
      }
    });
  return std::popcount(tiles);
}
template <class T>
constexpr int prove_16_bit() {
  return prove<T, T, T, Fusion::quantised>() + prove<T, T, int8_t, Fusion::quantised>() + prove<T, T, T>() + prove<T, T, float>() + prove<T, T, T, Fusion::full>() + prove<T, T, T, Fusion::gated>() +
         prove<T, T, T, Fusion::none, Major::k, Major::mn>() + prove<T, T, T, Fusion::none, Major::mn, Major::k>() +
         prove<T, T, T, Fusion::none, Major::mn, Major::mn>();
}
template <class A, class B>
constexpr int prove_fp8() {
  return prove<A, B, bf16, Fusion::linear>();
}
template <class Output>
constexpr int prove_int8() {
  return prove<int8_t, int8_t, Output, Fusion::linear>() + prove<int8_t, int8_t, Output, Fusion::full>() +
         prove<int8_t, int8_t, Output, Fusion::quantised>();
}
// Grouped products: their tiles are those of plain ones, and their epilogue differs in what TMA stores.
template <class T, class Output, Fusion kFusion, class... Tiles>
constexpr bool grouped_hold() {
  return (Proof<of<T, T, Output, Grouped<Tiles>, kFusion, Major::k, Major::k>>::holds && ...);
}
static_assert(grouped_hold<bf16, bf16, Fusion::none, Tile128x128, Tile128x192, Tile64x64>() &&
              grouped_hold<bf16, bf16, Fusion::full, Tile128x128, Tile64x64, TileCopied>() &&
              grouped_hold<int8_t, int32_t, Fusion::none, Tile128x128, Tile128x192, Tile64x64, TileCopied>() &&
              grouped_hold<int8_t, bf16, Fusion::full, Tile128x128, Tile64x64, TileCopied, TilePromoted128, TileCopiedPromoted>());

constexpr int proved = prove_16_bit<bf16>() + prove_16_bit<hopper::f16>() +
                       prove<hopper::tf32, hopper::tf32, float>() + prove<int8_t, int8_t, int32_t>() +
                       prove<int8_t, int8_t, int8_t, Fusion::quantised>() + prove<int8_t, int8_t, int32_t, Fusion::quantised>() +
                       prove<int8_t, int8_t, float, Fusion::quantised>() + prove<hopper::e4m3, hopper::e4m3, bf16, Fusion::quantised>() +
                       prove_int8<bf16>() + prove_int8<hopper::f16>() + prove_fp8<hopper::e4m3, hopper::e4m3>() +
                       prove_fp8<hopper::e4m3, hopper::e5m2>() + prove_fp8<hopper::e5m2, hopper::e4m3>() +
                       prove_fp8<hopper::e5m2, hopper::e5m2>();

// Are these all that tiles_of() names?
constexpr int configurations() {
  constexpr DType types[] = {DType::kBF16, DType::kF16, DType::kF32, DType::kF8E4M3, DType::kF8E5M2, DType::kI8, DType::kI32};
  int count = 0;
  for (const DType a : types)
    for (const DType b : types)
      for (const DType output : types)
        for (const Fusion fusion : {Fusion::none, Fusion::linear, Fusion::full, Fusion::quantised, Fusion::gated})
          for (int majors = 0; majors < 4; ++majors)
            count += std::popcount(tiles_of({a, b, output, majors % 2 == 1, majors / 2 == 1, fusion}));
  return count;
}
static_assert(proved == configurations(), "a kind of product is compiled and not proved above");

}  // namespace

Chain chain_of(TileId id, DType type) {
  return with_tile(id, [=]<class Tile>(Tile) {
    constexpr auto has = [](DType in, DType out) { return (tiles_of({in, in, out}) >> int(Tile::id) & 1) != 0; };
    if constexpr (!has(DType::kBF16, DType::kBF16)) {
      return of<hopper::e4m3, hopper::e4m3, bf16, Tile, Fusion::linear, Major::k, Major::k>;
    } else if constexpr (!has(DType::kI8, DType::kI32)) {
      return type == DType::kI8 ? of<int8_t, int8_t, bf16, Tile, Fusion::linear, Major::k, Major::k>
                                : of<bf16, bf16, bf16, Tile, Fusion::none, Major::k, Major::k>;
    } else {
      return type == DType::kI8 ? of<int8_t, int8_t, int32_t, Tile, Fusion::none, Major::k, Major::k>
                                : of<bf16, bf16, bf16, Tile, Fusion::none, Major::k, Major::k>;
    }
  });
}

}  // namespace warpfold::kernels::gemm
