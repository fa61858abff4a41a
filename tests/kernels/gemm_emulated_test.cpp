// The GEMM kernel under the emulator: every tile, type, major and fusion on problems with tails, under many
// schedules. What is checked, and how exactly: gemm_check.h.
#include "gemm_check.h"

namespace warpfold::kernels::gemm {
namespace {

using hopper::bf16;
using hopper::f16;

TEST(GemmEmulated, PingPong) {
  run<Of<bf16, bf16, Tile128x128>>(
      "128x128", {{200, 392, 200, 1}, {129, 300, 1000, 2, 1, -2}, {130, 257, 65, 1, -0.5, 1}}, 20);
}
TEST(GemmEmulated, WidePingPong) {
  run<Of<bf16, bf16, Tile128x192>>("128x192", {{200, 392, 200, 1}, {129, 300, 500, 2, 1, -2}}, 20);
}
TEST(GemmEmulated, Cooperative) {
  run<Of<bf16, bf16, Tile128x64>>("128x64", {{200, 136, 200, 2}, {130, 200, 72, 3, 2, -0.5}, {20, 20, 0, 1, 1, 2}}, 20);
  run<Of<int8_t, int32_t, Tile128x64>>("int8 int32 128x64", {{100, 100, 300, 2}}, 20);
  run<Of<f16, f16, Tile128x96>>("128x96", {{200, 200, 200, 2}, {130, 103, 72, 2, 2, -0.5}}, 20);
  run<Of<bf16, bf16, Tile128x96>>("bf16 128x96", {{130, 103, 200, 2, 1, 1}}, 20);
  run<Of<int8_t, int32_t, Tile128x96>>("int8 int32 128x96", {{100, 200, 300, 2}}, 20);
}
TEST(GemmEmulated, SmallPingPong) {
  run<Of<f16, f16, Tile64x64>>(
      "64x64",
      {{200, 136, 200, 2}, {65, 129, 999, 1, 2, 1}, {1, 1, 1, 2}, {7, 9, 3, 1, 1, 1}, {64, 64, 0, 1}, {70, 80, 100, 2, 0, 1}}, 20);
  run<Of<bf16, bf16, Tile64x96>>("64x96", {{100, 200, 100, 2}, {65, 103, 130, 1, 2, 1}}, 20);
  run<Of<bf16, bf16, Tile64x48>>("64x48", {{100, 100, 100, 2}, {65, 103, 130, 1, 2, 1}}, 20);
  run<Of<bf16, bf16, Tile64x64>>("bf16 64x64", {{70, 103, 130, 2, 2, 1}}, 20);
  run<Of<int8_t, int32_t, Tile64x64>>("int8 int32 64x64", {{70, 103, 130, 2}}, 20);
  run<Of<int8_t, int32_t, Tile64x96>>("int8 int32 64x96", {{100, 203, 130, 2}}, 20);
  run<Of<int8_t, bf16, Tile64x48, Fusion::linear>>("int8 bf16 64x48", {{100, 103, 130, 2, 1, 0, true}}, 20);
  // Two bands of the raster and the start of a third.
  run<Of<bf16, bf16, Tile64x64>>("64x64, bands", {{4200, 136, 8, 5}}, 3);
}
TEST(GemmEmulated, SwappedSplit) {
  // Shared by two, by many and by no blocks; parts that are early and late.
  run<Of<bf16, bf16, TileSwapped16>>(
      "swapped 64x16", {{16, 300, 700, 4}, {3, 261, 1000, 7, 2, -1}, {33, 130, 100, 2}, {1, 5, 64, 1}, {16, 64, 512, 8}, {20, 500, 130, 3}}, 20);
  run<Of<f16, f16, TileSwapped32>>("swapped 64x32", {{32, 200, 333, 3, 1, 2}, {50, 200, 400, 3, 1, 1, false, 2}}, 20);
  run<Of<bf16, float, TileSwapped32>>("swapped 64x32, f32", {{40, 131, 300, 3, 1, 2}}, 20);
}
TEST(GemmEmulated, Batches) {
  run<Of<bf16, bf16, Tile128x128>>("batches", {{130, 100, 130, 2, 1, 1, false, 3}, {65, 129, 64, 2, 1, 0, false, 3, {}, {}, true}}, 20);
  run<Of<hopper::tf32, float, Tile128x128>>("tf32 batches", {{130, 70, 64, 2, 1, 2, false, 2}}, 20);
}
TEST(GemmEmulated, Majors) {
  using hopper::Major;
  run<Config<bf16, bf16, bf16, Tile128x128, Fusion::none, Major::mn, Major::mn>>("A and B column-major", {{200, 136, 200, 1, 1, 1}}, 20);
  run<Config<f16, f16, f16, Tile64x64, Fusion::none, Major::mn, Major::k>>("A column-major", {{70, 130, 100, 2}}, 20);
  run<Config<f16, f16, f16, Tile64x64, Fusion::none, Major::k, Major::mn>>("B column-major", {{70, 130, 100, 2, 1, 0, false, 2}}, 20);
}
TEST(GemmEmulated, Tf32) {
  run<Of<hopper::tf32, float, Tile128x192>>("tf32 128x192", {{130, 203, 70, 1, 1, -1}}, 20);
  run<Of<hopper::tf32, float, TileSwapped16>>("tf32 swapped", {{9, 140, 200, 3, 1, 1}}, 20);
}
TEST(GemmEmulated, Fp8) {
  using hopper::e4m3;
  using hopper::e5m2;
  run<Of<e4m3, bf16, Tile128x128, Fusion::linear>>("e4m3 128x128", {{200, 391, 272, 2, 1, 0, true}}, 20);
  run<Config<e4m3, e5m2, bf16, TilePromoted128, Fusion::linear>>(
      "e4m3 by e5m2, promoted 128x128", {{200, 150, 400, 2, 1, 1, true}, {100, 100, 100, 1}, {30, 30, 1100, 1}, {20, 20, 0, 1, 1, 2}}, 20);
  run<Config<e4m3, e5m2, bf16, TilePromoted192, Fusion::linear>>("e4m3 by e5m2, promoted 128x192", {{300, 200, 400, 4, 1, 1, true}}, 20);
  run<Config<e4m3, e4m3, bf16, TileSwapped16, Fusion::linear>>("e4m3 swapped", {{17, 150, 300, 3, 0.5, 0, true}}, 20);
}
TEST(GemmEmulated, Int8Sums) {
  run<Of<int8_t, int32_t, Tile128x128>>("int8 int32 128x128", {{200, 391, 272, 2}, {1, 3, 5, 1}}, 20);
  run<Of<int8_t, int32_t, Tile128x192>>("int8 int32 128x192", {{130, 258, 130, 1}}, 20);
  run<Of<int8_t, int32_t, TileSwapped32>>("int8 int32 swapped 64x32", {{40, 200, 700, 5}}, 20);
  run<Of<int8_t, int32_t, TileSwapped16>>("int8 int32 swapped", {{20, 131, 400, 3}}, 20);
}
TEST(GemmEmulated, Int8Scaled) {
  run<Of<int8_t, bf16, Tile128x128, Fusion::linear>>(
      "int8 bf16 128x128", {{200, 391, 272, 2, 1, 0, true}, {65, 70, 33, 1, 0.5, -2, true}}, 20);
  run<Of<int8_t, f16, Tile128x192, Fusion::linear>>("int8 f16 128x192", {{300, 200, 144, 1, 0.0625, 0, true}}, 20);
  run<Of<int8_t, f16, Tile64x64, Fusion::linear>>("int8 f16 64x64", {{70, 90, 64, 2, 1, 1, true}}, 20);
  run<Of<int8_t, bf16, TileSwapped32, Fusion::full>>(
      "int8 bf16 swapped", {{30, 200, 300, 3, 0.0625, 1, true, 1, Activation::relu}}, 20);
}
TEST(GemmEmulated, Activations) {
  for (const Activation f : {Activation::relu, Activation::silu, Activation::gelu_tanh, Activation::gelu_erf})
    run<Of<bf16, bf16, Tile128x128, Fusion::full>>("bf16 activation", {{130, 100, 64, 1, 0.0625, 1, true, 1, f}}, 20);
  run<Of<f16, f16, TileSwapped16, Fusion::full>>(
      "f16 swapped activation", {{20, 150, 300, 3, 0.03125, 1, true, 1, Activation::gelu_erf}, {20, 150, 64, 1, 0, 1, true}}, 20);
}
TEST(GemmEmulated, Gated) {
  run<Of<bf16, bf16, Tile128x128, Fusion::gated>>(
      "gated", {{200, 72, 100, 1, 0.0625, 0, true, 1, Activation::silu, Gate::concatenated},
                {130, 136, 100, 2, 0.0625, 1, true, 2, Activation::gelu_tanh, Gate::interleaved}}, 20);
}

}  // namespace
}  // namespace warpfold::kernels::gemm
