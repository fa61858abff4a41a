// Step 7: two blocks fetch one tile of B together.
//
//   D (M, N) = A (M, K) B (N, K)^T, A and B bf16 or tf32, sums in fp32, D bf16 or fp32; M and N multiples of
//   256, K of 64 (bf16) or 32 (tf32)
//
// The one idea over step 6: a cluster. Two blocks, guaranteed to run at the same time on neighbouring
// multiprocessors, take tiles of D one above the other. Both need the same tile of B, so each asks for half
// of it and has the copy engine deliver that half to both (multicast). L2 reads each byte of B once for two
// blocks: 32 KiB for 1024 cycles of products, 32 bytes a cycle instead of 48. Where L2 keeps up
// anyway the time barely changes; what is saved then is power, which sets the clock of a chip at full load.
//
// What it asks of the ring: a stage may be filled when both blocks have read it, for half of it is written by
// the other. So a consumer warp arrives at the `empty` barriers of both blocks, and a block's producer waits
// for 16 warps. `full` stays a matter of one block: all the bytes of its stage arrive at its own barrier,
// whoever asked for them. And no block may end while the other can still write to its memory or arrive at its
// barriers.
#include "ring.h"

namespace ladder::step7 {

template <class InType, class OutType>
struct Config {
  using In = InType;
  using Out = OutType;
  static constexpr int tile_m = 128, tile_n = 256, tile_k = 128 / int(sizeof(In));  // one swizzle span of K
  static constexpr int stages = 4;
  static constexpr int cluster = 2;
  static constexpr int b_share = tile_n / cluster;  // rows of the tile of B that each block fetches
  static constexpr int consumers = 2, threads = 128 * (consumers + 1);  // warpgroups; the last one copies
  static constexpr int producer_registers = 24, consumer_registers = 240;
  using Product = Wgmma<In, In, tile_n>;        // (64, k) x (tile_n, k)
  using ATile = TileShape<In, tile_m, tile_k>;  // (tile_m, tile_k)
  using BTile = TileShape<In, tile_n, tile_k>;  // (tile_n, tile_k)
  static constexpr int a = 0, b = a + stages * ATile::bytes, full = b + stages * BTile::bytes,
                       empty = full + stages * 8, shared_bytes = empty + stages * 8;

  static_assert(tile_m == 64 * consumers, "a consumer multiplies 64 rows");
  static_assert(128 * (producer_registers + consumers * consumer_registers) <= 65536,
                "registers of the chip");
};

// One thread: fills this block's part of the ring, and its share of B in both blocks'.
template <class C>
WF_ATOM void produce(Stages<C> stages, const TensorMap& map_a, const TensorMap& map_b, int row, int column,
                     int k) {
  const int first = cluster_rank() * C::b_share;  // row of the tile of B
  constexpr int both = (1 << C::cluster) - 1;
  RingCursor<C::stages> ring;
  for (int x = 0; x < k; x += C::tile_k, ring.advance()) {
    const Barrier full = stages.full(ring.stage);
    mbarrier_wait(stages.empty(ring.stage), ring.parity ^ 1);
    mbarrier_arrive_expect_tx(full, C::ATile::bytes + C::BTile::bytes);
    stages.a(ring.stage).load(map_a, full, row, x);
    stages.b(ring.stage).load_rows_multicast(map_b, full, both, first, column + first, x);
  }
}

// A warpgroup: multiplies rows [first_row, first_row + 64) of the ring's tiles of A and stores the sums to
// the rows of D (.., n) that begin at `corner`.
template <class C>
WF_ATOM void consume(Stages<C> stages, int first_row, typename C::Out* corner, int n, int k) {
  using Product = typename C::Product;
  float sums[Product::accumulators];  // (64, tile_n)
  RingCursor<C::stages> ring;
  int previous = -1;  // stage of the tile before
  for (int x = 0; x < k; x += C::tile_k) {
    mbarrier_wait(stages.full(ring.stage), ring.parity);
    const uint64_t a = stages.a(ring.stage).descriptor(first_row), b = stages.b(ring.stage).descriptor();
    keep_in_registers(sums);
    wgmma_fence();
    WF_UNROLL
    for (int step = 0; step < C::tile_k / Product::k; ++step)
      wgmma<Product>(sums, a + Tile<typename C::ATile>::descriptor_step(0, step),
                     b + Tile<typename C::BTile>::descriptor_step(0, step), x > 0 || step > 0);
    wgmma_commit();
    wgmma_wait<1>();  // the products of the tile before are over: both blocks get its stage back
    if (previous >= 0 && lane_id() < C::cluster) mbarrier_arrive_remote(stages.empty(previous), lane_id());
    previous = ring.stage;
    ring.advance();
  }
  wgmma_wait<0>();
  store_rows(sums, corner, n);
}

template <class C>
WF_KERNEL(C::threads)
gemm_kernel(WF_PARAM TensorMap map_a, WF_PARAM TensorMap map_b, typename C::Out* d, int n, int k) {
  const Stages<C> stages{dynamic_shared()};
  const int tiles_across = n / C::tile_n, warpgroup = warpgroup_id();
  const int pair = block_id() / C::cluster;  // of blocks, which have neighbouring numbers
  const int row = (pair / tiles_across * C::cluster + cluster_rank()) * C::tile_m;
  const int column = pair % tiles_across * C::tile_n;
  if (thread_id() == 0) {
    for (int i = 0; i < C::stages; ++i) {
      mbarrier_init(stages.full(i), 1, "full", i);
      mbarrier_init(stages.empty(i), 4 * C::consumers * C::cluster, "empty", i);
    }
    fence_mbarrier_init();
  }
  cluster_sync();  // the other block's barriers are ready, too
  if (warpgroup == C::consumers) {
    registers_decrease<C::producer_registers>();
    if (thread_id() % 128 == 0) produce(stages, map_a, map_b, row, column, k);
  } else {
    registers_increase<C::consumer_registers>();
    const int first_row = warpgroup * 64;
    consume(stages, first_row, d + int64_t(row + first_row) * n + column, n, k);
  }
  // The other block has done all that it does here. Nothing is published, so relaxed is enough: it does not
  // wait for the stores.
  cluster_arrive<Order::relaxed>();
  cluster_wait();
}

template <class In, class Out>
Status gemm(const Problem<In, Out>& p) {
  using C = Config<In, Out>;
  WF_CHECK(whole_tiles(p, C::tile_m * C::cluster, C::tile_n, C::tile_k));
  WF_TRY(const TensorMap map_a, make_tensor_map(p.a, C::ATile::map(p.m, p.k, p.k)));
  WF_TRY(const TensorMap map_b, make_tensor_map(p.b, C::BTile::map(p.n, p.k, p.k, C::b_share)));
  return launch({.blocks = p.m / C::tile_m * (p.n / C::tile_n),
                 .threads = C::threads,
                 .shared_bytes = C::shared_bytes,
                 .cluster = C::cluster,
                 .stream = p.stream},
                gemm_kernel<C>, map_a, map_b, p.d, p.n, p.k);
}

}  // namespace ladder::step7

LADDER_STEP(07, ladder::step7::Config, ladder::step7::gemm)
