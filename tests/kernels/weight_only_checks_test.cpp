// What the weight-only product refuses, in which words, what packing does with blocks of a file, and which tile is chosen.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "warpfold/kernels/weight_only/tiles.h"

namespace warpfold::kernels::weight_only {
namespace {

// Nothing is read or written: places that lie far apart.
char* place(int i) { return reinterpret_cast<char*>(uintptr_t(i + 1) << 44); }

Problem good() {
  Problem p;
  p.m = 100;
  p.n = 200;
  p.k = 64;
  p.a = {place(0), 64};
  p.weights = place(1);
  p.c = {place(2), 200};
  p.d = place(3);
  p.d_stride = 200;
  return p;
}

std::string why(const Problem& p) {
  const Status s = can_run(p);
  return s ? "" : s.error().message;
}

TEST(WeightOnlyChecks, Accepts) {
  EXPECT_EQ(why(good()), "");
  Problem p = good();
  p.m = 0;
  p.a.data = p.weights = p.d = nullptr;
  EXPECT_EQ(why(p), "") << "nothing to do";
  p = good();
  p.k = 0;
  p.a = {};
  p.weights = nullptr;
  EXPECT_EQ(why(p), "") << "A and W are not used";
  p = good();
  p.alpha = 0;
  p.a = {};
  p.weights = nullptr;
  EXPECT_EQ(why(p), "");
  p = good();
  p.d = place(1) + packed_bytes(p.weight_type, p.n, p.k);
  EXPECT_EQ(why(p), "") << "D begins where the weights end";
}

TEST(WeightOnlyChecks, NamesArgumentAndRule) {
  Problem p = good();
  p.weight_type = DType::kF16;
  EXPECT_EQ(why(p), "weight-only: weights of type F16 are not supported; Q8_0, Q4_0 and Q4_1 are");
  p = good();
  p.type = DType::kF16;
  EXPECT_EQ(why(p), "weight-only: A of type F16 is not supported; BF16 is");
  p = good();
  p.output_type = DType::kF16;
  EXPECT_EQ(why(p), "weight-only: a result of type F16 is not supported; BF16 and F32 are");
  p = good();
  p.k = 48;
  EXPECT_EQ(why(p), "weight-only: K = 48 is no multiple of 32, the length of a block");
  p = good();
  p.weights = nullptr;
  EXPECT_EQ(why(p), "weight-only: the weights are null");
  p = good();
  p.weights = place(1) + 8;
  EXPECT_EQ(why(p), "weight-only: the packed weights start 8 bytes after a multiple of 16; copies need a multiple of 16");
  p = good();
  p.bias = reinterpret_cast<const float*>(place(4) + 2);
  EXPECT_EQ(why(p), "weight-only: bias starts 2 bytes after a multiple of 4");
  p = good();
  p.d = place(1) + packed_bytes(p.weight_type, p.n, p.k) - 16;
  EXPECT_EQ(why(p), "weight-only: D overlaps the weights, which are read while D is written");
  p = good();
  p.d = place(0) + 64;
  EXPECT_EQ(why(p).find("overlaps A") != std::string::npos, true) << why(p);
  p = good();
  p.m = -1;
  EXPECT_NE(why(p).find("M = -1 is negative"), std::string::npos) << why(p);
  p = good();
  p.a.stride = 60;
  EXPECT_NE(why(p).find("A has a row stride of 60 elements"), std::string::npos) << why(p);
}

TEST(WeightOnlyPacking, RefusesWhatIsNoMatrixOfBlocks) {
  std::vector<std::byte> rows(18), packed(size_t(packed_bytes(DType::kQ4_0, 1, 32)));
  EXPECT_TRUE(pack(DType::kQ4_0, 1, 32, rows, packed));
  EXPECT_EQ(pack(DType::kF16, 1, 32, rows, packed).error().message, "weight-only: F16 cannot be packed; Q8_0, Q4_0 and Q4_1 can");
  EXPECT_FALSE(pack(DType::kQ4_0, 1, 16, rows, packed));
  EXPECT_FALSE(pack(DType::kQ4_0, -1, 32, rows, packed));
  EXPECT_FALSE(pack(DType::kQ4_0, 2, 32, rows, packed));
  EXPECT_FALSE(pack(DType::kQ4_0, 1, 32, rows, std::span(packed).first(packed.size() - 1)));
}

// Every code and scale of a matrix with a tail of rows and of K comes back from its place; the rest is zero.
TEST(WeightOnlyPacking, KeepsEveryCodeAndScale) {
  for (const DType type : {DType::kQ8_0, DType::kQ4_0, DType::kQ4_1}) {
    constexpr int n = 133, k = 96, blocks = k / block_k;
    const int block_bytes = int(info(type).block_bytes), head = has_minimum(type) ? 4 : 2;
    std::vector<std::byte> rows(size_t(n * blocks * block_bytes)), packed(size_t(packed_bytes(type, n, k)), std::byte{0xA5});
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = std::byte(uint32_t(i * 2654435761u) >> 13);
    ASSERT_TRUE(pack(type, n, k, rows, packed));
    int64_t bits_set = 0, bits_expected = 0;
    for (const std::byte b : packed) bits_set += std::popcount(uint8_t(b));
    for (int row = 0; row < n; ++row)
      for (int column = 0; column < k; ++column) {
        const auto* block = reinterpret_cast<const uint8_t*>(rows.data()) + (row * blocks + column / block_k) * block_bytes;
        const auto* chunk = reinterpret_cast<const uint8_t*>(packed.data()) +
                            (row / panel_rows * (padded(k, panel_k) / chunk_k) + column / chunk_k) * chunk_bytes(type);
        const int i = column % block_k, in_chunk = column % chunk_k;
        const int code = code_bits(type) == 8 ? block[head + i] ^ 0x80 : i < 16 ? block[head + i] & 15 : block[head + i - 16] >> 4;
        const CodePlace at = code_place(type, row % panel_rows, in_chunk);
        ASSERT_EQ(chunk[at.byte] >> at.bit & ((1 << code_bits(type)) - 1), code) << row << ", " << column;
        bits_expected += std::popcount(unsigned(code));
        if (i != 0) continue;
        const uint8_t* scale = chunk + code_bytes(type) + scale_place(row % panel_rows, in_chunk / block_k);
        ASSERT_EQ(std::memcmp(scale, block, 2), 0) << row << ", " << column;
        if (has_minimum(type)) {
          ASSERT_EQ(std::memcmp(scale + scale_bytes, block + 2, 2), 0) << row << ", " << column;
        }
        for (int b = 0; b < head; ++b) bits_expected += std::popcount(block[b]);
      }
    EXPECT_EQ(bits_set, bits_expected) << "padding is zero";
  }
}

TEST(WeightOnlyPlan, FollowsTheRows) {
  Problem p = good();
  p.n = 4096;
  p.k = 4096;
  p.a.stride = 4096;
  p.c.stride = p.d_stride = 4096;
  p.m = 1;
  EXPECT_EQ(plan(p, 132)->tile, TileId::tokens_16);
  p.m = 8192;
  EXPECT_EQ(plan(p, 132)->tile, TileId::tokens_256);
  EXPECT_EQ(plan(p, 132)->workspace_bytes, 0);
  EXPECT_EQ(plan(p, 132, TileId::tokens_64)->tile, TileId::tokens_64);
  p.m = 1;
  EXPECT_EQ(plan(p, 132, {}, 0)->workspace_bytes, 0) << "without workspace a tile that needs none";
  p.m = 0;
  EXPECT_EQ(plan(p, 132)->blocks, 0);
}

}  // namespace
}  // namespace warpfold::kernels::weight_only
