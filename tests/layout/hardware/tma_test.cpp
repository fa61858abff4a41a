// Tensor maps: each rule with its sentence, and derived maps against a model that copies a box element by
// element.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "warpfold/layout/hardware/tma.h"
#include "warpfold/layout/hardware/wgmma.h"

namespace warpfold::layout::hardware {
namespace {

constexpr TensorMap good() {
  TensorMap t;
  t.rank = 2;
  t.swizzle = SwizzleMode::b128;
  t.size[0] = t.size[1] = t.stride[1] = 4096;
  t.box[0] = 64;
  t.box[1] = 128;
  return t;
}
static_assert(check(good()).rule == Rule::none);
static_assert(good().box_bytes() == 16384);

template <class Change>
std::string said(Change change) {
  TensorMap t = good();
  change(t);
  return std::string(sentence(check(t)).view());
}

TEST(TensorMap, Rules) {
  EXPECT_EQ(said([](TensorMap& t) { t.rank = 6; }), "the tensor map needs 6 dimensions; it has 1 to 5");
  EXPECT_EQ(said([](TensorMap& t) { t.element_bytes = 3; }),
            "a tensor map's element has 1, 2, 4 or 8 bytes, not 3");
  EXPECT_EQ(said([](TensorMap& t) { t.address = 24; }),
            "the global address lies 8 bytes past a multiple of 16; a tensor map starts on one");
  EXPECT_EQ(said([](TensorMap& t) { t.size[1] = 0; }), "dimension 1 has size 0; allowed are 1 to 4294967296");
  EXPECT_EQ(said([](TensorMap& t) { t.size[1] = int64_t{1} << 32; }), "");
  EXPECT_EQ(said([](TensorMap& t) { t.size[1] = (int64_t{1} << 32) + 1; }),
            "dimension 1 has size 4294967297; allowed are 1 to 4294967296");
  EXPECT_EQ(
      said([](TensorMap& t) { t.stride[0] = 2; }),
      "dimension 0, the fastest in shared memory, moves 2 elements in global memory; a tensor map needs 1");
  EXPECT_EQ(said([](TensorMap& t) { t.stride[1] = 4100; }),
            "dimension 1 moves 8200 bytes, which is no multiple of 16");
  EXPECT_EQ(said([](TensorMap& t) { t.stride[1] = (int64_t{1} << 39) - 8; }), "");
  EXPECT_EQ(said([](TensorMap& t) { t.stride[1] = int64_t{1} << 39; }),
            "dimension 1 moves 1099511627776 bytes; allowed are 0 to below 2^40 = 1099511627776");
  EXPECT_EQ(said([](TensorMap& t) { t.stride[1] = -4096; }),
            "dimension 1 moves -8192 bytes; allowed are 0 to below 2^40 = 1099511627776");
  EXPECT_EQ(said([](TensorMap& t) { t.stride[1] = int64_largest; }),
            "dimension 1 moves 9223372036854775807 bytes; allowed are 0 to below 2^40 = 1099511627776");
  EXPECT_EQ(said([](TensorMap& t) { t.box[1] = 257; }),
            "the box has size 257 in dimension 1; allowed are 1 to 256");
  EXPECT_EQ(said([](TensorMap& t) { t.box[0] = 12; }),
            "a row of the box has 12 elements of 2 bytes = 24 bytes, which is no multiple of 16");
  EXPECT_EQ(said([](TensorMap& t) { t.box[0] = 72; }),
            "a row of the box has 144 bytes, more than the 128 bytes that the swizzle spans");
  EXPECT_EQ(said([](TensorMap& t) { t.box[0] = 256, t.swizzle = SwizzleMode::none; }), "");
  EXPECT_EQ(said([](TensorMap& t) { t.element_stride[1] = 9; }),
            "the element stride of dimension 1 is 9; allowed are 1 to 8");
  EXPECT_EQ(said([](TensorMap& t) {
              t.box[0] = t.box[1] = 256;
              t.element_bytes = 4;
              t.swizzle = SwizzleMode::none;
            }),
            "the box has 262144 bytes; a block has at most 232448 bytes of shared memory");
}

TEST(TensorMap, Boxes) {
  TensorMap t = good();
  t.element_bytes = 1;
  EXPECT_EQ(std::string(sentence(check_box(t, 8, 0)).view()),
            "the box starts at byte 8 of dimension 0, which is no multiple of 16");
  EXPECT_EQ(std::string(sentence(check_box(t, 16, 512)).view()),
            "the box is written to shared address 512; allowed are multiples of 1024 from 0 on");
  EXPECT_EQ(check_box(t, 16, -1024).rule, Rule::tma_shared_address);
  EXPECT_EQ(std::string(sentence(check_box(t, int64_t{1} << 62, 1024)).view()),
            "the box starts at element 4611686018427387904 of dimension 0; a copy takes coordinates of 32 bits");
  EXPECT_EQ(check_box(t, int64_t{1} << 31, 1024).rule, Rule::tma_box_coordinate);
  EXPECT_EQ(check_box(t, int64_lowest, 1024).rule, Rule::tma_box_coordinate);
  EXPECT_EQ(check_box(t, -16, 1024).rule, Rule::none);
}

// Copies the box at the tile's index, element by element in the box's order, and compares with the tile.
void expect_image(const Layout& global, const SharedTile& tile, const std::vector<int64_t>& index) {
  const auto plan = tile_map(global, tile);
  ASSERT_TRUE(plan) << to_text(global).view() << " / " << to_text(tile.layout).view() << ": "
                    << plan.reason().view();
  const TensorMap& t = plan->map;
  const int64_t outside = -1;
  std::vector<int64_t> image(static_cast<std::size_t>(t.box_elements()));
  for (int64_t i = 0; i < t.box_elements(); ++i) {
    int64_t rest = i, offset = 0;
    bool inside = true;
    for (int d = 0; d < t.rank; ++d) {
      const int64_t x =
          rest % t.box[d] + index[static_cast<std::size_t>(plan->mode[d])] / plan->step[d] % t.size[d];
      rest /= t.box[d];
      inside = inside && x < t.size[d];
      offset += x * t.stride[d];
    }
    image[static_cast<std::size_t>(tile.swizzle(i * tile.element_bytes) / tile.element_bytes)] =
        inside ? offset : outside;
  }
  for (int64_t i = 0; i < tile.layout.size(); ++i) {
    const IntTuple c = tile.layout.coordinate(i);
    int64_t offset = 0;
    bool inside = true;
    for (int m = 0, leaf = 0; m < global.rank(); ++m) {
      int64_t x = index[static_cast<std::size_t>(m)], weight = 1;
      const Layout part = tile.layout.mode(m);
      for (int k = 0; k < part.leaves(); ++k) {
        x += c.value[leaf++] * weight;
        weight *= part.shape[k];
      }
      inside = inside && x < global.mode(m).size();
      offset += global.mode(m)(x);
    }
    ASSERT_EQ(image[static_cast<std::size_t>(tile.byte(i) / tile.element_bytes)], inside ? offset : outside)
        << to_text(global).view() << " / " << to_text(tile.layout).view() << " element " << i;
  }
}

TEST(TileMap, CanonicalTiles) {
  const Layout row_major = *parse_layout("(4096,4096):(4096,1)"),
               column_major = *parse_layout("(4096,4096):(1,4096)");
  for (const SwizzleMode mode : {SwizzleMode::none, SwizzleMode::b32, SwizzleMode::b64, SwizzleMode::b128}) {
    expect_image(row_major, *canonical_tile(Major::k, mode, 2, 128, 128), {256, 384});
    expect_image(row_major, *canonical_tile(Major::k, mode, 1, 64, 128), {64, 128});
    expect_image(row_major, *canonical_tile(Major::k, mode, 4, 64, 64), {64, 128});
    expect_image(column_major, *canonical_tile(Major::mn, mode, 2, 128, 64), {256, 384});
  }
}

TEST(TileMap, ShowsDimensions) {
  const auto plan = tile_map(*parse_layout("(4096,4096):(4096,1)"),
                             *canonical_tile(Major::k, SwizzleMode::b128, 2, 128, 128));
  ASSERT_TRUE(plan);
  TensorMap want;
  want.rank = 3;
  want.swizzle = SwizzleMode::b128;
  const int64_t size[] = {64, 4096, 64}, stride[] = {1, 4096, 64}, box[] = {64, 128, 2};
  for (int i = 0; i < 3; ++i) want.size[i] = size[i], want.stride[i] = stride[i], want.box[i] = box[i];
  EXPECT_EQ(plan->map, want);
  EXPECT_EQ(plan->mode[2], 1);
  EXPECT_EQ(plan->step[2], 64);
}

TEST(TileMap, NestedAndBatched) {
  const Swizzle b128 = swizzle_of(SwizzleMode::b128);
  expect_image(*parse_layout("(64,96,(4,3)):(96,1,(6144,30720))"),
               {*parse_layout("(32,64,1):(64,1,0)"), b128, 2}, {32, 32, 7});
  expect_image(*parse_layout("((16,4),96,(4,3)):((96,2048),1,(8192,40960))"),
               {*parse_layout("(32,64,1):(64,1,0)"), b128, 2}, {32, 32, 7});
  expect_image(*parse_layout("4096:1"), {*parse_layout("256:1"), {}, 4}, {512});
  // Past the end: the last tile of 100 x 120.
  expect_image(*parse_layout("(100,120):(128,1)"), {*parse_layout("(64,64):(64,1)"), b128, 2}, {64, 64});
  // A paged cache: pages of 64 rows anywhere, one page a box.
  expect_image(*parse_layout("((64,100),128):((128,9216),1)"), {*parse_layout("(64,64):(64,1)"), b128, 2},
               {6400 - 64, 64});
}

TEST(TileMap, Refusals) {
  const auto refused = [](std::string_view global, std::string_view tile, Swizzle s, int bytes = 2) {
    return std::string(tile_map(*parse_layout(global), {*parse_layout(tile), s, bytes}).reason().view());
  };
  const Swizzle b128 = swizzle_of(SwizzleMode::b128);
  EXPECT_EQ(refused("(4096,4096):(4096,1)", "(128,64):(72,1)", {}),
            "a box is written without gaps: after 64 elements the tile's next mode has stride 72");
  EXPECT_EQ(refused("(4096,4096):(1,4096)", "(128,64):(64,1)", b128),
            "dimension 0, the fastest in shared memory, moves 4096 elements in global memory; a tensor map "
            "needs 1");
  EXPECT_EQ(refused("(4096,4096):(4096,1)", "(128,128):(128,1)", b128),
            "a row of the box has 256 bytes, more than the 128 bytes that the swizzle spans");
  EXPECT_EQ(refused("(4096,4096):(4096,1)", "(512,64):(64,1)", b128),
            "the box has size 512 in dimension 1; allowed are 1 to 256");
  EXPECT_EQ(refused("(4096,4096):(4096,1)", "64:1", b128),
            "the tile has 1 modes and the global layout has 2; each tile mode is a part of one");
  EXPECT_EQ(refused("(4096,100):(104,1)", "(128,(64,2)):(64,(1,8192))", b128),
            "the tile cuts mode 1 of the global layout into pieces of 64, which do not divide 100");
  EXPECT_EQ(
      refused("((48,9),4096):((4096,400000),1)", "(64,64):(64,1)", b128),
      "mode 0 of the tile moves 64 elements from index 1 of the global mode, which is no single step there");
  EXPECT_EQ(refused("(4096,4096):(4096,1)", "(64,64):(64,1)", {2, 5, 3}),
            "Sw<2,5,3> on bytes is none of the tensor map's swizzles: none, Sw<1,4,3>, Sw<2,4,3>, Sw<3,4,3>");
  EXPECT_EQ(refused("(64,(2,2,2,2,2)):(1,(64,200,500,1100,2400))", "(64,(1,1,1,1,1)):(1,(0,0,0,0,0))", b128),
            "the tensor map needs 6 dimensions; it has 1 to 5");
}

// Random nested layouts and tiles: whatever is accepted copies the right elements.
TEST(TileMap, RandomTilesCopyRight) {
  std::mt19937_64 random(7);
  const auto pick = [&](std::initializer_list<int64_t> list) { return list.begin()[random() % list.size()]; };
  int accepted = 0;
  for (int round = 0; round < 20000 && accepted < 3000; ++round) {
    const int64_t inner = pick({16, 32, 64}), outer = pick({2, 3, 4}), rows = pick({8, 16, 24}),
                  pages = pick({1, 2, 3});
    LayoutBuilder g;
    g.begin();
    g.begin();
    g.add(rows, pick({inner * outer, 256}));
    g.add(pages, pick({8192, 16384}));
    g.end();
    g.begin();
    g.add(inner, 1);
    g.add(outer, pick({inner, 128}));
    g.end();
    g.end();
    const int64_t r = pick({8, 16, 24, 48}), c0 = pick({8, 16, 32}), c1 = pick({1, 2, 4});
    LayoutBuilder s;
    s.begin();
    s.begin();
    s.add(r, c0);
    s.end();
    s.begin();
    s.add(c0, 1);
    s.add(c1, r * c0);
    s.end();
    s.end();
    const Layout global = g.layout();
    const SharedTile tile{s.layout(),
                          swizzle_of(c0 == 8    ? SwizzleMode::none
                                     : c0 == 16 ? SwizzleMode::b32
                                                : SwizzleMode::b64),
                          2};
    if (!tile_map(global, tile)) continue;
    ++accepted;
    const int64_t i = static_cast<int64_t>(random() % static_cast<uint64_t>(ceil_div(rows * pages, r))) * r;
    const int64_t j =
        static_cast<int64_t>(random() % static_cast<uint64_t>(ceil_div(inner * outer, c0 * c1))) * c0 * c1;
    expect_image(global, tile, {i, j});
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(accepted, 1000);
}

}  // namespace
}  // namespace warpfold::layout::hardware
