// What the GEMM refuses, and in which words.
#include <gtest/gtest.h>

#include "warpfold/kernels/gemm/config.h"
#include "warpfold/kernels/gemm/gemm.h"

namespace warpfold::kernels::gemm {
namespace {

alignas(16) char memory[64];

Problem good() {
  Problem p;
  p.m = 100;
  p.n = 200;
  p.k = 64;
  p.a = {memory, 64};
  p.b = {memory, 64};
  p.c = {memory, 200};
  p.d = memory;
  p.d_stride = 200;
  return p;
}

std::string why(const Problem& p) {
  const Status s = can_run(p);
  return s ? "" : s.error().message;
}

TEST(GemmChecks, Accepts) {
  EXPECT_EQ(why(good()), "");
  Problem p = good();
  p.m = 0;
  p.a.data = nullptr;
  EXPECT_EQ(why(p), "") << "nothing to do";
  p = good();
  p.k = 0;
  p.a = p.b = {};
  EXPECT_EQ(why(p), "") << "A and B are not used";
  p = good();
  p.alpha = 0;
  p.a = p.b = {};
  EXPECT_EQ(why(p), "");
  p = good();
  p.c = {};
  EXPECT_EQ(why(p), "") << "beta = 0";
  p = good();
  p.m = 1;
  p.a.stride = 7;
  p.d_stride = 3;
  EXPECT_EQ(why(p), "") << "the stride of a single row is never used";
}

TEST(GemmChecks, NamesArgumentAndRule) {
  Problem p = good();
  p.m = -1;
  EXPECT_EQ(why(p), "gemm: M = -1 is negative");
  p = good();
  p.n = int64_t{1} << 40;
  EXPECT_EQ(why(p), "gemm: N = 1099511627776 is above 2147482624");
  p = good();
  p.a.data = nullptr;
  EXPECT_EQ(why(p), "gemm: A is null");
  p = good();
  p.b.data = memory + 2;
  EXPECT_EQ(why(p), "gemm: B starts 2 bytes after a multiple of 16; TMA needs a multiple of 16");
  p = good();
  p.a.stride = 56;
  EXPECT_EQ(why(p), "gemm: A has a row stride of 56 elements, below its rows of 64 elements");
  p = good();
  p.d_stride = 201;
  EXPECT_EQ(why(p), "gemm: D has a row stride of 201 elements = 402 bytes; TMA needs a multiple of 16 bytes");
  p = good();
  p.b.stride = int64_t{1} << 40;
  EXPECT_EQ(why(p), "gemm: B has a row stride of 1099511627776 elements; TMA needs less than 2^40 bytes");
  p = good();
  p.a.stride = INT64_MIN;
  EXPECT_NE(why(p).find("below its rows"), std::string::npos);
  p = good();
  p.beta = 1;
  p.c.data = nullptr;
  EXPECT_EQ(why(p), "gemm: C is null");
  p = good();
  p.d = nullptr;
  EXPECT_EQ(why(p), "gemm: D is null");
  p = good();
  p.type = DType::kF32;
  EXPECT_EQ(why(p), "gemm: element type F32 is not supported; BF16, F16 and I8 are");
  p = good();
  p.output_type = DType::kF16;
  EXPECT_EQ(why(p), "gemm: BF16 with a result of type F16 is not supported");
  p = good();
  p.type = DType::kI8;
  p.output_type = DType::kI32;
  EXPECT_EQ(why(p), "");
  p.alpha = 2;
  EXPECT_EQ(why(p), "gemm: a result of type I32 takes neither alpha, beta nor scales");
  p.alpha = 1;
  p.a.stride = 72;
  EXPECT_EQ(why(p), "gemm: A has a row stride of 72 elements = 72 bytes; TMA needs a multiple of 16 bytes");
  p = good();
  p.row_scale = reinterpret_cast<const float*>(memory);
  EXPECT_EQ(why(p), "gemm: BF16 takes no scales; I8 does");
  p = good();
  p.type = DType::kI8;
  p.column_scale = reinterpret_cast<const float*>(memory + 4);
  EXPECT_EQ(why(p), "gemm: scales are misaligned; column_scale starts on 8 bytes, row_scale on 4");
  p = good();
  p.m = p.n = 2147482624;
  p.d_stride = p.c.stride = 2147482624;
  EXPECT_EQ(why(p), "gemm: M x N = 2147482624 x 2147482624 has too many tiles");
}

TEST(GemmChecks, Plans) {
  Problem p = good();
  ASSERT_TRUE(plan(p, 132));
  EXPECT_EQ(plan(p, 132)->blocks, 8);  // 2 x 4 tiles of 64 x 64
  p.m = p.n = p.k = 8192;
  p.a.stride = p.b.stride = p.c.stride = p.d_stride = 8192;
  EXPECT_EQ(plan(p, 132)->blocks, 132);
  EXPECT_EQ(plan(p, 132)->tile, TileId::m128_n192_ping_pong);
  EXPECT_EQ(plan(p, 133, TileId::m128_n128_ping_pong_cluster2)->blocks, 132);
  EXPECT_EQ(plan(p, 1).error().message, "gemm: 1 multiprocessors, at least 2 are needed");
  p.m = 0;
  EXPECT_EQ(plan(p, 132)->blocks, 0);
}

}  // namespace
}  // namespace warpfold::kernels::gemm
