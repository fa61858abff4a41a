// The host side of one configuration: tensor maps and the launch, for the device or for the emulator.
#pragma once

#include <algorithm>

#include "warpfold/kernels/attention/kernel.h"

namespace warpfold::kernels::attention {

inline namespace WF_TARGET {

// The tensor map (batch, end, head, row, x) of Q, K or V (batches, rows, heads, dim), with boxes of
// `box_rows` rows.
//
// Sequences of one length need no `end` (size 1). Else a tile is to end with its sequence, so that TMA fills
// the rest with zeros, not with what follows. Row r of a sequence of `length` rows from `start` is box row
// seqlen - length + r of a matrix of seqlen rows that is moved up by `end` = start + length rows; the
// tensor's first row is thus row `seqlen` of that matrix at end = 0, and the map's base lies seqlen rows
// before the tensor. Nothing may be there: TMA reads at the base when a box lies wholly outside the matrix,
// so the kernel asks for no such box: neither of rows past a sequence nor of columns past the head dim.
template <class Tile>
Result<hopper::TensorMap> sequence_map(const Tensor& t, int64_t dim, int64_t seqlen, int64_t heads, int64_t batches,
                                       const Lengths& lengths, int box_rows) {
  constexpr int unit = 16 / int(sizeof(typename Tile::Element));
  const bool packed = lengths.starts != nullptr, ragged = is_ragged(lengths);
  // A stride that is never used may be anything; the tensor map wants a legal one.
  const int64_t row_stride = seqlen == 1 && !ragged ? unit : t.row_stride;
  auto map = Tile::map(seqlen, dim, row_stride, box_rows);
  map.rank = 5;
  map.size[2] = heads;
  map.stride[2] = heads == 1 ? unit : t.head_stride;
  map.size[3] = !ragged ? 1 : packed ? (int64_t{1} << 31) - 1 : seqlen + 1;
  map.stride[3] = ragged ? row_stride : unit;
  map.size[4] = packed ? 1 : batches;
  map.stride[4] = packed || batches == 1 ? unit : t.batch_stride;
  using Element = typename Tile::Element;
  const int64_t back = ragged ? seqlen * row_stride * int64_t(sizeof(Element)) : 0;
  return hopper::make_tensor_map(reinterpret_cast<const Element*>(reinterpret_cast<uintptr_t>(t.data) - uintptr_t(back)), map);
}

inline ScoreRules score_rules(const Problem& p) {
  constexpr float log2_e = 1.4426950408889634f;
  ScoreRules r{};
  r.scale_log2 = p.scale * log2_e;
  if (p.softcap > 0) {
    r.cap_log2 = p.softcap * log2_e;
    r.cap_scale = 2 * p.scale / p.softcap * log2_e;
  }
  r.slopes = p.alibi;
  r.slopes_batch_stride = p.alibi_batch_stride;
  r.bias = p.bias.data;
  r.bias_type = p.bias.data == nullptr        ? BiasType::none
                : p.bias.type == DType::kF32  ? BiasType::f32
                : p.bias.type == DType::kBF16 ? BiasType::bf16
                : p.bias.type == DType::kF16  ? BiasType::f16
                                              : BiasType::visible;
  r.q = p.q_descale;
  r.k = p.k_descale;
  r.v = p.v_descale;
  r.bias_batch_stride = p.bias.batch_stride;
  r.bias_head_stride = p.bias.head_stride;
  r.bias_row_stride = p.bias.row_stride;
  r.bias_key_stride = p.bias.key_stride;
  return r;
}

// Launches a problem that can_run accepts and that is not empty, on `blocks` blocks (a multiple of the cluster).
template <class Config>
Status launch(const Problem& p, int blocks, void* stream) {
  constexpr int64_t l2_bytes = 16 << 20;  // of K and V in work at a time; on an H200 better than 32 MiB
  WF_TRY(const hopper::TensorMap q, sequence_map<typename Config::QTile>(p.q, p.head_dim, p.seqlen_q, p.heads, p.batches,
                                                                        p.q_lengths, 64));
  hopper::TensorMap k = q, v = q;  // without keys there is no legal map, and none is used
  if (p.seqlen_k > 0) {
    WF_TRY(k, sequence_map<typename Config::KTile>(p.k, p.head_dim, p.seqlen_k, p.kv_heads, p.batches, p.k_lengths,
                                                   Config::share));
    WF_TRY(v, sequence_map<typename Config::Landing>(p.v, p.v_head_dim, p.seqlen_k, p.kv_heads, p.batches,
                                                     p.k_lengths, Config::share));
  }
  const auto sequences = [](const Lengths& l, int64_t seqlen) {
    return Sequences{l.starts, l.used, int(seqlen), is_ragged(l)};
  };
  const int64_t kv_bytes = std::max<int64_t>(1, p.seqlen_k * (p.head_dim + p.v_head_dim) * int64_t(sizeof(typename Config::Element)));
  Shape shape{};
  shape.q = sequences(p.q_lengths, p.seqlen_q);
  shape.k = sequences(p.k_lengths, p.seqlen_k);
  shape.batches = int(p.batches);
  shape.heads = int(p.heads);
  shape.columns = int((p.head_dim + Config::span - 1) / Config::span);
  shape.v_columns = int((p.v_head_dim + Config::span - 1) / Config::span);
  shape.heads_per_kv = int(p.heads / p.kv_heads);
  shape.window = {int(p.seqlen_k), int(p.seqlen_q)};
  shape.group = int(std::clamp<int64_t>(l2_bytes / kv_bytes, 1, p.batches * p.kv_heads)) * shape.heads_per_kv;
  shape.triangle =
      p.mask == Mask::causal || (p.mask == Mask::window && p.window_left < 0 && p.window_right >= 0);
  if (p.mask == Mask::window) {
    if (p.window_left >= 0) shape.window.left = int(std::min(p.window_left, p.seqlen_k));
    if (p.window_right >= 0) shape.window.right = int(std::min(p.window_right, p.seqlen_q));
  } else if (p.mask == Mask::causal) {
    shape.window.right = 0;
  }
  const bool deals = !Config::masked && !is_ragged(p.q_lengths) && !is_ragged(p.k_lengths);  // equal tiles
  shape.claimed = deals ? nullptr : static_cast<int*>(p.workspace);
  const bool packed = p.q_lengths.starts != nullptr;
  Output out{};
  out.o = const_cast<void*>(p.o.data);
  out.row_stride = p.o.row_stride;
  out.head_stride = p.o.head_stride;
  out.batch_stride = packed ? 0 : p.o.batch_stride;
  out.lse = p.lse;
  out.lse_head_stride = p.lse_head_stride;
  out.lse_batch_stride = packed ? 0 : p.lse_batch_stride;
  out.sink = p.sink;
  out.columns = int(p.v_head_dim);
  out.is_f32 = p.output_type == DType::kF32;
  const ScoreRules rules = score_rules(p);
  return hopper::launch({.blocks = blocks,
                         .threads = Config::threads,
                         .shared_bytes = Config::shared_bytes,
                         .cluster = Config::cluster,
                         .stream = stream,
                         .overlap_previous = true},
                        attention_kernel<Config>, q, k, v, out, shape, rules,
                        Config::has_score_rules ? 1 : rules.scale_log2);
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::attention
