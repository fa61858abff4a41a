// Products whose matrices lie on any address, with any stride and major, so that threads copy them, under the emulator: each
// seed draws where they lie. What is checked, and how exactly: gemm_check.h.
#include "gemm_check.h"

namespace warpfold::kernels::gemm {
namespace {

using hopper::bf16;
using hopper::e4m3;
using hopper::e5m2;
using hopper::f16;

template <class In, class Out, Fusion kFusion, class Weight = In, class Tile = TileCopied>
using Copied = Config<In, Weight, Out, Tile, kFusion>;

TEST(CopiedEmulated, SixteenBits) {
  run<Copied<bf16, bf16, Fusion::full>>(
      "copied bf16", {{130, 257, 65, 1, -0.5, 1}, {200, 136, 511, 1}, {33, 9, 130, 2, 0.0625, 1, true, 3, Activation::silu},
                      {7, 9, 3, 1, 1, 1}, {1, 1, 1, 2}, {40, 50, 0, 1, 1, 2}, {40, 50, 30, 1, 0, 1}, {129, 60, 700, 2, 1, 0, false, 2, {}, {}, true}}, 12);
  run<Copied<f16, float, Fusion::none>>("copied f16, f32", {{130, 103, 135, 1, 2, -0.5}}, 12);
}
TEST(CopiedEmulated, Gated) {
  run<Copied<bf16, bf16, Fusion::gated>>(
      "copied gated", {{70, 71, 100, 1, 0.0625, 0, true, 1, Activation::silu, Gate::concatenated},
                       {70, 67, 100, 1, 0.0625, 1, true, 2, Activation::gelu_tanh, Gate::interleaved}}, 12);
}
TEST(CopiedEmulated, EightBits) {
  run<Copied<int8_t, int32_t, Fusion::quantised>>("copied int8 int32", {{130, 131, 401, 1}, {3, 5, 1, 1}}, 12);
  Case c{100, 77, 300, 1, 1, 0, true, 2};
  c.a_zero = c.b_zero = c.row_amax = true;
  run<Copied<int8_t, int8_t, Fusion::quantised>>("copied int8 int8", {c}, 12);
  run<Copied<int8_t, bf16, Fusion::quantised>>("copied int8 bf16", {{130, 70, 333, 1, 0.0625, 1, true, 1, Activation::relu}}, 12);
  run<Copied<e4m3, bf16, Fusion::linear, e5m2, TileCopiedPromoted>>("copied e4m3 by e5m2", {{130, 90, 333, 1, 1, 1, true}}, 12);
}
TEST(CopiedEmulated, Tf32) {
  run<Copied<hopper::tf32, float, Fusion::none>>("copied tf32", {{130, 103, 70, 1, 1, -1}}, 12);
  const auto rounded = [](float x) { return std::bit_cast<float>(round_to_tf32(std::bit_cast<uint32_t>(x))); };
  EXPECT_EQ(rounded(1 + 0x1p-11f), 1) << "a tie goes to even";
  EXPECT_EQ(rounded(1 + 0x1p-10f + 0x1p-11f), 1 + 0x1p-9f);
  EXPECT_EQ(rounded(-1 - 0x1p-11f - 0x1p-20f), -1 - 0x1p-10f);
  EXPECT_EQ(rounded(std::numeric_limits<float>::max()), std::numeric_limits<float>::infinity());
  EXPECT_NE(rounded(std::bit_cast<float>(0x7F800001u)), rounded(std::bit_cast<float>(0x7F800001u))) << "NaN stays one";
}

// TMA's rules, and what takes the product where they are broken.
TEST(CopiedEmulated, Chosen) {
  Problem p;
  p.m = 100;
  p.n = 200;
  p.k = 64;
  p.a = {reinterpret_cast<void*>(uintptr_t{1} << 44), 64};
  p.b = {reinterpret_cast<void*>(uintptr_t{2} << 44), 64};
  p.d = reinterpret_cast<void*>(uintptr_t{3} << 44);
  p.d_stride = 200;
  EXPECT_EQ(copy_reason(p), "");
  EXPECT_NE(plan(p, 132)->tile, TileId::copied_m128_n128);
  EXPECT_FALSE(plan(p, 132, TileId::copied_m128_n128)) << "TMA takes it";
  p.b.stride = 65;
  EXPECT_EQ(copy_reason(p), "gemm: B has a row stride of 65 elements = 130 bytes; TMA needs a multiple of 16 bytes");
  EXPECT_EQ(plan(p, 132)->tile, TileId::copied_m128_n128);
  EXPECT_FALSE(plan(p, 132, TileId::m128_n128)) << "TMA cannot take it";
  p.type = DType::kF8E4M3;
  EXPECT_EQ(plan(p, 132)->tile, TileId::copied_promoted_m128_n128);
  p.fast_accumulation = true;
  EXPECT_EQ(plan(p, 132)->tile, TileId::copied_promoted_m128_n128);
}

}  // namespace
}  // namespace warpfold::kernels::gemm
