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
  d64_plain_turns,
  d64_plain_polynomial,
  d64_plain_two,
  d64_plain_two_polynomial,
  d64_causal,
  d64_causal_overlapped,
  d64_causal_polynomial,
  d64_causal_two,
  d64_window,
  d64_scores,
  d64_bias,
  d96_plain,
  d96_causal,
  d96_window,
  d96_scores,
  d96_bias,
  d128_plain,
  d128_plain_cluster,
  d128_plain_wide,
  d128_plain_wide_cluster,
  d128_plain_turns,
  d128_plain_wide_turns,
  d128_causal,
  d128_causal_overlapped,
  d128_causal_full,
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
  d256_plain_turns,
  d256_plain_cluster,
  d256_causal,
  d256_causal_overlapped,
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
// narrow_keys       a warpgroup whose rows see at most so many of their last tile's keys multiplies only
// those; 0: never cluster           blocks work on tiles of rows one below the other, and share K and V by
// multicast polynomial        one of so many exponentials is a polynomial instead of an instruction, of which
// a multiprocessor
//                   finishes 16 a cycle; 0: none
struct TileDefaults {
  static constexpr Mask mask = Mask::none;
  static constexpr Variant variant = Variant::plain;
  static constexpr Schedule schedule = Schedule::overlapped;
  static constexpr bool eight_bit = false;
  static constexpr int math_warpgroups = 2, narrow_keys = 0, cluster = 1, polynomial = 0;
};

