// Step 1: two products and a softmax, each a kernel of its own. The reference that the others are to beat.
//
//   S = Q K^T,  P = softmax (scale * S) by rows,  O = P V  for each batch and head; Q, K, V, P, O f16, S and
//   sums fp32; seqlen_q a multiple of 64, seqlen_k of 128; head dim 64, 128 or 256
//
// Three launches, as the formula reads. Both products are the third step of the ladder of GEMMs: a warpgroup,
// TMA for the tiles, WGMMA from shared memory, 64 deep at a time. The softmax has a warp for each row.
//
// What it costs: S and P have N^2 elements a head, and they go out to memory and come back: 4 + 4 + 2 + 2
// bytes for 4 d FLOP. At d = 128 that is 43 FLOP a byte; with 4.3 TB/s no more than 180 TFLOPS, however fast
// the products are. And N^2 elements want room: 6 GiB for 64 heads of 4096 x 4096.
#include "common.h"

namespace attention_ladder::step1 {

// A matrix in global memory for each head and batch, rows contiguous.
template <class Element>
struct Matrix {
  Element* data;
  int64_t row_stride, head_stride, batch_stride;
};

struct alignas(8) Pair {
  float x, y;
};

// D (rows, columns) = A (rows, depth) B: 64 x kColumns of it a block. B is (columns, depth) as K is, or
// (depth, columns) as V.
template <int kColumns, Major kMajorB, class OutType>
struct Product {
  using Out = OutType;
  static constexpr int rows = 64, columns = kColumns, depth = 64, threads = 128;
  using ATile = TileShape<f16, rows, depth>;              // (rows, depth)
  using BTile = TileShape<f16, columns, depth, kMajorB>;  // (columns, depth)
  using Instruction = Wgmma<f16, f16, columns, Major::k, kMajorB>;
  static constexpr int a = 0, b = ATile::bytes, loaded = b + BTile::bytes, shared_bytes = loaded + 8;
};

template <class P>
WF_KERNEL(P::threads)
product_kernel(WF_PARAM TensorMap map_a, WF_PARAM TensorMap map_b, WF_PARAM Matrix<typename P::Out> d,
               int row_tiles, int column_tiles, int heads, int depth) {
  const Tile<typename P::ATile> a{dynamic_shared() + P::a};
  const Tile<typename P::BTile> b{dynamic_shared() + P::b};
  const Barrier loaded{dynamic_shared() + P::loaded};
  const int column = block_id() % column_tiles * P::columns,
            row = block_id() / column_tiles % row_tiles * P::rows;
  const int head = block_id() / column_tiles / row_tiles % heads,
            batch = block_id() / column_tiles / row_tiles / heads;
  if (thread_id() == 0) {
    mbarrier_init(loaded, 1, "loaded");
    fence_mbarrier_init();
  }
  block_sync();
  float sums[P::Instruction::accumulators];  // (64, columns)
  uint32_t parity = 0;
  for (int x = 0; x < depth; x += P::depth, parity ^= 1) {
    if (thread_id() == 0) {
      mbarrier_arrive_expect_tx(loaded, P::ATile::bytes + P::BTile::bytes);
      a.load(map_a, loaded, row, x, head, batch);
      if constexpr (P::BTile::major == Major::k)
        b.load(map_b, loaded, column, x, head, batch);
      else
        b.load(map_b, loaded, x, column, head, batch);
    }
    mbarrier_wait(loaded, parity);
    wgmma_fence();
    WF_UNROLL
    for (int step = 0; step < P::depth / 16; ++step)
      wgmma<typename P::Instruction>(sums, a.descriptor() + a.descriptor_step(0, step),
                                     b.descriptor() + b.descriptor_step(0, step), x > 0 || step > 0);
    wgmma_commit();
    wgmma_wait<0>();
    block_sync();  // all four warps have read the tiles: the next ones may come
  }
  keep_in_registers(sums);
  const int t = thread_id();
  typename P::Out* corner =
      d.data + batch * d.batch_stride + head * d.head_stride + row * d.row_stride + column;
  WF_UNROLL
  for (int i = 0; i < P::Instruction::accumulators; i += 2) {
    typename P::Out* at = corner + accumulator_row(t, i) * d.row_stride + accumulator_column(t, i);
    if constexpr (std::is_same_v<typename P::Out, float>)
      store_global(reinterpret_cast<Pair*>(at), Pair{sums[i], sums[i + 1]});
    else
      store_global(reinterpret_cast<uint32_t*>(at), pack_f16(sums[i], sums[i + 1]));
  }
}

// P (rows, keys) = 2^(scale_log2 * (S - maximum of the row)) / sum: a warp for each row, which it reads three
// times.
struct SoftmaxWarps {
  static constexpr int threads = 128, rows = threads / 32;
};
WF_KERNEL(SoftmaxWarps::threads)
softmax_kernel(const float* s, f16* p, int keys, float scale_log2) {
  const int64_t first = (int64_t{block_id()} * SoftmaxWarps::rows + thread_id() / 32) * keys;
  float top = -INFINITY, sum = 0;
  for (int j = lane_id(); j < keys; j += 32) top = fmaxf(top, load_global(s + first + j));
  for (int lanes = 16; lanes > 0; lanes /= 2) top = fmaxf(top, shuffle_xor(top, lanes));
  const auto weight = [&](int j) { return exp2_approx((load_global(s + first + j) - top) * scale_log2); };
  for (int j = lane_id(); j < keys; j += 32) sum += weight(j);
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += shuffle_xor(sum, lanes);
  for (int j = lane_id(); j < keys; j += 32) store_global(p + first + j, to_f16(weight(j) / sum));
}

template <int kHeadDim>
struct Config {
  static constexpr int head_dim = kHeadDim, rows = 64, keys = 128;
  using Scores = Product<keys, Major::k, float>;
  using Outputs = Product<head_dim, Major::mn, f16>;
};

template <class C>
Status attention(const Problem& p) {
  using Scores = typename C::Scores;
  using Outputs = typename C::Outputs;
  const int64_t heads = int64_t{p.batches} * p.heads, keys = p.seqlen_k, elements = heads * p.seqlen_q * keys;
  float* s = static_cast<float*>(p.workspace);                // (batches, heads, seqlen_q, seqlen_k)
  f16* probabilities = reinterpret_cast<f16*>(s + elements);  // the same
  auto shape = Outputs::ATile::map(p.seqlen_q, keys, keys);
  shape.rank = 4;
  shape.size[2] = p.heads;
  shape.stride[2] = p.seqlen_q * keys;
  shape.size[3] = p.batches;
  shape.stride[3] = p.heads * p.seqlen_q * keys;
  WF_TRY(const TensorMap map_q, tensor_map<typename Scores::ATile>(p.q, p, p.seqlen_q));
  WF_TRY(const TensorMap map_k, tensor_map<typename Scores::BTile>(p.k, p, p.seqlen_k));
  WF_TRY(const TensorMap map_p, make_tensor_map(probabilities, shape));
  WF_TRY(const TensorMap map_v, tensor_map<typename Outputs::BTile>(p.v, p, p.seqlen_k));
  const int row_tiles = p.seqlen_q / C::rows, key_tiles = p.seqlen_k / C::keys;
  const Matrix<float> of_scores{s, keys, p.seqlen_q * keys, p.heads * p.seqlen_q * keys};
  const int64_t token = int64_t{p.heads} * p.head_dim;
  const Matrix<f16> of_outputs{p.o, token, p.head_dim, p.seqlen_q * token};
  WF_CHECK(launch({.blocks = row_tiles * key_tiles * int(heads),
                   .threads = Scores::threads,
                   .shared_bytes = Scores::shared_bytes,
                   .stream = p.stream},
                  product_kernel<Scores>, map_q, map_k, of_scores, row_tiles, key_tiles, p.heads,
                  p.head_dim));
  WF_CHECK(launch({.blocks = int(heads) * p.seqlen_q / SoftmaxWarps::rows,
                   .threads = SoftmaxWarps::threads,
                   .stream = p.stream},
                  softmax_kernel, static_cast<const float*>(s), probabilities, p.seqlen_k,
                  p.scale * 1.4426950408889634f));
  return launch({.blocks = row_tiles * int(heads),
                 .threads = Outputs::threads,
                 .shared_bytes = Outputs::shared_bytes,
                 .stream = p.stream},
                product_kernel<Outputs>, map_p, map_v, of_outputs, row_tiles, 1, p.heads, p.seqlen_k);
}

using OwnTiles = Tiles<Config<64>, Config<128>, Config<256>>;

}  // namespace attention_ladder::step1

LADDER_STEP(01, step1, OwnTiles)
