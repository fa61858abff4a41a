// Step 5: consumers take turns (ping-pong): one multiplies while another computes its softmax.
//
//   O = softmax (scale * Q K^T) V for each batch and head, f16, sums in fp32; seqlen_q a multiple of 64,
//   seqlen_k of the tile's keys; head dim 64, 128 or 256
//
// The one idea over step 4: an order between the consumers. At head dim 128 a tile of 64 x 128 keys is 1024
// cycles of products, with the multiprocessor's tensor cores for itself, and 8192 exponentials, at 16 a cycle
// 512 cycles, with about as many again for maxima, sums and corrections. Side by side they fit; one behind
// the other they do not. So a consumer issues its products only in its turn, that with V of one tile and that
// with K of the next together, and then hands the turn over:
//
//   consumer 0   | P V, Q K^T |  softmax   | P V, Q K^T |  softmax   |
//   consumer 1   |  softmax   | P V, Q K^T |  softmax   | P V, Q K^T |
//
// A turn is a named barrier of 256 threads: 128 wait for their turn there, and the 128 of the consumer before
// arrive when they have issued theirs. All take as many turns, so all stay in step.
//
// What still costs: inside a consumer nothing overlaps. While it computes exponentials, its products are
// over.
#include "ring.h"

namespace attention_ladder::step5 {

template <int kHeadDim, int kKeys, int kConsumers>
struct Config : RingTypes<TileTypes<kHeadDim, 64, kKeys>, 2, kConsumers> {
  static constexpr int consumers = kConsumers,
                       threads = 128 * (consumers + 1);  // warpgroups; the last one copies
  static constexpr int rows = 64 * consumers;
  static constexpr int producer_registers = consumers == 2 ? 24 : 32,
                       consumer_registers = consumers == 2 ? 240 : 160;
  static_assert(128 * (producer_registers + consumers * consumer_registers) <= 65536,
                "registers of the chip");
};

// One thread: brings Q and fills the rings.
template <class C>
WF_ATOM void produce(Stages<C> stages, const TensorMap& map_q, const TensorMap& map_k, const TensorMap& map_v,
                     Place at, int key_tiles) {
  const auto load = [&](auto tile, const TensorMap& map, Barrier barrier, int row) {
    mbarrier_arrive_expect_tx(barrier, decltype(tile)::Shape::bytes);
    tile.load(map, barrier, row, 0, at.head, at.batch);
  };
  for (int i = 0; i < C::consumers; ++i) load(stages.q(i), map_q, stages.q_full(i), at.row + i * 64);
  RingCursor<C::stages> ring;
  for (int n = 0; n < key_tiles; ++n, ring.advance()) {
    mbarrier_wait(stages.k_empty(ring.stage), ring.parity ^ 1);  // a fresh barrier lets the first lap pass
    load(stages.k(ring.stage), map_k, stages.k_full(ring.stage), n * C::keys);
    mbarrier_wait(stages.v_empty(ring.stage), ring.parity ^ 1);
    load(stages.v(ring.stage), map_v, stages.v_full(ring.stage), n * C::keys);
  }
}

// A warpgroup: 64 rows of the block's tile.
template <class C>
struct Consumer {
  Stages<C> stages;
  int warpgroup;
  float scale_log2;

  WF_ATOM void issue_scores(typename C::Scores& scores, RingCursor<C::stages> at) const {
    mbarrier_wait(stages.k_full(at.stage), at.parity);
    const uint64_t a = stages.q(warpgroup).descriptor(), b = stages.k(at.stage).descriptor();
    wgmma_fence();
    WF_UNROLL
    for (int step = 0; step < C::head_dim / 16; ++step)
      wgmma<typename C::ScoreProduct>(scores, a + Tile<typename C::QTile>::descriptor_step(0, step),
                                      b + Tile<typename C::KTile>::descriptor_step(0, step), step > 0);
    wgmma_commit();
  }
  WF_ATOM void issue_values(typename C::Sums& sums, const typename C::Probabilities& p,
                            RingCursor<C::stages> at) const {
    mbarrier_wait(stages.v_full(at.stage), at.parity);
    const uint64_t b = stages.v(at.stage).descriptor();
    keep_in_registers(sums);
    wgmma_fence();
    WF_UNROLL
    for (int step = 0; step < C::keys / 16; ++step)
      wgmma<typename C::ValueProduct>(sums, p[step], b + Tile<typename C::VTile>::descriptor_step(0, step),
                                      true);
    wgmma_commit();
  }
  // This warp has read the stage, for its products are over.
  WF_ATOM void release(Barrier empty) const {
    if (lane_id() == 0) mbarrier_arrive(empty);
  }

