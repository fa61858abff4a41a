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
  static constexpr bool eight_bit = sizeof(Element) == 1;
  using Result = std::conditional_t<eight_bit, hopper::bf16, Element>;  // O's type where it is not fp32
  static constexpr int tile_rows = 64 * math_warpgroups;
  static constexpr int threads = 128 * (1 + math_warpgroups), math_warps = 4 * math_warpgroups;
  static constexpr int stages = 2;
  static constexpr int places = 3;                   // tiles in work and announced
  static constexpr int share = tile_keys / cluster;  // keys of a tile that each block fetches

  // Whole spans of 128 bytes; what lies past the head dim is zeros, which TMA fills in.
  static constexpr int span = 128 / sizeof(Element);
  static constexpr int width = (head_dim + span - 1) / span * span,
                       v_width = (v_head_dim + span - 1) / span * span;
  using QTile = hopper::TileShape<Element, 64, width>;                             // (64, head dim)
  using KTile = hopper::TileShape<Element, tile_keys, width>;                      // (keys, head dim)
  // V (v head dim, keys), as it comes; 8-bit: the keys come as rows and the tile is transposed (values.h).
  using Landing = std::conditional_t<eight_bit, hopper::TileShape<Element, tile_keys, v_width>,
                                     hopper::TileShape<Element, v_width, tile_keys, hopper::Major::mn>>;
  static constexpr hopper::SwizzleMode v_swizzle = tile_keys % 128 == 0 ? hopper::SwizzleMode::b128
                                                   : tile_keys % 64 == 0
                                                       ? hopper::SwizzleMode::b64
                                                       : hopper::SwizzleMode::b32;  // whole spans of keys
  using VTile = std::conditional_t<
      eight_bit, hopper::TileShape<Element, v_head_dim, tile_keys, hopper::Major::k, v_swizzle>, Landing>;

  template <int kKeys>
  using ScoreProduct = hopper::Wgmma<Element, Element, kKeys>;  // S (64, keys) = Q K^T
  using ValueProduct =                                          // O (64, v head dim) += P V
      hopper::Wgmma<Element, Element, v_head_dim, hopper::Major::k, VTile::major>;
  static constexpr int scores = tile_keys / 2, sums = v_head_dim / 2;  // registers of a thread
  static constexpr int depth = 32 / sizeof(Element);                   // elements of K of an instruction
  static constexpr int fragments = tile_keys / depth;                  // of P, 4 registers each
  // Of e4m3: P times 2^8 uses its range, up to 448; eagerly there is room left to rise (softmax.h).
  static constexpr int probability_bits = !eight_bit ? 0 : TileType::eager ? 5 : 8;

  static constexpr int q_bytes = QTile::bytes, k_bytes = KTile::bytes, v_bytes = VTile::bytes;
  static constexpr int landing_bytes = Landing::bytes;
  static constexpr int empty_arrivals = math_warps * cluster;
  static constexpr int transposing_warps = eight_bit ? 2 : 0;
  static constexpr int v_full_arrivals = eight_bit ? transposing_warps : 1;
  static constexpr int place_arrivals = math_warps + 1 + transposing_warps;

  // Registers of a thread; the launch gives every thread the same number, and the sum must not grow.
  // Transposing takes more than copying.
  static constexpr int producer_registers = eight_bit ? 56 : math_warpgroups == 2 ? 40 : 32;
  static constexpr int math_registers = eight_bit ? 224 : math_warpgroups == 2 ? 232 : 160;

  struct Offsets {
    uint32_t q, k, v, place, q_full, q_empty, k_full, k_empty, v_full, v_empty, place_full, place_empty, end;
    uint32_t landing, landed, landing_empty;  // of V; that of 16-bit elements lands in its place
  };
  static constexpr SharedPlan plan(Offsets& at) {
    SharedPlan p;
    at.q = p.add("Q", math_warpgroups, q_bytes, QTile::alignment);
    at.k = p.add("K", stages, k_bytes, KTile::alignment);
    at.v = p.add("V", stages, v_bytes, VTile::alignment);
    at.landing = eight_bit ? p.add("V as it comes", stages, landing_bytes, Landing::alignment) : at.v;
    at.place = p.add("tiles announced", places, 32, 16);
    at.q_full = p.add("Q full", math_warpgroups, 8, 8);
    at.q_empty = p.add("Q empty", math_warpgroups, 8, 8);
    at.k_full = p.add("K full", stages, 8, 8);
    at.k_empty = p.add("K empty", stages, 8, 8);
    at.v_full = p.add("V full", stages, 8, 8);
    at.v_empty = p.add("V empty", stages, 8, 8);
    at.landed = eight_bit ? p.add("V came", stages, 8, 8) : at.v_full;
    at.landing_empty = eight_bit ? p.add("V transposed", stages, 8, 8) : at.v_empty;
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

  static_assert(tile_keys % depth == 0 && narrow_keys % depth == 0 && narrow_keys < tile_keys,
                "P is multiplied so many keys at a time");
  static_assert(head_dim % depth == 0 && v_head_dim % 32 == 0, "a thread stores 8 of 32 columns of O");
  static_assert(share * cluster == tile_keys && share % 8 == 0, "each block of a cluster fetches an equal share");
  static_assert(cluster == 1 || !eight_bit, "a tile is transposed where it comes");
  static_assert(!eight_bit || math_warpgroups == 2, "registers are dealt to two warpgroups");
  static_assert(TileType::eager || TileType::p_buffers == 1, "P is made while P V runs only eagerly");
  static_assert(TileType::eight_bit == eight_bit, "tiles are for elements of one width");
  static_assert(cluster == 1 || !masked, "blocks of a cluster need the same keys");
};

}  // namespace warpfold::kernels::attention
