// Step 3: rings of stages, so that copies run ahead of the products.
//
//   O = softmax (scale * Q K^T) V for each batch and head, f16, sums in fp32; seqlen_q a multiple of the
//   tile's rows, seqlen_k of its keys; head dim 64, 128 or 256
//
// The one idea over step 2: K and V have two buffers each. There, K_{n+1} comes while softmax and P V of tile
// n run, and V_n while Q K^T runs: about as long as the copy takes, when nothing else is in its way. Here a
// tile is asked for two tiles ahead, as soon as the buffer is free, and the waits for `full` are over before
// they begin.
//
// What it costs: shared memory, and with it company. A block waits for its own softmax, so the tensor cores
// need other blocks to be busy; two in a multiprocessor have 113 KiB each. At head dim 128 that is 128 rows
// of Q and 2 x 2 tiles of 64 keys, at 256 no more than 64 rows and 32 keys.
#include "ring.h"

namespace attention_ladder::step3 {

template <int kHeadDim, int kRows, int kKeys>
struct Config : RingTypes<TileTypes<kHeadDim, kRows, kKeys>, 2> {
  static constexpr int threads = 128;
  static constexpr int row_blocks = kRows / 64;  // WGMMAs at each step
};

template <class C>
WF_KERNEL(C::threads, 2)
attention_kernel(WF_PARAM TensorMap map_q, WF_PARAM TensorMap map_k, WF_PARAM TensorMap map_v,
                 WF_PARAM TensorMap map_o, Shape shape, float scale_log2) {
  const Stages<C> stages{dynamic_shared()};
  const Tile<typename C::QTile> q = stages.q();
  const Place at = place_of<C>(shape);
  const auto load = [&](auto tile, const TensorMap& map, Barrier barrier, int row) {
    mbarrier_arrive_expect_tx(barrier, decltype(tile)::Shape::bytes);
    tile.load(map, barrier, row, 0, at.head, at.batch);
  };
  if (thread_id() == 0) {
    mbarrier_init(stages.q_full(), 1, "Q full");
    for (int i = 0; i < C::stages; ++i) {
      mbarrier_init(stages.k_full(i), 1, "K full", i);
      mbarrier_init(stages.v_full(i), 1, "V full", i);
    }
    fence_mbarrier_init();
    load(q, map_q, stages.q_full(), at.row);
    for (int i = 0; i < C::stages && i < shape.key_tiles; ++i) {
      load(stages.k(i), map_k, stages.k_full(i), i * C::keys);
      load(stages.v(i), map_v, stages.v_full(i), i * C::keys);
    }
  }
  block_sync();

  typename C::Sums sums[C::row_blocks] = {};
  Softmax softmax[C::row_blocks];
  RingCursor<C::stages> ring;
  mbarrier_wait(stages.q_full(), 0);
  for (int n = 0; n < shape.key_tiles; ++n, ring.advance()) {
    const auto k = stages.k(ring.stage);
    const auto v = stages.v(ring.stage);
    const int next = n + C::stages;  // the tile that takes this one's place
    typename C::Scores scores[C::row_blocks];
    typename C::Probabilities p[C::row_blocks];
    mbarrier_wait(stages.k_full(ring.stage), ring.parity);
    wgmma_fence();
    WF_UNROLL
    for (int step = 0; step < C::head_dim / 16; ++step) WF_UNROLL
    for (int r = 0; r < C::row_blocks; ++r)
      wgmma<typename C::ScoreProduct>(scores[r], q.descriptor() + q.descriptor_step(r * 64, step),
                                      k.descriptor() + k.descriptor_step(0, step), step > 0);
    wgmma_commit();
    wgmma_wait<0>();
    block_sync();  // all warps have read K
    if (thread_id() == 0 && next < shape.key_tiles) load(k, map_k, stages.k_full(ring.stage), next * C::keys);
    WF_UNROLL
    for (int r = 0; r < C::row_blocks; ++r) {
      keep_in_registers(scores[r]);
      softmax[r].update(scores[r], scale_log2);
      softmax[r].rescale(sums[r]);
      to_operand_a(p[r], scores[r]);
      keep_in_registers(sums[r]);
    }
    mbarrier_wait(stages.v_full(ring.stage), ring.parity);
    wgmma_fence();
    WF_UNROLL
    for (int step = 0; step < C::keys / 16; ++step) WF_UNROLL
    for (int r = 0; r < C::row_blocks; ++r)
      wgmma<typename C::ValueProduct>(sums[r], p[r][step], v.descriptor() + v.descriptor_step(0, step), true);
    wgmma_commit();
    wgmma_wait<0>();
    WF_UNROLL
    for (int r = 0; r < C::row_blocks; ++r) keep_in_registers(sums[r]);
    block_sync();  // all warps have read V
    if (thread_id() == 0 && next < shape.key_tiles) load(v, map_v, stages.v_full(ring.stage), next * C::keys);
  }
  WF_UNROLL
  for (int r = 0; r < C::row_blocks; ++r)
    write_rows(q, r * 64, sums[r], softmax[r]);  // Q is not needed any more
  block_sync();
  if (thread_id() == 0) {
    q.store(map_o, at.row, 0, at.head, at.batch);
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
  const Shape shape{p.seqlen_q / C::rows, p.seqlen_k / C::keys, p.heads};
  return launch({.blocks = shape.row_tiles * p.heads * p.batches,
                 .threads = C::threads,
                 .shared_bytes = C::shared_bytes,
                 .stream = p.stream},
                attention_kernel<C>, q, k, v, o, shape, p.scale * 1.4426950408889634f);
}

using OwnTiles = Tiles<Config<64, 128, 64>, Config<128, 128, 64>, Config<256, 64, 32>>;

}  // namespace attention_ladder::step3

LADDER_STEP(03, step3, OwnTiles)
