// Step 5: a warp of its own for the copies.
//
//   D (M, N) = A (M, K) B (N, K)^T, A and B bf16 or tf32, sums in fp32, D bf16 or fp32; M and N multiples of
//   128, K of 64 (bf16) or 32 (tf32)
//
// The one idea over step 4: roles. There, the warp that multiplies also copies, and all four warps meet at a
// barrier of the block for every tile so that its first thread may refill a stage. Here a fifth warp does
// nothing but fill the ring, and the two sides meet only through the stages' barriers, of which each stage
// has two:
//
//   full     the stage's bytes have arrived       consumers wait; the producer's copies complete it
//   empty    all consumer warps have read it      the producer waits; a lane of each warp arrives
//
// The consumers no longer wait for one another, and issue nothing that is not a product or a wait. Expect
// little at this size, for step 4 already hides the copies. The roles are what the next steps need: with two
// warpgroups, or two blocks, there is no single place any more at which all have read a stage.
#include "ring.h"

namespace ladder::step5 {

template <class InType, class OutType>
struct Config {
  using In = InType;
  using Out = OutType;
  static constexpr int tile_m = 128, tile_n = 128, tile_k = 128 / int(sizeof(In));  // one swizzle span of K
  static constexpr int stages = 3;
  static constexpr int consumer_warps = 4, threads = 32 * (consumer_warps + 1);
  static constexpr int row_blocks = tile_m / 64;  // WGMMAs at each step of K
  using Product = Wgmma<In, In, tile_n>;          // (64, k) x (tile_n, k)
  using ATile = TileShape<In, tile_m, tile_k>;    // (tile_m, tile_k)
  using BTile = TileShape<In, tile_n, tile_k>;    // (tile_n, tile_k)
  static constexpr int a = 0, b = a + stages * ATile::bytes, full = b + stages * BTile::bytes,
                       empty = full + stages * 8, shared_bytes = empty + stages * 8;
};

// One thread: fills the ring.
template <class C>
WF_ATOM void produce(Stages<C> stages, const TensorMap& map_a, const TensorMap& map_b, int row, int column,
                     int k) {
  RingCursor<C::stages> ring;
  for (int x = 0; x < k; x += C::tile_k, ring.advance()) {
    const Barrier full = stages.full(ring.stage);
    mbarrier_wait(stages.empty(ring.stage), ring.parity ^ 1);  // a fresh barrier lets the first lap pass
    mbarrier_arrive_expect_tx(full, C::ATile::bytes + C::BTile::bytes);
    stages.a(ring.stage).load(map_a, full, row, x);
    stages.b(ring.stage).load(map_b, full, column, x);
  }
}

// A warpgroup: multiplies what is in the ring and stores the sums to the tile of D (.., n) that begins at
// `corner`.
template <class C>
WF_ATOM void consume(Stages<C> stages, typename C::Out* corner, int n, int k) {
  using Product = typename C::Product;
  float sums[C::row_blocks][Product::accumulators];  // (64, tile_n) each
  RingCursor<C::stages> ring;
  int previous = -1;  // stage of the tile before
  for (int x = 0; x < k; x += C::tile_k) {
    mbarrier_wait(stages.full(ring.stage), ring.parity);
    const uint64_t a = stages.a(ring.stage).descriptor(), b = stages.b(ring.stage).descriptor();
    WF_UNROLL
    for (int r = 0; r < C::row_blocks; ++r) keep_in_registers(sums[r]);
    wgmma_fence();
    WF_UNROLL
    for (int step = 0; step < C::tile_k / Product::k; ++step) WF_UNROLL
    for (int r = 0; r < C::row_blocks; ++r)
      wgmma<Product>(sums[r], a + Tile<typename C::ATile>::descriptor_step(r * 64, step),
                     b + Tile<typename C::BTile>::descriptor_step(0, step), x > 0 || step > 0);
    wgmma_commit();
    wgmma_wait<1>();  // the products of the tile before are over: this warp gives its stage back
    if (previous >= 0 && lane_id() == 0) mbarrier_arrive(stages.empty(previous));
    previous = ring.stage;
    ring.advance();
  }
  wgmma_wait<0>();  // nobody waits for the last stages: they need not be given back
  WF_UNROLL
  for (int r = 0; r < C::row_blocks; ++r) store_rows(sums[r], corner + int64_t(r * 64) * n, n);
}

template <class C>
WF_KERNEL(C::threads)
gemm_kernel(WF_PARAM TensorMap map_a, WF_PARAM TensorMap map_b, typename C::Out* d, int n, int k) {
  const Stages<C> stages{dynamic_shared()};
  const int tiles_across = n / C::tile_n;
  const int row = block_id() / tiles_across * C::tile_m, column = block_id() % tiles_across * C::tile_n;
  if (thread_id() == 0) {
    for (int i = 0; i < C::stages; ++i) {
      mbarrier_init(stages.full(i), 1, "full", i);
      mbarrier_init(stages.empty(i), C::consumer_warps, "empty", i);
    }
    fence_mbarrier_init();
  }
  block_sync();
  if (warp_id() < C::consumer_warps)
    consume(stages, d + int64_t(row) * n + column, n, k);
  else if (lane_id() == 0)
    produce(stages, map_a, map_b, row, column, k);
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

}  // namespace ladder::step5

LADDER_STEP(05, ladder::step5::Config, ladder::step5::gemm)
