// The tiles: how many rows of Q and keys a block works on at a time, and in which order it does what.
#pragma once

#include <array>
#include <cstdint>

#include "warpfold/kernels/attention/attention.h"

namespace warpfold::kernels::attention {

// What the tensor cores do while a warpgroup computes a softmax: its product P V of the keys before (overlapped), and
// the products of another warpgroup. In turns (ping_pong) the warpgroups issue their products one after another, so
// that their softmaxes fall apart.
enum class Schedule : uint8_t { overlapped, ping_pong };

// What a tile offers beyond its mask; the rest costs it nothing. window: every mask, and a sink. scores:
// these, softcap and ALiBi. bias: all that there is.
enum class Variant : uint8_t { plain, window, scores, bias };

enum class TileId : uint8_t {
  d64_plain,
  d64_causal,
  d64_window,
  d64_scores,
  d64_bias,
  d96_plain,
  d96_causal,
  d96_window,
  d96_scores,
  d96_bias,
  d128_plain,
  d128_plain_pair,
  d128_causal,
  d128_causal_short,
  d128_window,
  d128_scores,
  d128_bias,
  d192x128_plain,
  d192x128_causal,
  d192x128_window,
  d192x128_scores,
  d192x128_bias,
  d192_plain,
  d192_causal,
  d192_window,
  d192_scores,
  d192_bias,
  d256_plain,
  d256_causal,
  d256_window,
  d256_scores,
  d256_bias,
  d64_plain_e4m3,
  d64_causal_e4m3,
  d64_window_e4m3,
  d128_plain_e4m3,
  d128_causal_e4m3,
  d128_window_e4m3,
  d256_plain_e4m3,
  d256_causal_e4m3,
  d256_window_e4m3,
};

// ---- Tiles.
//
// eight_bit         elements of 8 bits; V is transposed on its way (values.h)
// math_warpgroups   each has 64 rows of Q
// narrow_keys       a warpgroup whose rows see at most so many of their last tile's keys multiplies only those;
//                   0: never
// cluster           blocks work on tiles of rows one below the other, and share K and V by multicast
// eager             P is taken by the maximum of earlier tiles (softmax.h)
// p_buffers         2: P is made while P V of the tile before runs. 1: it waits for that; then the products of
//                   others run beside the exponentials
struct TileDefaults {
  static constexpr Mask mask = Mask::none;
  static constexpr Variant variant = Variant::plain;
  static constexpr Schedule schedule = Schedule::overlapped;
  static constexpr bool eight_bit = false, eager = false;
  static constexpr int math_warpgroups = 2, narrow_keys = 0, cluster = 1, p_buffers = 1;
};

template <int kHeadDim, int kKeys, int kValueHeadDim = kHeadDim>
struct PlainTile : TileDefaults {
  static constexpr int head_dim = kHeadDim, v_head_dim = kValueHeadDim, tile_keys = kKeys;
};
template <int kHeadDim, int kKeys>
struct EagerTile : PlainTile<kHeadDim, kKeys> {
  static constexpr Schedule schedule = Schedule::ping_pong;
  static constexpr bool eager = true;
};
template <int kHeadDim, int kKeys, int kNarrow, int kValueHeadDim = kHeadDim>
struct CausalTile : PlainTile<kHeadDim, kKeys, kValueHeadDim> {
  static constexpr Mask mask = Mask::causal;
  static constexpr Schedule schedule = Schedule::ping_pong;
  static constexpr int narrow_keys = kNarrow;
};

template <int kHeadDim, int kKeys, int kValueHeadDim = kHeadDim>
struct WindowTile : PlainTile<kHeadDim, kKeys, kValueHeadDim> {
  static constexpr Mask mask = Mask::window;
  static constexpr Variant variant = Variant::window;
};

struct D64Plain : EagerTile<64, 128> {
  static constexpr const char* name = "d64_plain";
  static constexpr TileId id = TileId::d64_plain;
  static constexpr int math_warpgroups = 3;
};
struct D64Causal : CausalTile<64, 128, 64> {
  static constexpr const char* name = "d64_causal";
  static constexpr TileId id = TileId::d64_causal;
  static constexpr int math_warpgroups = 3;
  static constexpr bool eager = true;
};
struct D64Window : WindowTile<64, 128> {
  static constexpr const char* name = "d64_window";
  static constexpr TileId id = TileId::d64_window;
};
struct D64Scores : D64Window {
  static constexpr const char* name = "d64_scores";
  static constexpr TileId id = TileId::d64_scores;
  static constexpr Variant variant = Variant::scores;
};
struct D64Bias : WindowTile<64, 64> {
  static constexpr const char* name = "d64_bias";
  static constexpr TileId id = TileId::d64_bias;
  static constexpr Variant variant = Variant::bias;
};

struct D96Plain : PlainTile<96, 176> {
  static constexpr const char* name = "d96_plain";
  static constexpr TileId id = TileId::d96_plain;
};
struct D96Causal : CausalTile<96, 128, 64> {
  static constexpr const char* name = "d96_causal";
  static constexpr TileId id = TileId::d96_causal;
};
struct D96Window : WindowTile<96, 128> {
  static constexpr const char* name = "d96_window";
  static constexpr TileId id = TileId::d96_window;
};
struct D96Scores : WindowTile<96, 128> {
  static constexpr const char* name = "d96_scores";
  static constexpr TileId id = TileId::d96_scores;
  static constexpr Variant variant = Variant::scores;
};
struct D96Bias : WindowTile<96, 64> {
  static constexpr const char* name = "d96_bias";
  static constexpr TileId id = TileId::d96_bias;
  static constexpr Variant variant = Variant::bias;
};

struct D128Plain : EagerTile<128, 128> {
  static constexpr const char* name = "d128_plain";
  static constexpr TileId id = TileId::d128_plain;
};
struct D128PlainPair : EagerTile<128, 144> {
  static constexpr const char* name = "d128_plain_pair";
  static constexpr TileId id = TileId::d128_plain_pair;
  static constexpr int cluster = 2, p_buffers = 2;
};
struct D128Causal : CausalTile<128, 128, 64> {
  static constexpr const char* name = "d128_causal";
  static constexpr TileId id = TileId::d128_causal;
  static constexpr bool eager = true;
  static constexpr int p_buffers = 2;
};
struct D128CausalShort : CausalTile<128, 128, 64> {
  static constexpr const char* name = "d128_causal_short";
  static constexpr TileId id = TileId::d128_causal_short;
  static constexpr bool eager = true;
};
struct D128Window : WindowTile<128, 128> {
  static constexpr const char* name = "d128_window";
  static constexpr TileId id = TileId::d128_window;
};
struct D128Scores : D128Window {
  static constexpr const char* name = "d128_scores";
  static constexpr TileId id = TileId::d128_scores;
  static constexpr Variant variant = Variant::scores;
};
struct D128Bias : WindowTile<128, 64> {
  static constexpr const char* name = "d128_bias";
  static constexpr TileId id = TileId::d128_bias;
  static constexpr Variant variant = Variant::bias;
};

struct D192x128Plain : PlainTile<192, 128, 128> {
  static constexpr const char* name = "d192x128_plain";
  static constexpr TileId id = TileId::d192x128_plain;
};
struct D192x128Causal : CausalTile<192, 128, 64, 128> {
  static constexpr const char* name = "d192x128_causal";
  static constexpr TileId id = TileId::d192x128_causal;
};
struct D192x128Window : WindowTile<192, 128, 128> {
  static constexpr const char* name = "d192x128_window";
  static constexpr TileId id = TileId::d192x128_window;
};
struct D192x128Scores : WindowTile<192, 128, 128> {
  static constexpr const char* name = "d192x128_scores";
  static constexpr TileId id = TileId::d192x128_scores;
  static constexpr Variant variant = Variant::scores;
};
struct D192x128Bias : WindowTile<192, 64, 128> {
  static constexpr const char* name = "d192x128_bias";
  static constexpr TileId id = TileId::d192x128_bias;
  static constexpr Variant variant = Variant::bias;
};

struct D192Plain : PlainTile<192, 112> {
  static constexpr const char* name = "d192_plain";
  static constexpr TileId id = TileId::d192_plain;
};
struct D192Causal : CausalTile<192, 112, 64> {
  static constexpr const char* name = "d192_causal";
  static constexpr TileId id = TileId::d192_causal;
};
struct D192Window : WindowTile<192, 112> {
  static constexpr const char* name = "d192_window";
  static constexpr TileId id = TileId::d192_window;
};
struct D192Scores : WindowTile<192, 96> {
  static constexpr const char* name = "d192_scores";
  static constexpr TileId id = TileId::d192_scores;
  static constexpr Variant variant = Variant::scores;
};
struct D192Bias : WindowTile<192, 48> {
  static constexpr const char* name = "d192_bias";
  static constexpr TileId id = TileId::d192_bias;
  static constexpr Variant variant = Variant::bias;
};

struct D256Plain : EagerTile<256, 80> {
  static constexpr const char* name = "d256_plain";
  static constexpr TileId id = TileId::d256_plain;
};
struct D256Causal : CausalTile<256, 80, 48> {
  static constexpr const char* name = "d256_causal";
  static constexpr TileId id = TileId::d256_causal;
  static constexpr Schedule schedule = Schedule::overlapped;
};
struct D256Window : WindowTile<256, 80> {
  static constexpr const char* name = "d256_window";
  static constexpr TileId id = TileId::d256_window;
};
struct D256Scores : WindowTile<256, 64> {
  static constexpr const char* name = "d256_scores";
  static constexpr TileId id = TileId::d256_scores;
  static constexpr Variant variant = Variant::scores;
};
struct D256Bias : WindowTile<256, 48> {
  static constexpr const char* name = "d256_bias";
  static constexpr TileId id = TileId::d256_bias;
  static constexpr Variant variant = Variant::bias;
};

struct D64PlainE4m3 : PlainTile<64, 128> {
  static constexpr const char* name = "d64_plain_e4m3";
  static constexpr TileId id = TileId::d64_plain_e4m3;
  static constexpr bool eight_bit = true;
};
struct D64CausalE4m3 : CausalTile<64, 128, 64> {
  static constexpr const char* name = "d64_causal_e4m3";
  static constexpr TileId id = TileId::d64_causal_e4m3;
  static constexpr bool eight_bit = true;
};
struct D64WindowE4m3 : WindowTile<64, 128> {
  static constexpr const char* name = "d64_window_e4m3";
  static constexpr TileId id = TileId::d64_window_e4m3;
  static constexpr bool eight_bit = true;
};
struct D128PlainE4m3 : EagerTile<128, 128> {
  static constexpr const char* name = "d128_plain_e4m3";
  static constexpr TileId id = TileId::d128_plain_e4m3;
  static constexpr bool eight_bit = true;
};
struct D128CausalE4m3 : CausalTile<128, 128, 64> {
  static constexpr const char* name = "d128_causal_e4m3";
  static constexpr TileId id = TileId::d128_causal_e4m3;
  static constexpr bool eight_bit = true, eager = true;
};
struct D128WindowE4m3 : WindowTile<128, 128> {
  static constexpr const char* name = "d128_window_e4m3";
  static constexpr TileId id = TileId::d128_window_e4m3;
  static constexpr bool eight_bit = true;
};
struct D256PlainE4m3 : PlainTile<256, 96> {
  static constexpr const char* name = "d256_plain_e4m3";
  static constexpr TileId id = TileId::d256_plain_e4m3;
  static constexpr bool eight_bit = true;
};
struct D256CausalE4m3 : CausalTile<256, 96, 64> {
  static constexpr const char* name = "d256_causal_e4m3";
  static constexpr TileId id = TileId::d256_causal_e4m3;
  static constexpr bool eight_bit = true;
};
struct D256WindowE4m3 : WindowTile<256, 96> {
  static constexpr const char* name = "d256_window_e4m3";
  static constexpr TileId id = TileId::d256_window_e4m3;
  static constexpr bool eight_bit = true;
};

// Calls f with a value of the tile's type.
template <class F>
constexpr auto with_tile(TileId id, F&& f) {
  switch (id) {
    case TileId::d64_plain:
      return f(D64Plain{});
    case TileId::d64_causal:
      return f(D64Causal{});
    case TileId::d64_window:
      return f(D64Window{});
    case TileId::d64_scores:
      return f(D64Scores{});
    case TileId::d64_bias:
      return f(D64Bias{});
    case TileId::d96_plain:
      return f(D96Plain{});
    case TileId::d96_causal:
      return f(D96Causal{});
    case TileId::d96_window:
      return f(D96Window{});
    case TileId::d96_scores:
      return f(D96Scores{});
    case TileId::d96_bias:
      return f(D96Bias{});
    case TileId::d128_plain:
      return f(D128Plain{});
    case TileId::d128_plain_pair:
      return f(D128PlainPair{});
    case TileId::d128_causal:
      return f(D128Causal{});
    case TileId::d128_causal_short:
      return f(D128CausalShort{});
    case TileId::d128_window:
      return f(D128Window{});
    case TileId::d128_scores:
      return f(D128Scores{});
    case TileId::d128_bias:
      return f(D128Bias{});
    case TileId::d192x128_plain:
      return f(D192x128Plain{});
    case TileId::d192x128_causal:
      return f(D192x128Causal{});
    case TileId::d192x128_window:
      return f(D192x128Window{});
    case TileId::d192x128_scores:
      return f(D192x128Scores{});
    case TileId::d192x128_bias:
      return f(D192x128Bias{});
    case TileId::d192_plain:
      return f(D192Plain{});
    case TileId::d192_causal:
      return f(D192Causal{});
    case TileId::d192_window:
      return f(D192Window{});
    case TileId::d192_scores:
      return f(D192Scores{});
    case TileId::d192_bias:
      return f(D192Bias{});
    case TileId::d256_plain:
      return f(D256Plain{});
    case TileId::d256_causal:
      return f(D256Causal{});
    case TileId::d256_window:
      return f(D256Window{});
    case TileId::d256_scores:
      return f(D256Scores{});
    case TileId::d256_bias:
      return f(D256Bias{});
    case TileId::d64_plain_e4m3:
      return f(D64PlainE4m3{});
    case TileId::d64_causal_e4m3:
      return f(D64CausalE4m3{});
    case TileId::d64_window_e4m3:
      return f(D64WindowE4m3{});
    case TileId::d128_plain_e4m3:
      return f(D128PlainE4m3{});
    case TileId::d128_causal_e4m3:
      return f(D128CausalE4m3{});
    case TileId::d128_window_e4m3:
      return f(D128WindowE4m3{});
    case TileId::d256_plain_e4m3:
      return f(D256PlainE4m3{});
    case TileId::d256_causal_e4m3:
      return f(D256CausalE4m3{});
    default:
      return f(D256WindowE4m3{});
  }
}

inline constexpr auto all_tiles = [] {
  std::array<TileId, size_t(TileId::d256_window_e4m3) + 1> all{};
  for (size_t i = 0; i < all.size(); ++i) all[i] = TileId(i);
  return all;
}();

}  // namespace warpfold::kernels::attention