  // Turns to issue products.
  WF_ATOM void await_turn() const { named_sync(1 + warpgroup, 256); }
  WF_ATOM void pass_turn() const { named_arrive(1 + (warpgroup + 1) % C::consumers, 256); }

  WF_ATOM void run(typename C::Sums& sums, Softmax& softmax, int key_tiles) const {
    RingCursor<C::stages> k, v;  // K is one tile ahead
    typename C::Probabilities p;
    const auto first = [&] {
      typename C::Scores scores;
      issue_scores(scores, k);
      wgmma_wait<0>();
      keep_in_registers(scores);
      release(stages.k_empty(k.stage));
      softmax.update(scores, scale_log2);
      to_operand_a(p, scores);
    };
    if (warpgroup == C::consumers - 1) pass_turn();  // the first turn is consumer 0's
    mbarrier_wait(stages.q_full(warpgroup), 0);
    first();
    for (int n = 1; n < key_tiles; ++n, v.advance()) {
      k.advance();
      typename C::Scores scores;
      softmax.rescale(sums);
      await_turn();
      issue_values(sums, p, v);
      issue_scores(scores, k);
      pass_turn();
      wgmma_wait<0>();
      keep_in_registers(sums);
      keep_in_registers(p);
      release(stages.v_empty(v.stage));
      keep_in_registers(scores);
      release(stages.k_empty(k.stage));
      softmax.update(scores, scale_log2);
      to_operand_a(p, scores);
    }
    if (warpgroup == 0) await_turn();  // the last one's, which nobody takes
    softmax.rescale(sums);
    issue_values(sums, p, v);
    wgmma_wait<0>();
    keep_in_registers(sums);
  }

  WF_ATOM void store(const TensorMap& map_o, Place at, int seqlen_q, typename C::Sums& sums,
                     const Softmax& softmax) const {
    const Tile<typename C::QTile> o = stages.q(warpgroup);
    named_sync(1 + C::consumers + warpgroup, 128);  // all warps have done with Q: O takes its place
    write_rows(o, 0, sums, softmax);
    named_sync(1 + C::consumers + warpgroup, 128);
    const int row = at.row + warpgroup * 64;
    if (thread_id() % 128 != 0 || row >= seqlen_q) return;
    o.store(map_o, row, 0, at.head, at.batch);
    bulk_commit();
    bulk_wait_read<0>();  // shared memory outlives the store
  }
};

template <class C>
WF_KERNEL(C::threads)
attention_kernel(WF_PARAM TensorMap map_q, WF_PARAM TensorMap map_k, WF_PARAM TensorMap map_v,
                 WF_PARAM TensorMap map_o, Shape shape, float scale_log2) {
  const Stages<C> stages{dynamic_shared()};
  const Place at = place_of<C>(shape);
  const int warpgroup = warpgroup_id();
  if (thread_id() == 0) {
    for (int i = 0; i < C::consumers; ++i) mbarrier_init(stages.q_full(i), 1, "Q full", i);
    for (int i = 0; i < C::stages; ++i) {
      mbarrier_init(stages.k_full(i), 1, "K full", i);
      mbarrier_init(stages.v_full(i), 1, "V full", i);
      mbarrier_init(stages.k_empty(i), 4 * C::consumers, "K empty", i);  // a lane of each warp
      mbarrier_init(stages.v_empty(i), 4 * C::consumers, "V empty", i);
    }
    fence_mbarrier_init();
  }
  block_sync();
  if (warpgroup == C::consumers) {
    registers_decrease<C::producer_registers>();
    if (thread_id() % 128 == 0) produce(stages, map_q, map_k, map_v, at, shape.key_tiles);
  } else {
    registers_increase<C::consumer_registers>();
    const Consumer<C> consumer{stages, warpgroup, scale_log2};
    typename C::Sums sums = {};
    Softmax softmax;
    consumer.run(sums, softmax, shape.key_tiles);
    consumer.store(map_o, at, shape.seqlen_q, sums, softmax);
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

using OwnTiles = Tiles<Config<64, 128, 3>, Config<128, 128, 2>, Config<256, 64, 2>>;

}  // namespace attention_ladder::step5

LADDER_STEP(05, step5, OwnTiles)
