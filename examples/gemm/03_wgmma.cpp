// Step 3: TMA brings the tiles, WGMMA multiplies them. The kernel of the post: one warpgroup, one barrier.
//
//   D (M, N) = A (M, K) B (N, K)^T, A and B bf16 or tf32, sums in fp32, D bf16 or fp32; M and N multiples of
//   128, K of 64 (bf16) or 32 (tf32)
//
// The one idea over step 2: Hopper's two engines do the work, and 128 threads only direct them. One thread
// asks the copy engine for a tile of A and of B; the bytes arrive at an mbarrier, already swizzled. Then the
// warpgroup issues WGMMAs, each of which multiplies 64 rows of A with the 128 rows of B for 32 bytes of K
// straight from shared memory. The sums stay in registers, 128 a thread. The tensor cores do 989 (bf16) or
// 495 (tf32) TFLOPS where the fp32 units do 67.
//
// What still costs: a block first waits for its tiles, then multiplies them, and never does both. The tiles
// are 512 cycles of products, but their bytes take longer than that to come. Other blocks fill the gap: the
// 154 registers of a thread leave room for three in a multiprocessor.
#include "common.h"

namespace ladder::step3 {

template <class InType, class OutType>
struct Config {
  using In = InType;
  using Out = OutType;
  static constexpr int tile_m = 128, tile_n = 128, tile_k = 128 / int(sizeof(In));  // one swizzle span of K
  static constexpr int threads = 128;
  static constexpr int row_blocks = tile_m / 64;  // WGMMAs at each step of K
  using Product = Wgmma<In, In, tile_n>;          // (64, k) x (tile_n, k)
  using ATile = TileShape<In, tile_m, tile_k>;    // (tile_m, tile_k)
  using BTile = TileShape<In, tile_n, tile_k>;    // (tile_n, tile_k)
  static constexpr int a = 0, b = ATile::bytes, loaded = b + BTile::bytes, shared_bytes = loaded + 8;
};

template <class C>
WF_KERNEL(C::threads)
gemm_kernel(WF_PARAM TensorMap map_a, WF_PARAM TensorMap map_b, typename C::Out* d, int n, int k) {
  using Product = typename C::Product;
  const Tile<typename C::ATile> a{dynamic_shared() + C::a};
  const Tile<typename C::BTile> b{dynamic_shared() + C::b};
  const Barrier loaded{dynamic_shared() + C::loaded};
  const int tiles_across = n / C::tile_n;
  const int row = block_id() / tiles_across * C::tile_m, column = block_id() % tiles_across * C::tile_n;
  if (thread_id() == 0) {
    mbarrier_init(loaded, 1, "loaded");  // the one arrival is that of the thread that asks for the bytes
    fence_mbarrier_init();
  }
  block_sync();

  float sums[C::row_blocks][Product::accumulators];  // (64, tile_n) each
  uint32_t parity = 0;
  for (int x = 0; x < k; x += C::tile_k, parity ^= 1) {
    if (thread_id() == 0) {
      mbarrier_arrive_expect_tx(loaded, C::ATile::bytes + C::BTile::bytes);
      a.load(map_a, loaded, row, x);
      b.load(map_b, loaded, column, x);
    }
    mbarrier_wait(loaded, parity);
    wgmma_fence();
    WF_UNROLL
    for (int step = 0; step < C::tile_k / Product::k; ++step) WF_UNROLL
    for (int r = 0; r < C::row_blocks; ++r)
      wgmma<Product>(sums[r], a.descriptor() + a.descriptor_step(r * 64, step),
                     b.descriptor() + b.descriptor_step(0, step), x > 0 || step > 0);
    wgmma_commit();
    wgmma_wait<0>();
    block_sync();  // all four warps have read the tiles: the next ones may come
  }
  typename C::Out* corner = d + int64_t(row) * n + column;
  WF_UNROLL
  for (int r = 0; r < C::row_blocks; ++r) store_rows(sums[r], corner + int64_t(r * 64) * n, n);
}

template <class In, class Out>
Status gemm(const Problem<In, Out>& p) {
  using C = Config<In, Out>;
  WF_CHECK(whole_tiles(p, C::tile_m, C::tile_n, C::tile_k));
  WF_TRY(const TensorMap map_a, make_tensor_map(p.a, C::ATile::map(p.m, p.k, p.k)));
  WF_TRY(const TensorMap map_b, make_tensor_map(p.b, C::BTile::map(p.n, p.k, p.k)));
  return launch({.blocks = p.m / C::tile_m * (p.n / C::tile_n),
                 .threads = C::threads,
                 .shared_bytes = C::shared_bytes,
                 .stream = p.stream},
                gemm_kernel<C>, map_a, map_b, p.d, p.n, p.k);
}

}  // namespace ladder::step3

LADDER_STEP(03, ladder::step3::Config, ladder::step3::gemm)
