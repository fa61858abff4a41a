// The end of a tile: O leaves the registers.
//
// Of each row a lane has 2 of every 8 columns. Four lanes exchange what they have of 32 columns, so that each then stores
// 8 of them, 16 bytes, without a detour through shared memory: the next Q need not wait for O.
#pragma once

#include "warpfold/kernels/attention/config.h"
#include "warpfold/kernels/attention/raster.h"
#include "warpfold/kernels/attention/softmax.h"
#include "warpfold/kernels/pack.h"

namespace warpfold::kernels::attention {

// O (batches, rows, heads, v_head_dim) of the type of Q, of 8-bit Q bf16, or fp32; LSE (batches, heads, rows)
// or null.
struct Output {
  void* o;
  int64_t row_stride, head_stride, batch_stride;
  float* lse;
  const float* sink;  // (heads) or null; of tiles with a window
  int64_t lse_head_stride, lse_batch_stride;
  int columns;  // v_head_dim
  bool is_f32;
};

inline namespace WF_TARGET {

template <class Config>
using SoftmaxOf = Softmax<Config::probability_bits, Config::eager>;

struct alignas(16) Words {
  uint32_t word[4];
};
struct alignas(8) Floats {
  float x, y;
};

// Word j of lane q of a quad becomes word q of lane j.
WF_ATOM Words transpose_quad(uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
  const bool odd = hopper::lane_id() % 2 != 0, high = hopper::lane_id() / 2 % 2 != 0;
  const uint32_t from01 = hopper::shuffle_xor(odd ? w0 : w1, 1), from23 = hopper::shuffle_xor(odd ? w2 : w3, 1);
  const uint32_t a0 = odd ? from01 : w0, a1 = odd ? w1 : from01, a2 = odd ? from23 : w2, a3 = odd ? w3 : from23;
  const uint32_t even = hopper::shuffle_xor(high ? a0 : a2, 2), uneven = hopper::shuffle_xor(high ? a1 : a3, 2);
  return {{high ? even : a0, high ? uneven : a1, high ? a2 : even, high ? a3 : uneven}};
}

// Stores a warpgroup's rows from `first_row` of the tile's sequence: sums (64, v_head_dim) over the softmax's
// sum, times value_scale.
template <class Config>
WF_ATOM void store(const Output& out, const Tile& tile, int first_row, float (&sums)[Config::sums],
                   SoftmaxOf<Config>& softmax, float scale_log2, float value_scale) {
  using Element = typename Config::Result;
  softmax.finish();
  const int lane = hopper::lane_id();
  WF_UNROLL
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + hopper::accumulator_row(hopper::thread_id() % 128, 2 * r);
    const bool inside = row < tile.extent.seqlen_q;
    float inverse = 1;
    if constexpr (Config::windowed)
      if (out.sink != nullptr)
        inverse = softmax.add_sink(r, 1.4426950408889634f * hopper::load_global(out.sink + tile.place.head),
                                   scale_log2);
    inverse = softmax.sum[r] == 0 ? 0 : inverse * value_scale / softmax.sum[r];
    const int64_t at = tile.extent.q_start + int64_t{row};
    if (inside && out.lse != nullptr && lane % 4 == 0)
      hopper::store_global(
          out.lse + tile.place.batch * out.lse_batch_stride + tile.place.head * out.lse_head_stride + at,
          softmax.lse(r, scale_log2));
    const int64_t first = tile.place.batch * out.batch_stride + tile.place.head * out.head_stride + at * out.row_stride;
    if (out.is_f32) {
      float* const o = static_cast<float*>(out.o) + first + lane % 4 * 2;
      WF_UNROLL
      for (int i = 2 * r; i < Config::sums; i += 4)
        if (inside && i / 4 * 8 < out.columns)
          hopper::store_global(reinterpret_cast<Floats*>(o + i / 4 * 8), Floats{sums[i] * inverse, sums[i + 1] * inverse});
    } else {
      Element* const o = static_cast<Element*>(out.o) + first + lane % 4 * 8;
      WF_UNROLL
      for (int i = 2 * r; i < Config::sums; i += 16) {  // 32 columns
        uint32_t w[4];
        WF_UNROLL
        for (int j = 0; j < 4; ++j) w[j] = pack<Element>(sums[i + 4 * j] * inverse, sums[i + 4 * j + 1] * inverse);
        const Words words = transpose_quad(w[0], w[1], w[2], w[3]);
        if (inside && i / 4 * 8 + lane % 4 * 8 < out.columns)
          hopper::store_global(reinterpret_cast<Words*>(o + i / 4 * 8), words);
      }
    }
  }
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::attention
