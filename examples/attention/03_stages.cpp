// Step 3: two stages, so that copies run ahead of the products; and two warpgroups, so that there is room.
//
//   O = softmax (scale * Q K^T) V for each batch and head, f16, sums in fp32; seqlen_q a multiple of 64,
//   seqlen_k of the tile's keys; head dim 64, 128 or 256
//
// The one idea over step 2: K and V have two buffers each. There, K comes while softmax and P V of the tile
// before run, and V while Q K^T runs, about as long as a copy takes when nothing is in its way. Here both are
// asked for a whole tile ahead: when tile n begins, n + 1 sets out. All warps meet once a tile, not twice;
// what they have read by then makes room for the tile after next.
//
// Stages take shared memory, and with it company, which the tensor cores need while a warpgroup computes its
// softmax. So two warpgroups, 64 rows of Q each, share a block's K and V. A multiprocessor has as many
// warpgroups as before, at head dim 128 two blocks of two instead of four of one, and each copy serves twice
// the rows.
//
// What still costs: the two warpgroups meet, so neither can be ahead of the other by more than a tile.
#include "ring.h"

namespace attention_ladder::step3 {

template <int kHeadDim, int kKeys, int kBlocks>
struct Config : RingTypes<TileTypes<kHeadDim, 64, kKeys>, 2, 2> {
  static constexpr int warpgroups = 2, rows = 64 * warpgroups, threads = 128 * warpgroups;
  static constexpr int blocks = kBlocks;  // of a multiprocessor
};

template <class C>
WF_KERNEL(C::threads, C::blocks)
attention_kernel(WF_PARAM TensorMap map_q, WF_PARAM TensorMap map_k, WF_PARAM TensorMap map_v,
                 WF_PARAM TensorMap map_o, Shape shape, float scale_log2) {
  const Stages<C> stages{dynamic_shared()};
  const Place at = place_of<C>(shape);
  const int warpgroup = warpgroup_id();
  const auto load = [&](auto tile, const TensorMap& map, Barrier barrier, int row) {
    mbarrier_arrive_expect_tx(barrier, decltype(tile)::Shape::bytes);
    tile.load(map, barrier, row, 0, at.head, at.batch);
  };
  const auto fetch = [&](int n) {  // K and V of tile n
    const int stage = n % C::stages;
    load(stages.k(stage), map_k, stages.k_full(stage), n * C::keys);
    load(stages.v(stage), map_v, stages.v_full(stage), n * C::keys);
  };
  if (thread_id() == 0) {
    for (int i = 0; i < C::warpgroups; ++i) mbarrier_init(stages.q_full(i), 1, "Q full", i);
    for (int i = 0; i < C::stages; ++i) {
      mbarrier_init(stages.k_full(i), 1, "K full", i);
      mbarrier_init(stages.v_full(i), 1, "V full", i);
    }
    fence_mbarrier_init();
    for (int i = 0; i < C::warpgroups; ++i) load(stages.q(i), map_q, stages.q_full(i), at.row + i * 64);
    fetch(0);
  }
  block_sync();

  typename C::Sums sums = {};
  Softmax softmax;
  RingCursor<C::stages> ring;
  const Tile<typename C::QTile> q = stages.q(warpgroup);
  mbarrier_wait(stages.q_full(warpgroup), 0);
  for (int n = 0; n < shape.key_tiles; ++n, ring.advance()) {
    if (thread_id() == 0 && n + 1 < shape.key_tiles) fetch(n + 1);
    const auto k = stages.k(ring.stage);
    const auto v = stages.v(ring.stage);
    typename C::Scores scores;
    typename C::Probabilities p;
    mbarrier_wait(stages.k_full(ring.stage), ring.parity);
    wgmma_fence();
    WF_UNROLL
    for (int step = 0; step < C::head_dim / 16; ++step)
      wgmma<typename C::ScoreProduct>(scores, q.descriptor() + q.descriptor_step(0, step),
                                      k.descriptor() + k.descriptor_step(0, step), step > 0);
    wgmma_commit();
    wgmma_wait<0>();
    keep_in_registers(scores);
    softmax.update(scores, scale_log2);
    softmax.rescale(sums);
    to_operand_a(p, scores);
    keep_in_registers(sums);
    mbarrier_wait(stages.v_full(ring.stage), ring.parity);
    wgmma_fence();
    WF_UNROLL
    for (int step = 0; step < C::keys / 16; ++step)
      wgmma<typename C::ValueProduct>(sums, p[step], v.descriptor() + v.descriptor_step(0, step), true);
    wgmma_commit();
    wgmma_wait<0>();
    keep_in_registers(sums);
    block_sync();  // all warps have read K and V
  }
  write_rows(q, 0, sums, softmax);  // Q is not needed any more
  block_sync();
  if (thread_id() % 128 == 0 && at.row + warpgroup * 64 < shape.seqlen_q) {
    q.store(map_o, at.row + warpgroup * 64, 0, at.head, at.batch);
    bulk_commit();
    bulk_wait_read<0>();  // shared memory outlives the store
  }
}

template <class C>
Status attention(const Problem& p) {
  WF_TRY(const TensorMap q, tensor_map<typename C::QTile>(p.q, p, p.seqlen_q));
  WF_TRY(const TensorMap k, tensor_map<typename C::KTile>(p.k, p, p.seqlen_k));
  WF_TRY(const TensorMap v, tensor_map<typename C::VTile>(p.v, p, p.seqlen_k));
  WF_TRY(const TensorMap o, tensor_map<typename C::QTile>(p.o, p, p.seqlen_q));
  const Shape shape = shape_of<C>(p);
  return launch({.blocks = shape.row_tiles * p.heads * p.batches,
                 .threads = C::threads,
                 .shared_bytes = C::shared_bytes,
                 .stream = p.stream},
                attention_kernel<C>, q, k, v, o, shape, p.scale * 1.4426950408889634f);
}

using OwnTiles = Tiles<Config<64, 128, 2>, Config<128, 64, 2>, Config<256, 64, 1>>;

}  // namespace attention_ladder::step3

LADDER_STEP(03, step3, OwnTiles)
