// Which keys rows see. Row i of a sequence stands at p = i + seqlen_k - seqlen_q and sees of the sequence's
// keys
//
//   no mask   all
//   causal    j <= p
//   window    p - left <= j <= p + right
//
// Key tiles that no row of a block sees are never fetched, those that no row of a warpgroup sees are not
// multiplied, and those that all its rows see in full are not masked.
#pragma once

#include "warpfold/hopper/hopper.h"

namespace warpfold::kernels::attention {

struct Extent {
  int seqlen_q, seqlen_k, q_start, k_start;
};
// Mask::window; a side without limit has the longest sequence's length.
struct Window {
  int left, right;
};

inline namespace WF_TARGET {

// The first key that `row` sees, and the key after the last.
template <class Config>
WF_ATOM int first_key([[maybe_unused]] const Extent& e, [[maybe_unused]] const Window& window,
                      [[maybe_unused]] int row) {
  if constexpr (Config::windowed) {
    const int first = row + e.seqlen_k - e.seqlen_q - window.left;
    return first > 0 ? first : 0;
  } else {
    return 0;
  }
}
template <class Config>
WF_ATOM int end_key(const Extent& e, [[maybe_unused]] const Window& window, [[maybe_unused]] int row) {
  const int more = e.seqlen_k - e.seqlen_q, all = e.seqlen_k;
  if constexpr (Config::windowed)
    return row + 1 + more + window.right < all ? row + 1 + more + window.right : all;
  else
    return Config::causal && row + 1 + more < all ? row + 1 + more : all;
}

// The first key tile of a block whose rows begin with `row`.
template <class Config>
WF_ATOM int first_key_tile(const Extent& e, const Window& window, int row) {
  return first_key<Config>(e, window, row) / Config::tile_keys;
}

// What a warpgroup's rows see of the tile's sequence.
struct View {
  int first, key_tiles;    // some row sees key tiles [first, key_tiles)
  int whole_first, whole;  // all rows see [whole_first, whole) in full
  bool narrow;             // of the last key tile no row sees more than narrow_keys keys
  int begin[2],
      limit[2];  // the thread's two rows see keys [begin, limit), counted from the thread's first column
};

// `block_first`: the first key tile that the block visits.
template <class Config>
WF_ATOM View view_of(const Extent& e, const Window& window, int first_row, [[maybe_unused]] int block_first) {
  const int last_row = first_row + 64 < e.seqlen_q ? first_row + 63 : e.seqlen_q - 1;
  const int some = first_row > last_row ? 0 : end_key<Config>(e, window, last_row);
  const int every = end_key<Config>(e, window, first_row);
  View v{};
  v.key_tiles = some <= 0 ? 0 : (some + Config::tile_keys - 1) / Config::tile_keys;
  v.whole = every <= 0 ? 0 : every / Config::tile_keys;
  v.narrow = Config::narrow && some - (v.key_tiles - 1) * Config::tile_keys <= Config::narrow_keys;
  if constexpr (Config::windowed) {
    v.first = some <= 0 ? 0 : first_key_tile<Config>(e, window, first_row);
    v.whole_first = (first_key<Config>(e, window, last_row) + Config::tile_keys - 1) / Config::tile_keys;
    if (some <= 0) v.first = v.key_tiles = block_first;
  }
  WF_UNROLL
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + hopper::accumulator_row(hopper::thread_id() % 128, 2 * r);
    v.limit[r] = end_key<Config>(e, window, row) - hopper::lane_id() % 4 * 2;
    if constexpr (Config::windowed)
      v.begin[r] = first_key<Config>(e, window, row) - hopper::lane_id() % 4 * 2;
  }
  return v;
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::attention
