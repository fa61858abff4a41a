// The order of attention's tiles: every tile of rows once, with the keys that its rows see; those that see
// most first.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "warpfold/kernels/attention/config.h"
#include "warpfold/kernels/attention/raster.h"

namespace warpfold::kernels::attention {
namespace {

using Place3 = std::tuple<int, int, int>;  // batch, head, row

Shape equal(int batches, int heads, int seqlen_q, int seqlen_k, int group) {
  Shape s{};
  s.q = {nullptr, nullptr, seqlen_q, 0};
  s.k = {nullptr, nullptr, seqlen_k, 0};
  s.batches = batches;
  s.heads = heads;
  s.heads_per_kv = 1;
  s.window = {seqlen_k, seqlen_q};
  s.group = group;
  return s;
}

// All tiles in order; each must come once.
template <class Config>
std::vector<Tile> all_tiles_of(const Shape& shape, const std::vector<int>& lengths) {
  TileOrder<Config> order{shape};
  std::vector<Tile> tiles;
  std::map<Place3, int> seen;
  Tile tile;
  for (int i = 0; order.find(i, tile); ++i) {
    tiles.push_back(tile);
    ++seen[{tile.place.batch, tile.place.head, tile.place.row}];
  }
  EXPECT_EQ(int(tiles.size()), order.count());
  size_t expected = 0;
  for (int b = 0; b < shape.batches; ++b)
    for (int row = 0; row < lengths[size_t(b)]; row += Config::tile_rows)
      for (int h = 0; h < shape.heads; ++h, ++expected)
        EXPECT_EQ((seen[{b, h, row}]), 1) << b << " " << h << " " << row;
  EXPECT_EQ(seen.size(), expected) << "tiles that do not exist";
  return tiles;
}

template <class Config>
void check_keys(const std::vector<Tile>& tiles, int left, int right) {
  for (const Tile& t : tiles) {
    const int more = t.extent.seqlen_k - t.extent.seqlen_q;
    const int last = std::min(t.place.row + Config::tile_rows, t.extent.seqlen_q) - 1;
    const int end = std::clamp(last + more + right + 1, 0, t.extent.seqlen_k);
    EXPECT_EQ(t.place.key_tiles, (end + Config::tile_keys - 1) / Config::tile_keys) << t.place.row;
    if (end == 0) continue;
    EXPECT_EQ(first_key_tile<Config>(t.extent, {left, right}, t.place.row),
              std::max(0, t.place.row + more - left) / Config::tile_keys)
        << t.place.row;
  }
}

using Causal = Config<hopper::bf16, D128Causal>;
using Plain = Config<hopper::bf16, D128Plain>;
using Windowed = Config<hopper::bf16, D128Window>;

TEST(AttentionRaster, EveryTileOnce) {
  for (const int rows : {1, 127, 128, 129, 1000, 4096})
    for (const int group : {1, 2, 3, 7, 100}) {
      const Shape s = equal(2, 7, rows, 5000, group);
      check_keys<Causal>(all_tiles_of<Causal>(s, {rows, rows}), 1 << 20, 0);
      check_keys<Plain>(all_tiles_of<Plain>(s, {rows, rows}), 1 << 20, 5000);
    }
}

TEST(AttentionRaster, LaterRowsFirst) {
  const Shape s = equal(1, 6, 4096, 4096, 2);
  const std::vector<Tile> tiles = all_tiles_of<Causal>(s, {4096});
  // Halves of rows: no tile of a later half comes after one of an earlier.
  for (size_t i = 0; i < tiles.size(); ++i) EXPECT_EQ(tiles[i].place.row >= 2048, i < tiles.size() / 2) << i;
  // Within a half a group's heads come together.
  for (size_t i = 0; i < tiles.size() / 2; ++i) EXPECT_EQ(tiles[i].place.head / 2, int(i / (2 * 16))) << i;
}

TEST(AttentionRaster, Windows) {
  for (const auto& [left, right] :
       std::vector<std::pair<int, int>>{{0, 0}, {100, 20}, {128, 127}, {5000, 0}, {0, 700}})
    for (const auto& [sq, sk] :
         std::vector<std::pair<int, int>>{{700, 700}, {100, 900}, {900, 100}, {300, 0}}) {
      Shape s = equal(1, 2, sq, sk, 1);
      s.window = {left, right};
      s.triangle = left >= 5000;
      check_keys<Windowed>(all_tiles_of<Windowed>(s, {sq}), left, right);
    }
}

}  // namespace
}  // namespace warpfold::kernels::attention
