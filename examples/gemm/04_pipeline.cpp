// Step 4: a ring of stages, so that copies run ahead of the products.
//
//   D (M, N) = A (M, K) B (N, K)^T, A and B bf16 or tf32, sums in fp32, D bf16 or fp32; M and N multiples of
//   128, K of 64 (bf16) or 32 (tf32)
//
// The one idea over step 3: several tiles are under way at a time. Shared memory holds a ring of stages with
// a barrier each. All are asked for before the first product, and a stage is filled again as soon as its
// products are over, for use a lap later. Its bytes then have the time of the other stages' products to
// arrive, about 512 cycles each, and the wait for them is over before it begins.
//
// The products form a pipeline, too: those of one tile are issued before those of the tile before have ended,
// so the tensor cores find their next work in the queue. Three stages of 32 KiB leave room for two blocks in
// a multiprocessor: while one stores its part of D, the other multiplies.
#include "ring.h"

namespace ladder::step4 {

template <class InType, class OutType>
struct Config {
  using In = InType;
  using Out = OutType;
  static constexpr int tile_m = 128, tile_n = 128, tile_k = 128 / int(sizeof(In));  // one swizzle span of K
  static constexpr int stages = 3;
  static constexpr int threads = 128;
  static constexpr int row_blocks = tile_m / 64;  // WGMMAs at each step of K
  using Product = Wgmma<In, In, tile_n>;          // (64, k) x (tile_n, k)
  using ATile = TileShape<In, tile_m, tile_k>;    // (tile_m, tile_k)
  using BTile = TileShape<In, tile_n, tile_k>;    // (tile_n, tile_k)
  static constexpr int a = 0, b = a + stages * ATile::bytes, full = b + stages * BTile::bytes,
                       shared_bytes = full + stages * 8;
};

template <class C>
WF_KERNEL(C::threads)
gemm_kernel(WF_PARAM TensorMap map_a, WF_PARAM TensorMap map_b, typename C::Out* d, int n, int k) {
  using Product = typename C::Product;
  const Stages<C> stages{dynamic_shared()};
  const int tiles_across = n / C::tile_n, tiles_deep = k / C::tile_k;
  const int row = block_id() / tiles_across * C::tile_m, column = block_id() % tiles_across * C::tile_n;
  const auto fetch = [&](int stage, int tile) {
    mbarrier_arrive_expect_tx(stages.full(stage), C::ATile::bytes + C::BTile::bytes);
    stages.a(stage).load(map_a, stages.full(stage), row, tile * C::tile_k);
    stages.b(stage).load(map_b, stages.full(stage), column, tile * C::tile_k);
  };
  if (thread_id() == 0) {
    for (int i = 0; i < C::stages; ++i) mbarrier_init(stages.full(i), 1, "full", i);
    fence_mbarrier_init();
    for (int i = 0; i < C::stages && i < tiles_deep; ++i) fetch(i, i);
  }
  block_sync();

  float sums[C::row_blocks][Product::accumulators];  // (64, tile_n) each
  RingCursor<C::stages> ring;
  int previous = 0;  // stage of the tile before
  for (int tile = 0; tile < tiles_deep; ++tile) {
    mbarrier_wait(stages.full(ring.stage), ring.parity);
    const uint64_t a = stages.a(ring.stage).descriptor(), b = stages.b(ring.stage).descriptor();
    WF_UNROLL
    for (int r = 0; r < C::row_blocks; ++r) keep_in_registers(sums[r]);
    wgmma_fence();
    WF_UNROLL
    for (int step = 0; step < C::tile_k / Product::k; ++step) WF_UNROLL
    for (int r = 0; r < C::row_blocks; ++r)
      wgmma<Product>(sums[r], a + Tile<typename C::ATile>::descriptor_step(r * 64, step),
                     b + Tile<typename C::BTile>::descriptor_step(0, step), tile > 0 || step > 0);
    wgmma_commit();
    // The products of the tile before are over, in this warp and then in all: its stage takes a later tile.
    wgmma_wait<1>();
    block_sync();
    const int next = tile - 1 + C::stages;
    if (thread_id() == 0 && tile > 0 && next < tiles_deep) fetch(previous, next);
    previous = ring.stage;
    ring.advance();
  }
  wgmma_wait<0>();
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

}  // namespace ladder::step4

LADDER_STEP(04, ladder::step4::Config, ladder::step4::gemm)
