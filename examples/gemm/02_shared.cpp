// Step 2: tiles in shared memory.
//
//   D (M, N) = A (M, K) B (N, K)^T in fp32, A and B bf16 or tf32, D bf16 or fp32; M and N multiples of 128, K
//   of 64 (bf16) or 32 (tf32)
//
// The one idea over step 1: fetch once, use often. A block copies 128 rows of A and of B, 128 bytes of K
// deep, to shared memory, and from there each thread takes 8 rows of both to registers and forms their outer
// product. An element leaves global memory once for 128 multiplications, not once for each, and shared memory
// once for 8. That lifts the limit from memory to arithmetic: with 128 fp32 units in a multiprocessor the
// chip is bound by 67 TFLOPS, of which the loads between the multiplications take their share of the issue
// slots. In bf16 the conversions to fp32 do, too.
//
// The tiles are those that TMA and WGMMA will use from step 3 on, with the same swizzle, and for the same
// reason: 8 rows that lie 128 bytes apart would meet in the same banks; exchanging the 16-byte units of a row
// by its number spreads them over all.
#include "common.h"

namespace ladder::step2 {

template <class InType, class OutType>
struct Config {
  using In = InType;
  using Out = OutType;
  static constexpr int tile_m = 128, tile_n = 128, tile_k = 128 / int(sizeof(In));
  static constexpr int across = 16, down = 16;  // threads, along N and along M
  static constexpr int threads = across * down;
  static constexpr int thread_m = tile_m / down,
                       thread_n = tile_n / across;  // rows of A and of B of a thread
  using ATile = TileShape<In, tile_m, tile_k>;      // (tile_m, tile_k)
  using BTile = TileShape<In, tile_n, tile_k>;      // (tile_n, tile_k)
  static constexpr int a = 0, b = ATile::bytes, shared_bytes = b + BTile::bytes;

  // What one access to memory moves: 16 bytes along K.
  struct alignas(16) Unit {
    static constexpr int elements = 16 / int(sizeof(In));
    In x[elements];
  };
  static constexpr int units_across = tile_k / Unit::elements;
};

// Copies rows [row, row + tile_m or tile_n) of a matrix, columns [x, x + tile_k), to the tile. The 8 threads
// of a row read 128 consecutive bytes.
template <class C, class TileType>
WF_ATOM void fetch(TileType tile, const typename C::In* matrix, int row, int x, int k) {
  constexpr int units = TileType::Shape::rows * C::units_across;
  WF_UNROLL
  for (int begin = 0; begin < units; begin += C::threads) {
    const int i = begin + thread_id();
    const int r = i / C::units_across, unit = i % C::units_across * C::Unit::elements;
    const auto* source = reinterpret_cast<const typename C::Unit*>(matrix + int64_t(row + r) * k + x + unit);
    store_shared(tile.element(r, unit), load_global(source));
  }
}

template <class C>
WF_KERNEL(C::threads)
gemm_kernel(const typename C::In* a, const typename C::In* b, typename C::Out* d, int n, int k) {
  const Tile<typename C::ATile> a_tile{dynamic_shared() + C::a};
  const Tile<typename C::BTile> b_tile{dynamic_shared() + C::b};
  const int tiles_across = n / C::tile_n;
  const int row = block_id() / tiles_across * C::tile_m, column = block_id() % tiles_across * C::tile_n;
  // A thread owns every 16th row and column: neighbours then read neighbouring rows of B, without bank
  // conflicts.
  const int first_m = thread_id() / C::across, first_n = thread_id() % C::across;

  float sums[C::thread_m][C::thread_n] = {};
  for (int x = 0; x < k; x += C::tile_k) {
    fetch<C>(a_tile, a, row, x, k);
    fetch<C>(b_tile, b, column, x, k);
    block_sync();  // the tiles are complete
    for (int unit = 0; unit < C::tile_k; unit += C::Unit::elements) {
      typename C::Unit a_unit[C::thread_m];
      WF_UNROLL
      for (int i = 0; i < C::thread_m; ++i)
        a_unit[i] = load_shared<typename C::Unit>(a_tile.element(first_m + i * C::down, unit));
      WF_UNROLL
      for (int j = 0; j < C::thread_n; ++j) {
        const auto b_unit = load_shared<typename C::Unit>(b_tile.element(first_n + j * C::across, unit));
        WF_UNROLL
        for (int e = 0; e < C::Unit::elements; ++e) WF_UNROLL
        for (int i = 0; i < C::thread_m; ++i) sums[i][j] += number(a_unit[i].x[e]) * number(b_unit.x[e]);
      }
    }
    block_sync();  // all have read them
  }
  typename C::Out* first = d + int64_t(row + first_m) * n + column + first_n;
  WF_UNROLL
  for (int i = 0; i < C::thread_m; ++i) WF_UNROLL
  for (int j = 0; j < C::thread_n; ++j)
    store_global(first + int64_t(i * C::down) * n + j * C::across, rounded<typename C::Out>(sums[i][j]));
}

template <class In, class Out>
Status gemm(const Problem<In, Out>& p) {
  using C = Config<In, Out>;
  WF_CHECK(whole_tiles(p, C::tile_m, C::tile_n, C::tile_k));
  return launch({.blocks = p.m / C::tile_m * (p.n / C::tile_n),
                 .threads = C::threads,
                 .shared_bytes = C::shared_bytes,
                 .stream = p.stream},
                gemm_kernel<C>, p.a, p.b, p.d, p.n, p.k);
}

}  // namespace ladder::step2

LADDER_STEP(02, ladder::step2::Config, ladder::step2::gemm)