template <int kHeadDim, int kKeys, int kValueHeadDim = kHeadDim>
struct PlainTile : TileDefaults {
  static constexpr int head_dim = kHeadDim, v_head_dim = kValueHeadDim, tile_keys = kKeys;
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

struct D64Plain : PlainTile<64, 128> {
  static constexpr const char* name = "d64_plain";
  static constexpr TileId id = TileId::d64_plain;
  static constexpr int math_warpgroups = 3;
};
struct D64PlainTurns : D64Plain {
  static constexpr const char* name = "d64_plain_turns";
  static constexpr TileId id = TileId::d64_plain_turns;
  static constexpr Schedule schedule = Schedule::ping_pong;
};
struct D64PlainPolynomial : D64Plain {
  static constexpr const char* name = "d64_plain_polynomial";
  static constexpr TileId id = TileId::d64_plain_polynomial;
  static constexpr int polynomial = 4;
};
struct D64PlainTwo : PlainTile<64, 192> {
  static constexpr const char* name = "d64_plain_two";
  static constexpr TileId id = TileId::d64_plain_two;
};
struct D64PlainTwoPolynomial : D64PlainTwo {
  static constexpr const char* name = "d64_plain_two_polynomial";
  static constexpr TileId id = TileId::d64_plain_two_polynomial;
  static constexpr int polynomial = 4;
};
struct D64Causal : CausalTile<64, 128, 64> {
  static constexpr const char* name = "d64_causal";
  static constexpr TileId id = TileId::d64_causal;
  static constexpr int math_warpgroups = 3;
};
struct D64CausalOverlapped : D64Causal {
  static constexpr const char* name = "d64_causal_overlapped";
  static constexpr TileId id = TileId::d64_causal_overlapped;
  static constexpr Schedule schedule = Schedule::overlapped;
};
struct D64CausalPolynomial : D64Causal {
  static constexpr const char* name = "d64_causal_polynomial";
  static constexpr TileId id = TileId::d64_causal_polynomial;
  static constexpr int polynomial = 4;
};
struct D64CausalTwo : CausalTile<64, 128, 64> {
  static constexpr const char* name = "d64_causal_two";
  static constexpr TileId id = TileId::d64_causal_two;
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

struct D128Plain : PlainTile<128, 128> {
  static constexpr const char* name = "d128_plain";
  static constexpr TileId id = TileId::d128_plain;
};
struct D128PlainCluster : D128Plain {
  static constexpr const char* name = "d128_plain_cluster";
  static constexpr TileId id = TileId::d128_plain_cluster;
  static constexpr int cluster = 2;
};
struct D128PlainWide : PlainTile<128, 176> {
  static constexpr const char* name = "d128_plain_wide";
  static constexpr TileId id = TileId::d128_plain_wide;
};
struct D128PlainWideCluster : D128PlainWide {
  static constexpr const char* name = "d128_plain_wide_cluster";
  static constexpr TileId id = TileId::d128_plain_wide_cluster;
  static constexpr int cluster = 2;
};
struct D128PlainTurns : D128Plain {
  static constexpr const char* name = "d128_plain_turns";
  static constexpr TileId id = TileId::d128_plain_turns;
  static constexpr Schedule schedule = Schedule::ping_pong;
};
struct D128PlainWideTurns : D128PlainWide {
  static constexpr const char* name = "d128_plain_wide_turns";
  static constexpr TileId id = TileId::d128_plain_wide_turns;
  static constexpr Schedule schedule = Schedule::ping_pong;
};
struct D128Causal : CausalTile<128, 128, 64> {
  static constexpr const char* name = "d128_causal";
  static constexpr TileId id = TileId::d128_causal;
};
struct D128CausalOverlapped : D128Causal {
  static constexpr const char* name = "d128_causal_overlapped";
  static constexpr TileId id = TileId::d128_causal_overlapped;
  static constexpr Schedule schedule = Schedule::overlapped;
};
struct D128CausalFull : CausalTile<128, 128, 0> {
  static constexpr const char* name = "d128_causal_full";
  static constexpr TileId id = TileId::d128_causal_full;
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

struct D256Plain : PlainTile<256, 80> {
  static constexpr const char* name = "d256_plain";
  static constexpr TileId id = TileId::d256_plain;
};
struct D256PlainTurns : D256Plain {
  static constexpr const char* name = "d256_plain_turns";
  static constexpr TileId id = TileId::d256_plain_turns;
  static constexpr Schedule schedule = Schedule::ping_pong;
};
struct D256PlainCluster : D256Plain {
  static constexpr const char* name = "d256_plain_cluster";
  static constexpr TileId id = TileId::d256_plain_cluster;
  static constexpr int cluster = 2;
};
struct D256Causal : CausalTile<256, 80, 48> {
  static constexpr const char* name = "d256_causal";
  static constexpr TileId id = TileId::d256_causal;
};
struct D256CausalOverlapped : D256Causal {
  static constexpr const char* name = "d256_causal_overlapped";
  static constexpr TileId id = TileId::d256_causal_overlapped;
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
struct D128PlainE4m3 : PlainTile<128, 128> {
  static constexpr const char* name = "d128_plain_e4m3";
  static constexpr TileId id = TileId::d128_plain_e4m3;
  static constexpr bool eight_bit = true;
};
struct D128CausalE4m3 : CausalTile<128, 128, 64> {
  static constexpr const char* name = "d128_causal_e4m3";
  static constexpr TileId id = TileId::d128_causal_e4m3;
  static constexpr bool eight_bit = true;
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
    case TileId::d64_plain: return f(D64Plain{});
    case TileId::d64_plain_turns: return f(D64PlainTurns{});
    case TileId::d64_plain_polynomial: return f(D64PlainPolynomial{});
    case TileId::d64_plain_two: return f(D64PlainTwo{});
    case TileId::d64_plain_two_polynomial: return f(D64PlainTwoPolynomial{});
    case TileId::d64_causal_overlapped: return f(D64CausalOverlapped{});
    case TileId::d64_causal: return f(D64Causal{});
    case TileId::d64_causal_polynomial: return f(D64CausalPolynomial{});
    case TileId::d64_causal_two: return f(D64CausalTwo{});
    case TileId::d64_window: return f(D64Window{});
    case TileId::d64_scores: return f(D64Scores{});
    case TileId::d64_bias: return f(D64Bias{});
    case TileId::d96_plain: return f(D96Plain{});
    case TileId::d96_causal: return f(D96Causal{});
    case TileId::d96_window: return f(D96Window{});
    case TileId::d96_scores: return f(D96Scores{});
    case TileId::d96_bias: return f(D96Bias{});
    case TileId::d128_plain: return f(D128Plain{});
    case TileId::d128_plain_cluster: return f(D128PlainCluster{});
    case TileId::d128_plain_wide: return f(D128PlainWide{});
    case TileId::d128_plain_wide_cluster: return f(D128PlainWideCluster{});
    case TileId::d128_plain_turns: return f(D128PlainTurns{});
    case TileId::d128_plain_wide_turns: return f(D128PlainWideTurns{});
    case TileId::d128_causal: return f(D128Causal{});
    case TileId::d128_causal_overlapped: return f(D128CausalOverlapped{});
    case TileId::d128_causal_full: return f(D128CausalFull{});
    case TileId::d128_window: return f(D128Window{});
    case TileId::d128_scores: return f(D128Scores{});
    case TileId::d128_bias: return f(D128Bias{});
    case TileId::d192x128_plain: return f(D192x128Plain{});
    case TileId::d192x128_causal: return f(D192x128Causal{});
    case TileId::d192x128_window: return f(D192x128Window{});
    case TileId::d192x128_scores: return f(D192x128Scores{});
    case TileId::d192x128_bias: return f(D192x128Bias{});
    case TileId::d192_plain: return f(D192Plain{});
    case TileId::d192_causal: return f(D192Causal{});
    case TileId::d192_window: return f(D192Window{});
    case TileId::d192_scores: return f(D192Scores{});
    case TileId::d192_bias: return f(D192Bias{});
    case TileId::d256_plain: return f(D256Plain{});
    case TileId::d256_plain_turns: return f(D256PlainTurns{});
    case TileId::d256_plain_cluster: return f(D256PlainCluster{});
    case TileId::d256_causal: return f(D256Causal{});
    case TileId::d256_causal_overlapped: return f(D256CausalOverlapped{});
    case TileId::d256_window: return f(D256Window{});
    case TileId::d256_scores: return f(D256Scores{});
    case TileId::d256_bias: return f(D256Bias{});
    case TileId::d64_plain_e4m3: return f(D64PlainE4m3{});
    case TileId::d64_causal_e4m3: return f(D64CausalE4m3{});
    case TileId::d64_window_e4m3: return f(D64WindowE4m3{});
    case TileId::d128_plain_e4m3: return f(D128PlainE4m3{});
    case TileId::d128_causal_e4m3: return f(D128CausalE4m3{});
    case TileId::d128_window_e4m3: return f(D128WindowE4m3{});
    case TileId::d256_plain_e4m3: return f(D256PlainE4m3{});
    case TileId::d256_causal_e4m3: return f(D256CausalE4m3{});
    default: return f(D256WindowE4m3{});
  }
}

inline constexpr auto all_tiles = [] {
  std::array<TileId, size_t(TileId::d256_window_e4m3) + 1> all{};
  for (size_t i = 0; i < all.size(); ++i) all[i] = TileId(i);
  return all;
}();

}  // namespace warpfold::kernels::attention
