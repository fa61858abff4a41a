// Products of integers with zero points, results of 8 bits and the rows' largest values, under the emulator. What is
// checked, and how exactly: gemm_check.h.
#include "gemm_check.h"
#include "warpfold/kernels/gemm/row_sums_kernel.h"

namespace warpfold::kernels::gemm {
namespace {

using hopper::bf16;
using hopper::f16;

template <class In, class Out, class Tile>
using Quantised = Config<In, In, Out, Tile, Fusion::quantised>;

// A case with the scales that make results of a few hundred; a_zero, b_zero, row_amax.
Case quantised(int m, int n, int k, int blocks, bool a_zero, bool b_zero, bool row_amax = true, int batches = 1,
               Activation f = Activation::none, float alpha = 1) {
  Case c{m, n, k, blocks, alpha, 0, true, batches, f};
  c.a_zero = a_zero;
  c.b_zero = b_zero;
  c.row_amax = row_amax;
  return c;
}

TEST(QuantisedEmulated, Int8ToInt8) {
  run<Quantised<int8_t, int8_t, Tile128x128>>(
      "int8 int8 128x128", {quantised(200, 392, 272, 1, true, true), quantised(65, 71, 33, 1, true, false, false)}, 10);
  run<Quantised<int8_t, int8_t, Tile64x64>>(
      "int8 int8 64x64", {quantised(70, 90, 200, 2, false, true, true, 2), quantised(1, 1, 1, 1, true, true),
                          quantised(66, 40, 0, 1, true, true), quantised(40, 72, 64, 1, true, true, true, 1, Activation::relu),
                          quantised(40, 72, 64, 1, true, true, true, 1, Activation::none, 0)}, 10);
  run<Quantised<int8_t, int8_t, TileSwapped16>>(
      "int8 int8 swapped", {quantised(20, 150, 300, 3, true, true), quantised(9, 200, 128, 2, true, false, true, 2)}, 10);
}
TEST(QuantisedEmulated, Int8ToOthers) {
  const auto exact = [](int m, int n, int k, int blocks) {
    Case c{m, n, k, blocks};
    c.a_zero = c.b_zero = true;
    return c;
  };
  run<Quantised<int8_t, int32_t, Tile128x128>>("int8 int32 128x128", {exact(130, 203, 272, 1)}, 10);
  run<Quantised<int8_t, int32_t, TileSwapped16>>("int8 int32 swapped", {exact(17, 131, 400, 3)}, 10);
  Case c = quantised(70, 90, 200, 2, true, true, false);
  c.beta = -0.5;
  run<Quantised<int8_t, float, Tile64x64>>("int8 f32 64x64", {c, quantised(65, 101, 128, 1, true, true)}, 10);
  run<Quantised<int8_t, bf16, TileSwapped16>>("int8 bf16 swapped", {c, quantised(20, 150, 300, 3, true, true)}, 10);
  run<Quantised<int8_t, f16, Tile128x128>>("int8 f16 128x128", {quantised(130, 100, 64, 1, true, true, true, 1, Activation::relu, 0.0625)}, 10);
}
TEST(QuantisedEmulated, FromFloats) {
  run<Quantised<bf16, int8_t, Tile128x128>>("bf16 int8", {quantised(130, 140, 100, 1, false, false, true, 1, Activation::silu)}, 10);
  run<Quantised<f16, f16, TileSwapped16>>("f16 swapped, row_amax", {quantised(20, 150, 300, 3, false, false, true, 2, Activation::gelu_tanh, 0.0625)}, 10);
  run<Quantised<hopper::e4m3, bf16, TilePromoted128>>("e4m3, row_amax", {quantised(130, 150, 300, 2, false, false)}, 10);
}

// What a code of 8 bits must be at the ends, at ties and where the value is no number.
TEST(QuantisedEmulated, Rounding) {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const struct {
    float y, inverse;
    int zero, want;
  } cases[] = {{0.5f, 1, 0, 0}, {1.5f, 1, 0, 2}, {2.5f, 1, 0, 2}, {-0.5f, 1, 0, 0}, {-1.5f, 1, 0, -2}, {126.5f, 1, 0, 126},
               {127.5f, 1, 0, 127}, {200, 1, 0, 127}, {-128.5f, 1, 0, -128}, {-129, 1, 0, -128}, {3e38f, 1, 0, 127},
               {-3e38f, 1, 127, -128}, {inf, 1, -128, 127}, {-inf, 1, 127, -128}, {nan, 1, 17, 17}, {0, inf, -5, -5},
               {255, 1, -128, 127}, {-255, 1, 127, -128}, {1, 0.25f, 3, 3}, {3, 0.5f, 100, 102}, {1e-30f, 1, 9, 9}};
  for (const auto& c : cases) EXPECT_EQ(int(quantise(c.y, c.inverse, c.zero)), c.want) << c.y << " * " << c.inverse << " + " << c.zero;
}
// Sums and corrections past the 24 bits of a float, and past 32 bits on the way.
TEST(QuantisedEmulated, LargeIntegers) {
  EXPECT_EQ(without_zero_points(33554433, {1, 0}, {0, 16777217}), 16777216);
  EXPECT_EQ(without_zero_points(-2147483647, {-128, 5}, {3, -8388608}), 1073741810);
  EXPECT_EQ(without_zero_points(7, {127, -40000000}, {-128, -40000000}), int32_t(7 + 127ll * 40000000 - 128ll * 40000000));
}
// An infinity and a NaN in a row of D are the row's largest value; rows beside it keep theirs.
TEST(QuantisedEmulated, RowsWithoutNumbers) {
  using Kernel = Quantised<bf16, bf16, Tile128x128>;
  Matrix<bf16> a(1, 4, 8, 0), b(1, 24, 8, 0), d(1, 4, 24, 0);
  for (int k = 0; k < 8; ++k) {
    for (int i = 0; i < 4; ++i) a.at(0, i, k) = from_double<bf16>(i == 1 ? std::numeric_limits<double>::infinity() : i == 2 ? std::numeric_limits<double>::quiet_NaN() : i);
    for (int j = 0; j < 24; ++j) b.at(0, j, k) = from_double<bf16>(1);
  }
  std::vector<float> amax = {5, 0, 0, 5};  // what was there before counts, too
  Problem p;
  p.m = 4;
  p.n = 24;
  p.k = 8;
  p.a = a.operand();
  p.b = b.operand();
  p.d = d.data;
  p.d_stride = d.stride;
  p.row_amax = amax.data();
  ASSERT_TRUE(can_run(p));
  ASSERT_TRUE(launch<Kernel>(p, 1, nullptr));
  EXPECT_EQ(amax[0], 5);
  EXPECT_EQ(amax[1], std::numeric_limits<float>::infinity());
  EXPECT_NE(amax[2], amax[2]);
  EXPECT_EQ(amax[3], 24);
}

// Rows on any address, of any length, and all values of a byte.
TEST(QuantisedEmulated, RowSums) {
  Rng rng{1};
  for (const auto& [rows, k, stride, shift] : {std::tuple(3, 1000, 1008, 0), std::tuple(9, 33, 37, 3), std::tuple(2, 0, 5, 0),
                                               std::tuple(1, 2048, 0, 16), std::tuple(40, 16, 16, 0), std::tuple(5, 300, 304, 8)}) {
    std::vector<int8_t> storage(size_t(2 * rows * (stride + 1) + k + 64));
    int8_t* const matrix = storage.data() + (16 - reinterpret_cast<uintptr_t>(storage.data()) % 16) % 16 + shift;
    const int64_t batch_stride = int64_t{rows} * stride + 3;
    std::vector<int32_t> want(size_t(2 * rows)), got(size_t(2 * rows + 1), 7);
    for (int b = 0; b < 2; ++b)
      for (int i = 0; i < rows; ++i)
        for (int x = 0; x < k; ++x) {
          const auto value = int8_t(int(rng(256)) - 128);
          matrix[b * batch_stride + int64_t{i} * stride + x] = value;
        }
    for (int b = 0; b < 2; ++b)
      for (int i = 0; i < rows; ++i)
        for (int x = 0; x < k; ++x) want[size_t(b * rows + i)] += matrix[b * batch_stride + int64_t{i} * stride + x];
    want.push_back(7);
    ASSERT_TRUE(launch_row_sums({matrix, rows, k, 2, stride, batch_stride, got.data()}, 2, nullptr));
    EXPECT_EQ(got, want) << rows << " x " << k;
  }
}

}  // namespace
}  // namespace warpfold::kernels::gemm
