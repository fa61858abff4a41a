// Descriptors against a model of how the instruction addresses shared memory, written from its documentation
// and independent of the library: from the 64 bits alone it finds each element, which must be where the tile
// has it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>

#include "warpfold/layout/hardware/wgmma.h"

namespace warpfold::layout::hardware {
namespace {

// Byte address of element (i,k) of one instruction.
int64_t model(uint64_t descriptor, Major major, int64_t element, int64_t i, int64_t k) {
  const int64_t start = static_cast<int64_t>(descriptor & 0x3FFF) << 4;
  const int64_t lbo = static_cast<int64_t>(descriptor >> 16 & 0x3FFF) << 4;
  const int64_t sbo = static_cast<int64_t>(descriptor >> 32 & 0x3FFF) << 4;
  const int64_t span = std::array<int64_t, 4>{16, 128, 64, 32}[descriptor >> 62];
  const bool swizzled = span != 16;
  int64_t address = 0;
  if (major == Major::k) {
    const int64_t unit = k * element / 16, in_unit = k * element % 16;
    address = swizzled ? start + i / 8 * sbo + i % 8 * span + unit * 16 + in_unit
                       : start + i / 8 * sbo + unit * lbo + i % 8 * 16 + in_unit;
  } else {
    const int64_t unit = i * element / 16, in_unit = i * element % 16, units = span / 16;
    address = swizzled ? start + unit / units * lbo + unit % units * 16 + k % 8 * span + k / 8 * sbo + in_unit
                       : start + unit * sbo + k / 8 * lbo + k % 8 * 16 + in_unit;
  }
  return address ^ (address >> 7 & (span / 16 - 1)) << 4;
}

constexpr SwizzleMode modes[] = {SwizzleMode::none, SwizzleMode::b32, SwizzleMode::b64, SwizzleMode::b128};

// While the program compiles: the 128-byte swizzled tile of 128 x 128 16-bit elements as two blocks of 64
// rows.
constexpr SharedTile tile_128 = require(canonical_tile(Major::k, SwizzleMode::b128, 2, 128, 128));
constexpr WgmmaOperand operand_128 = require(wgmma_operand(tile_128, Major::k, 1024, 64));
static_assert(operand_128.first.stride_bytes == 1024 && operand_128.blocks == 2 && operand_128.steps == 8);
static_assert(operand_128.first.bits == 0x4000004000010040);

TEST(Wgmma, DescriptorsOfCanonicalTilesFindEveryElement) {
  int tiles = 0;
  for (const int element : {1, 2, 4})
    for (const Major major : {Major::k, Major::mn})
      for (const SwizzleMode mode : modes)
        for (const int64_t mn : {8, 64, 96, 128, 256})
          for (const int64_t k_bytes : {32, 64, 128, 256, 512}) {
            const auto tile = canonical_tile(major, mode, element, mn, k_bytes / element);
            if (!tile) continue;
            ++tiles;
            const auto operand = wgmma_operand(*tile, major, 2048);
            ASSERT_TRUE(operand) << operand.reason().view();
            const int64_t step_k = wgmma_k(element);
            for (int64_t step = 0; step < operand->steps; ++step) {
              const uint64_t bits = descriptor_bits(*operand, *tile, 0, step);
              for (int64_t i = 0; i < mn; ++i)
                for (int64_t k = 0; k < step_k; ++k)
                  ASSERT_EQ(model(bits, major, element, i, k), 2048 + tile->byte(i, step * step_k + k));
            }
          }
  EXPECT_GT(tiles, 100);
}

TEST(Wgmma, BlocksOfRows) {
  for (const Major major : {Major::k, Major::mn})
    for (const SwizzleMode mode : modes) {
      const auto tile = canonical_tile(major, mode, 2, 256, 64);
      const auto operand = wgmma_operand(*tile, major, 0, 64);
      ASSERT_TRUE(operand);
      EXPECT_EQ(operand->blocks, 4);
      for (int64_t block = 0; block < 4; ++block)
        for (int64_t i = 0; i < 64; ++i)
          for (int64_t k = 0; k < 16; ++k)
            ASSERT_EQ(model(descriptor_bits(*operand, *tile, block, 3), major, 2, i, k),
                      tile->byte(64 * block + i, 48 + k));
    }
}

// Tiles with random strides: an accepted one is read right, a refused one by no pair of offsets.
TEST(Wgmma, AcceptsExactlyWhatSomeDescriptorReads) {
  std::mt19937_64 random(4);
  int accepted = 0, refused = 0;
  const auto pick = [&](std::initializer_list<int64_t> list) { return list.begin()[random() % list.size()]; };
  for (int round = 0; round < 1000; ++round) {
    const Major major = random() % 2 == 0 ? Major::k : Major::mn;
    const SwizzleMode mode = modes[random() % 4];
    const int64_t e = span_bytes(mode) / 2;
    SharedTile tile;
    tile.element_bytes = 2;
    tile.swizzle = swizzle_of(mode);
    const auto two = [](int64_t s, int64_t d, int64_t s1, int64_t d1, LayoutBuilder& b) {
      b.begin();
      b.add(s, d);
      b.add(s1, d1);
      b.end();
    };
    LayoutBuilder b;
    b.begin();
    // Near the canonical strides, so that both verdicts occur.
    const int64_t far = pick({8 * e, 8 * e, 8 * e, 64, 72, 128, 8});
    if (major == Major::k) {
      two(8, pick({e, e, e, 8, 16}), 2, far, b);
      two(pick({8, 8, 16}) == 16 ? 16 : 8, 1, 2, pick({8, 8, 16, 64, 128}), b);
    } else {
      const int64_t inner = mode == SwizzleMode::none ? 8 : pick({e, e, 8});
      two(inner, 1, 2, pick({8, 64, 512, e * 16}), b);
      two(8, pick({e, e, 8}), 2, far, b);
    }
    b.end();
    tile.layout = b.layout();
    const int64_t mn = tile.layout.mode(0).size();
    const auto d = wgmma_descriptor(tile, major, 0, {0, mn, 0});
    const auto reads = [&](uint64_t bits) {
      for (int64_t i = 0; i < mn; ++i)
        for (int64_t k = 0; k < 16; ++k)
          if (model(bits, major, 2, i, k) != tile.byte(i, k)) return false;
      return true;
    };
    if (d) {
      ++accepted;
      ASSERT_TRUE(reads(d->bits)) << to_text(tile.layout).view();
      continue;
    }
    ++refused;
    for (int64_t lbo = 0; lbo <= 2048; lbo += 16)
      for (int64_t sbo = 0; sbo <= 2048; sbo += 16)
        ASSERT_FALSE(reads(encode({0, mode, 0, lbo, sbo, 0})))
            << to_text(tile.layout).view() << " LBO " << lbo << " SBO " << sbo << ": " << d.reason().view();
  }
  EXPECT_GT(accepted, 50);
  EXPECT_GT(refused, 50);
}

TEST(Wgmma, BaseOffsetOfATileInsideAPattern) {
  const auto d = wgmma_descriptor(tile_128, Major::k, 1024 + 384, {0, 64, 0});
  ASSERT_TRUE(d);
  EXPECT_EQ(d->base_offset, 3);
  EXPECT_EQ(d->bits >> 49 & 7, 3u);
  EXPECT_EQ(std::string(wgmma_descriptor(tile_128, Major::k, 1024 + 64, {0, 64, 0}).reason().view()),
            "the swizzle pattern starts at shared address 1088, which is no multiple of 128");
}

TEST(Wgmma, Refusals) {
  const auto said = [](std::string_view text, Swizzle s, int bytes, Major major, int64_t address = 0,
                       int64_t rows = 0) {
    return std::string(wgmma_operand({*parse_layout(text), s, bytes}, major, address, rows).reason().view());
  };
  const Swizzle b128 = swizzle_of(SwizzleMode::b128);
  EXPECT_EQ(said("(64,64):(64,1)", b128, 2, Major::k), "");
  EXPECT_EQ(said("(64,64):(64,1)", {}, 2, Major::k),
            "not canonical: element (1,0) lies at byte 128 of the unswizzled tile, the descriptor reads it "
            "at byte 16");
  EXPECT_EQ(said("(64,64):(72,1)", b128, 2, Major::k),
            "not canonical: element (1,0) lies at byte 144 of the unswizzled tile, the descriptor reads it "
            "at byte 128");
  EXPECT_EQ(said("(64,64):(1,64)", b128, 2, Major::k),
            "not canonical: elements (0,0) to (0,7) are not 16 consecutive bytes");
  EXPECT_EQ(said("(64,64):(1,64)", b128, 1, Major::mn),
            "8-bit operands of wgmma are K-major only; MN-major needs 16 bits");
  EXPECT_EQ(said("(64,64):(1,64)", b128, 4, Major::mn),
            "32-bit operands of wgmma are K-major only; MN-major needs 16 bits");
  EXPECT_EQ(said("(64,64):(64,1)", {3, 3, 3}, 2, Major::k),
            "Sw<3,3,3> on bytes is none of wgmma's swizzles: none, Sw<1,4,3>, Sw<2,4,3>, Sw<3,4,3>");
  EXPECT_EQ(said("(60,64):(64,1)", b128, 2, Major::k), "the MN extent is 60, which is no multiple of 8");
  EXPECT_EQ(said("(64,72):(72,1)", b128, 2, Major::k),
            "the K extent is 72 elements; one wgmma takes 16, and the extent is a multiple");
  EXPECT_EQ(said("(64,64):(64,1)", b128, 8, Major::k), "wgmma operands have 8, 16 or 32 bits, not 64");
  EXPECT_EQ(said("4096:1", b128, 2, Major::k), "a wgmma operand has the two modes (MN,K), this layout has 1");
  EXPECT_EQ(said("(64,64):(64,1)", b128, 2, Major::k, 262144),
            "the tile starts at shared address 262144; a descriptor holds multiples of 16 below 262144");
  EXPECT_EQ(said("((8,8),64):((64,131072),1)", b128, 2, Major::k),
            "the stride byte offset is 262144; a descriptor holds multiples of 16 from 0 to 262128");
}

// Blocks that no instruction reads, and numbers past what fits.
TEST(Wgmma, BlocksAreThoseOfOneInstruction) {
  const SharedTile tall{*parse_layout("(2048,64):(64,1)"), swizzle_of(SwizzleMode::b128), 2};
  EXPECT_EQ(std::string(wgmma_operand(tall, Major::k, 0).reason().view()),
            "one wgmma reads a block of 8 to 256 rows, a multiple of 8, not 2048; give the rows of a block, "
            "such as 64");
  EXPECT_EQ(std::string(wgmma_operand(tall, Major::k, 0, 512).reason().view()),
            "one wgmma reads a block of 8 to 256 rows, a multiple of 8, not 512");
  EXPECT_EQ(std::string(wgmma_operand(tall, Major::k, 0, -8).reason().view()),
            "one wgmma reads a block of 8 to 256 rows, a multiple of 8, not -8");
  EXPECT_TRUE(wgmma_operand(tall, Major::k, 0, 256)) << wgmma_operand(tall, Major::k, 0, 256).reason().view();
  const auto tile = canonical_tile(Major::k, SwizzleMode::b128, 2, 128, 64);
  EXPECT_EQ(std::string(wgmma_descriptor(*tile, Major::k, 0, {64, 128, 0}).reason().view()),
            "a part of 128 from 64 on lies outside the 128 of the tile");
  EXPECT_EQ(std::string(wgmma_descriptor(*tile, Major::k, 0, {0, 512, 0}).reason().view()),
            "one wgmma reads a block of 8 to 256 rows, a multiple of 8, not 512");
}

// One descriptor serves the whole operand: the last row of a block, later blocks and later steps count as the
// first.
TEST(Wgmma, EveryBlockAndStepIsLookedAt) {
  const auto tile = [](std::string_view layout) { return SharedTile{*parse_layout(layout), {}, 2}; };
  const auto said = [&](std::string_view layout, int64_t rows) {
    return std::string(wgmma_operand(tile(layout), Major::k, 0, rows).reason().view());
  };
  EXPECT_EQ(
      std::string(
          wgmma_descriptor(tile("((7,8),(8,2)):((8,64),(1,4096))"), Major::k, 0, {0, 8, 0}).reason().view()),
      "not canonical: element (7,0) lies at byte 128 of the unswizzled tile, the descriptor reads it at byte "
      "112");
  EXPECT_EQ(said("((8,3,2),(8,2)):((8,64,192),(1,4096))", 16), "");
  EXPECT_EQ(said("((8,3,2),(8,2)):((8,64,512),(1,4096))", 16),
            "not canonical: element (24,0) lies at byte 1024 of the unswizzled tile, the descriptor reads it "
            "at byte 384");
  EXPECT_EQ(said("((8,64),(8,5,2)):((8,64),(1,4096,20480))", 64), "");
  EXPECT_EQ(said("((8,64),(8,5,2)):((8,64),(1,4096,20544))", 64),
            "not canonical: element (0,40) lies at byte 41088 of the unswizzled tile, the descriptor reads "
            "it at byte 40960");
}

TEST(Wgmma, CanonicalTilesThatDoNotFit) {
  const auto said = [](int bytes, int64_t mn, int64_t k) {
    return std::string(canonical_tile(Major::k, SwizzleMode::b128, bytes, mn, k).reason().view());
  };
  EXPECT_EQ(
      said(1, 64, 64),
      "the K extent is 64 elements; one wgmma takes 32, one row of the swizzle has 128, and the extent is a "
      "multiple of both");
  EXPECT_EQ(
      said(2, 64, 48),
      "the K extent is 48 elements; one wgmma takes 16, one row of the swizzle has 64, and the extent is a "
      "multiple of both");
  EXPECT_EQ(
      said(2, 9223372036854775800, 9223372036854775744),
      "a tile of 9223372036854775800 x 9223372036854775744 elements has more than the 262144 bytes that "
      "descriptors reach");
  EXPECT_EQ(
      said(2, int64_t{1} << 62, 64),
      "a tile of 4611686018427387904 x 64 elements has more than the 262144 bytes that descriptors reach");
  // Neither endless work nor wrapped numbers for operands past the descriptors' reach.
  const SharedTile endless{*parse_layout("((64,1099511627776),64):((64,0),1)"), swizzle_of(SwizzleMode::b128),
                           2};
  EXPECT_EQ(std::string(wgmma_operand(endless, Major::k, 0, 64).reason().view()),
            "a tile of 70368744177664 x 64 elements has more than the 262144 bytes that descriptors reach");
  const SharedTile wide{*parse_layout("((8,8),64):((64,1152921504606846976),1)"),
                        swizzle_of(SwizzleMode::b128), 2};
  EXPECT_EQ(std::string(wgmma_operand(wide, Major::k, 0).reason().view()),
            "overflow: offsets from 0 to 8070450532247929343 in elements of 2 bytes do not fit 64 bits");
}

// The cosize of a swizzled tile, by hand: the largest byte that Sw reaches from any offset below it.
TEST(Tile, BytesOfASwizzledTile) {
  for (const SwizzleMode mode : modes)
    for (int64_t bytes = 1; bytes <= 2100; ++bytes) {
      int64_t largest = 0;
      for (int64_t x = 0; x < bytes; ++x) largest = std::max(largest, swizzle_of(mode)(x));
      ASSERT_EQ((SharedTile{make_layout(bytes, 1), swizzle_of(mode), 1}.bytes()), largest + 1) << bytes;
    }
  EXPECT_EQ((SharedTile{*parse_layout("(9,8):(8,1)"), swizzle_of(SwizzleMode::b128), 2}.bytes()), 160)
      << "not 144";
  for (int64_t bytes = 1; bytes <= 600; ++bytes)  // upwards, whole blocks
    for (int64_t x = 0; x < bytes; ++x) ASSERT_LT((Swizzle{2, 1, -3}(x)), swizzled_extent({2, 1, -3}, bytes));
  for (const Swizzle s : {Swizzle{2, 0, 3}, Swizzle{1, 2, 4}, Swizzle{3, 1, 5}})
    for (int64_t bytes = 1; bytes <= 1100; ++bytes) {
      int64_t largest = 0;
      for (int64_t x = 0; x < bytes; ++x) largest = std::max(largest, s(x));
      ASSERT_EQ(swizzled_extent(s, bytes), largest + 1) << bytes;
    }
}

TEST(Wgmma, ShapesOfN) {
  for (const int64_t n : {8, 16, 24, 40, 256}) EXPECT_TRUE(wgmma_has_n(n, false));
  for (const int64_t n : {0, 4, 12, 264}) EXPECT_FALSE(wgmma_has_n(n, false));
  for (const int64_t n : {8, 16, 24, 32, 48, 256}) EXPECT_TRUE(wgmma_has_n(n, true));
  for (const int64_t n : {40, 56, 72}) EXPECT_FALSE(wgmma_has_n(n, true));
}

}  // namespace
}  // namespace warpfold::layout::hardware
