// Step 8: blocks that stay, and warpgroups that take turns: one multiplies while the other stores.
//
//   D (M, N) = A (M, K) B (N, K)^T, A and B bf16 or tf32, sums in fp32, D bf16 or fp32; M a multiple of 256,
//   N of 128, K of 64 (bf16) or 32 (tf32)
//
// The one idea over step 7: the tensor cores never wait for the end of a tile. There, all sums of a block
// were stored at the same time, with the tensor cores idle, and a new block began with an empty ring. Here a
// block stays and takes one tile after the other (persistence). Its consumers no longer share a tile: each
// multiplies every second one, 128 x 128, all by itself, and they take turns (ping-pong). While one
// multiplies, the other rounds its sums, writes them to shared memory box by box, and has TMA carry the boxes
// away. The producer runs on into the next tiles. Only the first fill of the ring and the last store are left
// in the open.
//
// The turns are needed for more than speed. A warpgroup skips the stages of the other's tiles without looking
// at their barriers; if it could run ahead by two laps, a barrier's parity would look the same as if it had
// not.
//
// The tile is half of step 7's, so it asks more of L2 again: 24 KiB for 512 cycles, 48 bytes a cycle. The
// library's kernel (include/warpfold/kernels/gemm) is this one, with other tiles, tails, alpha, beta and C.
#include "ring.h"
#include "warpfold/kernels/gemm/raster.h"

namespace ladder::step8 {

using warpfold::kernels::gemm::Shape;
using warpfold::kernels::gemm::TileWalk;  // the tiles of a cluster, in an order that keeps operands in L2

template <class InType, class OutType>
struct Config {
  using In = InType;
  using Out = OutType;
  static constexpr int tile_m = 128, tile_n = 128, tile_k = 128 / int(sizeof(In));  // one swizzle span of K
  static constexpr int stages = 6;
  static constexpr bool split = false;  // blocks take whole tiles
  static constexpr int cluster = 2, b_share = tile_n / cluster;
  static constexpr int consumers = 2, threads = 128 * (consumers + 1);  // warpgroups; the last one copies
  static constexpr int producer_registers = 24, consumer_registers = 240;
  static constexpr int row_blocks = tile_m / 64;             // WGMMAs at each step of K
  using Product = Wgmma<In, In, tile_n>;                     // (64, k) x (tile_n, k)
  using ATile = TileShape<In, tile_m, tile_k>;               // (tile_m, tile_k)
  using BTile = TileShape<In, tile_n, tile_k>;               // (tile_n, tile_k)
  using Box = TileShape<Out, 64, 128 / int(sizeof(Out))>;    // (64, one span) of D
  static constexpr int boxes_across = tile_n / Box::across;  // of the tile
  static constexpr int boxes = row_blocks * boxes_across;
  static constexpr int buffers = 2;  // of each consumer: TMA reads one while the other is written
  static constexpr int a = 0, b = a + stages * ATile::bytes, box = b + stages * BTile::bytes,
                       full = box + consumers * buffers * Box::bytes, empty = full + stages * 8,
                       shared_bytes = empty + stages * 8;

  static_assert(boxes % buffers == 0, "the next tile begins with the buffer that has been idle longest");
  static_assert(shared_bytes <= 227 * 1024, "shared memory of a block");
};

// One thread: fills the ring, for all tiles of the block.
template <class C>
WF_ATOM void produce(Stages<C> stages, const TensorMap& map_a, const TensorMap& map_b, Shape shape) {
  const int first = cluster_rank() * C::b_share;  // row of the tile of B
  constexpr int both = (1 << C::cluster) - 1;
  RingCursor<C::stages> ring;
  for (TileWalk<C> tile(shape); !tile.done(); tile.advance()) {
    const int row = tile.row(), column = tile.column();
    for (int x = 0; x < shape.k; x += C::tile_k, ring.advance()) {
      const Barrier full = stages.full(ring.stage);
      mbarrier_wait(stages.empty(ring.stage), ring.parity ^ 1);
      mbarrier_arrive_expect_tx(full, C::ATile::bytes + C::BTile::bytes);
      stages.a(ring.stage).load(map_a, full, row, x);
      stages.b(ring.stage).load_rows_multicast(map_b, full, both, first, column + first, x);
    }
  }
}

template <class C>
struct Consumer {
  using Product = typename C::Product;
  using Sums = float[C::row_blocks][Product::accumulators];  // (64, tile_n) each
  using Box = Tile<typename C::Box>;                         // (64, one span)
  Stages<C> stages;
  const TensorMap& map_d;  // of D (M, N)
  int warpgroup;

  WF_ATOM bool leader() const { return thread_id() % 128 == 0; }
  WF_ATOM void sync() const { named_sync(1 + warpgroup, 128); }
  WF_ATOM void await_turn() const { named_sync(3 + warpgroup, 256); }
  WF_ATOM void pass_turn() const { named_arrive(3 + (warpgroup ^ 1), 256); }
  WF_ATOM void release(int stage) const {  // one arrival of this warp at each block
    if (lane_id() < C::cluster) mbarrier_arrive_remote(stages.empty(stage), lane_id());
  }

