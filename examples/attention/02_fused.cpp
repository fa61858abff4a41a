// Step 2: scores never leave the registers. The kernel of the post: one warpgroup, two products and a softmax
// between them.
//
//   O = softmax (scale * Q K^T) V for each batch and head, f16, sums in fp32; seqlen_q a multiple of 64,
//   seqlen_k of the tile's keys; head dim 64, 128 or 256
//
// The one idea over step 1: a block keeps `rows` rows of Q and walks over the keys, a tile at a time. With m
// the maximum and l the sum of the exponentials so far, a new tile changes both, and what is summed up in O
// is corrected by 2^(c (m - m')), c = scale * log2 e: softmax needs no second pass, and S and P no memory.
//
//   S (rows, keys) = Q K^T                both operands from shared memory (SS)
//   P = 2^(c (S - m'))                    in place, in the registers that S came in
//   O (rows, d) = O * correction + P V    P from registers (RS), V from shared memory
//
// Nothing is rearranged between the products. Both reasons are equations of layouts, asserted below:
//
//   V   lies as (keys, d), d contiguous, and the product wants (d, keys). Composed with (d,keys):(keys,1)
//       the tile's layout is that of an MN-major operand, which WGMMA reads as well. No byte moves.
//   P   accumulators are registers (2,2,keys/8):(64,8,512), as row + 64 * column, operand A of 16 columns
//       (2,2,2):(64,8,512), and keys / 16 of those side by side are the same function. No element changes
//       its thread.
//
// What still costs: products wait for the softmax and the softmax for products; V comes beside Q K^T, the
// next K beside softmax and P V, each into its one buffer. Other blocks fill the gaps, as many as registers
// and shared memory let in.
#include "tile.h"
#include "warpfold/layout/algebra.h"
#include "warpfold/layout/hardware/fragments.h"

namespace attention_ladder::step2 {

namespace layout = warpfold::layout;

// V (keys, d) as it comes, composed with (d,keys):(keys,1): is it the tile of a MN-major operand (d, keys)?
template <class C>
constexpr bool values_lie_right() {
  const layout::Layout as_it_comes = TileShape<f16, C::keys, C::head_dim>::shared().layout;
  const auto transposition =
      layout::make_layout(layout::ints(C::head_dim, C::keys), layout::ints(C::keys, 1));
  return layout::equal_modes(*layout::compose(as_it_comes, *transposition), C::VTile::shared().layout);
}
// Thread and register -> row + 64 * column: are the accumulators of S keys / 16 operands A, one after the
// other?
template <class C>
constexpr bool probabilities_lie_right() {
  const layout::Layout scores = *layout::hardware::accumulator_fragment(C::keys),
                       a = *layout::hardware::a_fragment(2);
  layout::LayoutBuilder registers;
  registers.begin();
  registers.append(a.mode(1));
  registers.add(C::keys / 16, 64 * 16);
  registers.end();
  return layout::equal(scores.mode(0), a.mode(0)) && layout::equal(scores.mode(1), registers.layout());
}

template <int kHeadDim, int kRows, int kKeys>
struct Config : TileTypes<kHeadDim, kRows, kKeys> {
  using Types = TileTypes<kHeadDim, kRows, kKeys>;
  static constexpr int threads = 128;
  static constexpr int row_blocks = kRows / 64;  // WGMMAs at each step
  static constexpr int q = 0, k = q + Types::QTile::bytes, v = k + Types::KTile::bytes,
                       loaded = v + Types::VTile::bytes, shared_bytes = loaded + 3 * 8;
  static_assert(values_lie_right<Types>() && probabilities_lie_right<Types>());
};

template <class C>
WF_KERNEL(C::threads)
attention_kernel(WF_PARAM TensorMap map_q, WF_PARAM TensorMap map_k, WF_PARAM TensorMap map_v,
                 WF_PARAM TensorMap map_o, Shape shape, float scale_log2) {
  const Tile<typename C::QTile> q{dynamic_shared() + C::q};
  const Tile<typename C::KTile> k{dynamic_shared() + C::k};
  const Tile<typename C::VTile> v{dynamic_shared() + C::v};
  const uint32_t loaded = dynamic_shared() + C::loaded;
  const Barrier q_loaded{loaded}, k_loaded{loaded + 8}, v_loaded{loaded + 16};
  const Place at = place_of<C>(shape);
  const auto load = [&](auto tile, const TensorMap& map, Barrier barrier, int row) {
    mbarrier_arrive_expect_tx(barrier, decltype(tile)::Shape::bytes);
    tile.load(map, barrier, row, 0, at.head, at.batch);
  };
  if (thread_id() == 0) {
    mbarrier_init(q_loaded, 1, "Q loaded");
    mbarrier_init(k_loaded, 1, "K loaded");
    mbarrier_init(v_loaded, 1, "V loaded");
    fence_mbarrier_init();
    load(q, map_q, q_loaded, at.row);
    load(k, map_k, k_loaded, 0);
  }
  block_sync();

  typename C::Sums sums[C::row_blocks] = {};
  Softmax softmax[C::row_blocks];
  mbarrier_wait(q_loaded, 0);
  for (int n = 0; n < shape.key_tiles; ++n) {
    if (thread_id() == 0) load(v, map_v, v_loaded, n * C::keys);
    typename C::Scores scores[C::row_blocks];
    typename C::Probabilities p[C::row_blocks];
    mbarrier_wait(k_loaded, n % 2);
    wgmma_fence();
    WF_UNROLL
    for (int step = 0; step < C::head_dim / 16; ++step) WF_UNROLL
    for (int r = 0; r < C::row_blocks; ++r)
      wgmma<typename C::ScoreProduct>(scores[r], q.descriptor() + q.descriptor_step(r * 64, step),
                                      k.descriptor() + k.descriptor_step(0, step), step > 0);
    wgmma_commit();
    wgmma_wait<0>();
    block_sync();  // all warps have read K
    if (thread_id() == 0 && n + 1 < shape.key_tiles) load(k, map_k, k_loaded, (n + 1) * C::keys);
    WF_UNROLL
    for (int r = 0; r < C::row_blocks; ++r) {
      keep_in_registers(scores[r]);
      softmax[r].update(scores[r], scale_log2);
      softmax[r].rescale(sums[r]);
      to_operand_a(p[r], scores[r]);
      keep_in_registers(sums[r]);
    }
    mbarrier_wait(v_loaded, n % 2);
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
  const Shape shape = shape_of<C>(p);
  return launch({.blocks = shape.row_tiles * p.heads * p.batches,
                 .threads = C::threads,
                 .shared_bytes = C::shared_bytes,
                 .stream = p.stream},
                attention_kernel<C>, q, k, v, o, shape, p.scale * 1.4426950408889634f);
}

using OwnTiles = Tiles<Config<64, 64, 128>, Config<64, 64, 64>, Config<64, 128, 64>, Config<64, 128, 128>,
                       Config<128, 64, 64>, Config<128, 128, 64>, Config<128, 64, 128>, Config<256, 64, 64>,
                       Config<256, 64, 128>>;
// The rest of the post's table. Sums and scores need more registers than the 255 of a thread: a lesson,
// compiled apart.
using SpillingTiles = Tiles<Config<128, 128, 128>, Config<256, 128, 64>, Config<256, 128, 128>>;

}  // namespace attention_ladder::step2

#ifdef WARPFOLD_LADDER_SPILLS
LADDER_STEP(02_spilling, step2, SpillingTiles)
#else
LADDER_STEP(02, step2, OwnTiles)
#endif
