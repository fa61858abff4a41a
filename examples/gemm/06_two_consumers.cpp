// Step 6: two warpgroups multiply, and the tile doubles.
//
//   D (M, N) = A (M, K) B (N, K)^T, A and B bf16 or tf32, sums in fp32, D bf16 or fp32; M a multiple of 128,
//   N of 256, K of 64 (bf16) or 32 (tf32)
//
// The one idea over step 5: a larger tile needs fewer bytes for its products. A tile of 128 x 128 wants 32
// KiB from L2 for 512 cycles of products: 64 bytes a cycle in every multiprocessor, about all that L2 can
// give. A tile of 128 x 256 wants 48 KiB for 1024 cycles, 48 bytes a cycle. Its sums are 128 registers in
// each of 256 threads, so two warpgroups share it, 64 rows each; both read the whole tile of B. An
// instruction now multiplies 64 x 256, the largest there is, and the one that reads shared memory least.
//
// Registers become scarce: 384 threads can have 168 each, which is not enough beside 128 sums. The producer
// needs next to none, so it gives its registers back, and the consumers take them. That is done by whole
// warpgroups, so the producer becomes one, of which a single thread works.
//
// What it costs: the ring fills shared memory, one block has the multiprocessor to itself, and while its
// sums are rounded and stored nobody multiplies. That is a few thousand cycles beside 65536 of products at
// K = 4096 in bf16, which step 5 did not lose, with its two blocks. Step 8 gets them back.
#include "ring.h"

namespace ladder::step6 {

template <class InType, class OutType>
struct Config {
  using In = InType;
  using Out = OutType;
  static constexpr int tile_m = 128, tile_n = 256, tile_k = 128 / int(sizeof(In));  // one swizzle span of K
  static constexpr int stages = 4;
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

// One thread: fills the ring.
template <class C>
WF_ATOM void produce(Stages<C> stages, const TensorMap& map_a, const TensorMap& map_b, int row, int column,
                     int k) {
  RingCursor<C::stages> ring;
  for (int x = 0; x < k; x += C::tile_k, ring.advance()) {
    const Barrier full = stages.full(ring.stage);
    mbarrier_wait(stages.empty(ring.stage), ring.parity ^ 1);
    mbarrier_arrive_expect_tx(full, C::ATile::bytes + C::BTile::bytes);
    stages.a(ring.stage).load(map_a, full, row, x);
    stages.b(ring.stage).load(map_b, full, column, x);
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
    wgmma_wait<1>();  // the products of the tile before are over: this warp gives its stage back
    if (previous >= 0 && lane_id() == 0) mbarrier_arrive(stages.empty(previous));
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
  const int row = block_id() / tiles_across * C::tile_m, column = block_id() % tiles_across * C::tile_n;
  if (thread_id() == 0) {
    for (int i = 0; i < C::stages; ++i) {
      mbarrier_init(stages.full(i), 1, "full", i);
      mbarrier_init(stages.empty(i), 4 * C::consumers, "empty", i);  // a lane of each warp
    }
    fence_mbarrier_init();
  }
  block_sync();
  if (warpgroup == C::consumers) {
    registers_decrease<C::producer_registers>();
    if (thread_id() % 128 == 0) produce(stages, map_a, map_b, row, column, k);
  } else {
    registers_increase<C::consumer_registers>();
    const int first_row = warpgroup * 64;
    consume(stages, first_row, d + int64_t(row + first_row) * n + column, n, k);
  }
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

}  // namespace ladder::step6

LADDER_STEP(06, ladder::step6::Config, ladder::step6::gemm)
