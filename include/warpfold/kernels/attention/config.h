// Configurations of the attention kernel: element type and tile, and what follows from them.
//
// One warpgroup copies, the others own 64 rows of Q each. K and V travel through rings of their own, from the last keys
// to the first. Scores, probabilities and O stay in registers.
#pragma once

#include <type_traits>

#include "warpfold/hopper/tile_shape.h"
#include "warpfold/kernels/attention/tiles.h"
#include "warpfold/kernels/shared_plan.h"

namespace warpfold::kernels::attention {

template <class ElementType, class TileType>
struct Config : TileType {
  using Element = ElementType;
  using TileType::cluster;
  using TileType::head_dim;
  using TileType::math_warpgroups;
  using TileType::narrow_keys;
  using TileType::tile_keys;
  using TileType::v_head_dim;

  static constexpr bool causal = TileType::mask == Mask::causal, windowed = TileType::mask == Mask::window;
  static constexpr bool masked = causal || windowed;
  static constexpr bool has_score_rules = TileType::variant >= Variant::scores;
  static constexpr bool has_bias = TileType::variant == Variant::bias;
  static constexpr bool ping_pong = TileType::schedule == Schedule::ping_pong;
  static constexpr bool narrow = narrow_keys > 0;
  static constexpr int tile_rows = 64 * math_warpgroups;
  static constexpr int threads = 128 * (1 + math_warpgroups), math_warps = 4 * math_warpgroups;
  static constexpr int stages = 2;
  static constexpr int places = 3;                   // tiles in work and announced
  static constexpr int share = tile_keys / cluster;  // keys of a tile that each block fetches

  // Whole spans of 64 elements; what lies past the head dim is zeros, which TMA fills in.
  static constexpr int width = (head_dim + 63) / 64 * 64, v_width = (v_head_dim + 63) / 64 * 64;
  using QTile = hopper::TileShape<Element, 64, width>;                             // (64, head dim)
  using KTile = hopper::TileShape<Element, tile_keys, width>;                      // (keys, head dim)
  using VTile = hopper::TileShape<Element, v_width, tile_keys, hopper::Major::mn>;  // (v head dim, keys)

  template <int kKeys>
  using ScoreProduct = hopper::Wgmma<Element, Element, kKeys>;  // S (64, keys) = Q K^T
  using ValueProduct =                                          // O (64, v head dim) += P V
      hopper::Wgmma<Element, Element, v_head_dim, hopper::Major::k, hopper::Major::mn>;
  static constexpr int scores = tile_keys / 2, sums = v_head_dim / 2;  // registers of a thread
  static constexpr int fragments = tile_keys / 16;                     // of P, 4 registers each

  static constexpr int q_bytes = QTile::bytes, k_bytes = KTile::bytes, v_bytes = VTile::bytes;
  static constexpr int empty_arrivals = math_warps * cluster;

  // Registers of a thread; the launch gives every thread the same number, and the sum must not grow.
  static constexpr int producer_registers = math_warpgroups == 2 ? 40 : 32;
  static constexpr int math_registers = math_warpgroups == 2 ? 232 : 160;

  struct Offsets {
    uint32_t q, k, v, place, q_full, q_empty, k_full, k_empty, v_full, v_empty, place_full, place_empty, end;
  };
  static constexpr SharedPlan plan(Offsets& at) {
    SharedPlan p;
    at.q = p.add("Q", math_warpgroups, q_bytes, QTile::alignment);
    at.k = p.add("K", stages, k_bytes, KTile::alignment);
    at.v = p.add("V", stages, v_bytes, VTile::alignment);
    at.place = p.add("tiles announced", places, 32, 16);
    at.q_full = p.add("Q full", math_warpgroups, 8, 8);
    at.q_empty = p.add("Q empty", math_warpgroups, 8, 8);
    at.k_full = p.add("K full", stages, 8, 8);
    at.k_empty = p.add("K empty", stages, 8, 8);
    at.v_full = p.add("V full", stages, 8, 8);
    at.v_empty = p.add("V empty", stages, 8, 8);
    at.place_full = p.add("tile full", places, 8, 8);
    at.place_empty = p.add("tile empty", places, 8, 8);
    at.end = uint32_t(p.bytes);
    return p;
  }
  static constexpr SharedPlan plan() {
    Offsets at{};
    return plan(at);
  }
  static constexpr Offsets offsets() {
    Offsets at{};
    plan(at);
    return at;
  }
  static constexpr int shared_bytes = offsets().end;

  static_assert(tile_keys % 16 == 0 && narrow_keys % 16 == 0 && narrow_keys < tile_keys, "P is multiplied 16 keys at a time");
  static_assert(head_dim % 16 == 0 && v_head_dim % 32 == 0, "a thread stores 8 of 32 columns of O");
  static_assert(share * cluster == tile_keys && share % 8 == 0, "each block of a cluster fetches an equal share");
  static_assert(cluster == 1 || !masked, "blocks of a cluster need the same keys");
};

}  // namespace warpfold::kernels::attention