  // Multiplies the next `tiles_deep` stages in one turn.
  WF_ATOM void multiply(Sums& sums, RingCursor<C::stages>& ring, int tiles_deep) const {
    int previous = 0;
    await_turn();
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
      wgmma_wait<1>();
      if (tile > 0) release(previous);
      previous = ring.stage;
      ring.advance();
    }
    pass_turn();  // all products are issued: the other's follow without a gap
    wgmma_wait<0>();
    release(previous);
    WF_UNROLL
    for (int r = 0; r < C::row_blocks; ++r) keep_in_registers(sums[r]);
  }

  // Stores the sums to the tile of D that begins at (row, column), by way of the boxes.
  WF_ATOM void store(const Sums& sums, int row, int column) const {
    const int t = thread_id() % 128;
    WF_UNROLL
    for (int i = 0; i < C::boxes; ++i) {
      const Box box{stages.shared + C::box +
                    uint32_t((warpgroup * C::buffers + i % C::buffers) * C::Box::bytes)};
      if (leader()) bulk_wait_read<C::buffers - 1>();  // the buffer's previous box has left
      sync();
      const float* v = sums[i / C::boxes_across] + i % C::boxes_across * (C::Box::across / 2);
      WF_UNROLL
      for (int e = 0; e < C::Box::across / 2; e += 2)
        store_shared(box.element(accumulator_row(t, e), accumulator_column(t, e)),  // 4 or 8 bytes
                     pair_of<typename C::Out>(v[e], v[e + 1]));
      fence_async_shared();  // TMA is to see what the threads wrote
      sync();
      if (!leader()) continue;
      box.store(map_d, row + i / C::boxes_across * 64, column + i % C::boxes_across * C::Box::across);
      bulk_commit();
    }
  }

  WF_ATOM void run(Shape shape) const {
    const int tiles_deep = shape.k / C::tile_k;
    RingCursor<C::stages> ring;
    TileWalk<C> tile(shape);
    if (warpgroup == 1) {  // begins with the second tile, and lets the other begin
      tile.advance();
      ring.advance(tiles_deep);
      pass_turn();
    }
    for (; !tile.done(); tile.advance(C::consumers), ring.advance(tiles_deep)) {
      Sums sums;
      multiply(sums, ring, tiles_deep);
      store(sums, tile.row(), tile.column());
    }
    if (leader()) bulk_wait_read<0>();  // shared memory outlives the stores
  }
};

template <class C>
WF_KERNEL(C::threads)
gemm_kernel(WF_PARAM TensorMap map_a, WF_PARAM TensorMap map_b, WF_PARAM TensorMap map_d, Shape shape) {
  const Stages<C> stages{dynamic_shared()};
  const int warpgroup = warpgroup_id();
  if (thread_id() == 0) {
    for (int i = 0; i < C::stages; ++i) {
      mbarrier_init(stages.full(i), 1, "full", i);
      mbarrier_init(stages.empty(i), 4 * C::cluster, "empty", i);  // of a stage's one consumer a block
    }
    fence_mbarrier_init();
  }
  cluster_sync();
  if (warpgroup == C::consumers) {
    registers_decrease<C::producer_registers>();
    if (thread_id() % 128 == 0) produce(stages, map_a, map_b, shape);
  } else {
    registers_increase<C::consumer_registers>();
    Consumer<C>{stages, map_d, warpgroup}.run(shape);
  }
  cluster_arrive<Order::relaxed>();
  cluster_wait();
}

template <class In, class Out>
Status gemm(const Problem<In, Out>& p) {
  using C = Config<In, Out>;
  WF_CHECK(whole_tiles(p, C::tile_m * C::cluster, C::tile_n, C::tile_k));
  WF_TRY(const TensorMap map_a, make_tensor_map(p.a, C::ATile::map(p.m, p.k, p.k)));
  WF_TRY(const TensorMap map_b, make_tensor_map(p.b, C::BTile::map(p.n, p.k, p.k, C::b_share)));
  WF_TRY(const TensorMap map_d, make_tensor_map(p.d, C::Box::map(p.m, p.n, p.n)));
  const int tiles = p.m / C::tile_m * (p.n / C::tile_n);
  return launch({.blocks = std::min(tiles, p.multiprocessors / C::cluster * C::cluster),
                 .threads = C::threads,
                 .shared_bytes = C::shared_bytes,
                 .cluster = C::cluster,
                 .stream = p.stream},
                gemm_kernel<C>, map_a, map_b, map_d, Shape{p.m, p.n, p.k, 1});
}

}  // namespace ladder::step8

LADDER_STEP(08, ladder::step8::Config, ladder::step8::gemm)
