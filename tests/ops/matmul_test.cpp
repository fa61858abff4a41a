// Packed products against float64, on every instruction set that this machine runs.
#include "warpfold/ops/matmul.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "ops/kernels.h"
#include "support/simd_levels.h"
#include "warpfold/core/half.h"
#include "warpfold/formats/blocks.h"

namespace warpfold::ops {
namespace {

constexpr DType kBlockTypes[] = {DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1,
                                 DType::kQ8_0, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};
constexpr DType kFloatTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

// Random bytes for a (rows, columns) matrix; fp16 fields and floats are set to values of ordinary size.
std::vector<std::byte> random_weights(DType t, std::int64_t rows, std::int64_t columns, std::mt19937& rng) {
  const std::int64_t blocks = rows * columns / info(t).block_size, size = info(t).block_bytes;
  std::vector<std::byte> bytes(static_cast<std::size_t>(blocks * size));
  for (auto& b : bytes) b = static_cast<std::byte>(rng() & 255);
  std::normal_distribution<float> normal;
  const auto put_half = [&](std::int64_t at, float v) {
    const std::uint16_t h = f32_to_f16(v);
    std::memcpy(bytes.data() + at, &h, 2);
  };
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t at = b * size;
    switch (t) {
      case DType::kF32: { const float v = normal(rng); std::memcpy(bytes.data() + at, &v, 4); break; }
      case DType::kF16: put_half(at, normal(rng)); break;
      case DType::kBF16: { const std::uint16_t h = f32_to_bf16(normal(rng)); std::memcpy(bytes.data() + at, &h, 2); break; }
      case DType::kQ6_K: put_half(at + 208, 0.01f * normal(rng)); break;
      case DType::kQ4_1: case DType::kQ5_1: case DType::kQ4_K: case DType::kQ5_K:
        put_half(at + 2, 0.1f * normal(rng)); [[fallthrough]];
      default: put_half(at, 0.1f * normal(rng));
    }
  }
  return bytes;
}

struct Case {
  DType type;
  std::int64_t rows, columns, tokens;
};

// The largest |y - reference| over the sum of |w x| of its row: the natural scale of rounding errors.
double worst_error(const Case& c, Simd level, bool reference_quantises, std::mt19937& rng) {
  const auto bytes = random_weights(c.type, c.rows, c.columns, rng);
  ThreadPool pool(2);
  WeightArena arena;
  const TensorView view{bytes.data(), c.type, 2, {c.rows, c.columns, 1, 1}};
  const auto packed = PackedMatrix::pack(view, arena, pool);
  EXPECT_TRUE(packed) << packed.error().message;
  std::normal_distribution<float> normal;
  const auto k = static_cast<std::size_t>(c.columns), t_count = static_cast<std::size_t>(c.tokens);
  const auto n = static_cast<std::size_t>(c.rows), groups = k / 32;
  std::vector<float> x(t_count * k), scale(t_count * groups), sum(t_count * groups), y(t_count * (n + 3), -77.0f);
  std::vector<std::int8_t> q(t_count * k);
  std::vector<std::int32_t> half_sum(t_count * groups * 2);
  for (auto& v : x) v = normal(rng) * (rng() % 50 == 0 ? 20.0f : 1.0f);
  const auto& kernels = matmul_kernels(level);
  if (packed->quantised())
    for (std::size_t t = 0; t < t_count; ++t)
      kernels.quantise_row(&x[t * k], c.columns, &q[t * k], &scale[t * groups], &sum[t * groups], &half_sum[t * groups * 2]);
  for (std::int64_t p = 0; p < packed->panels(); ++p) {
    const PanelProduct product{packed->panel(p), c.columns, c.tokens, y.data() + p * 16, c.rows + 3,
                               static_cast<int>(std::min<std::int64_t>(16, c.rows - p * 16)), false};
    if (packed->quantised()) kernels.quantised(c.type, product, {q.data(), scale.data(), sum.data(), half_sum.data()});
    else kernels.floating(c.type, product, x.data());
  }
  double worst = 0;
  std::vector<float> w(k);
  for (std::size_t r = 0; r < n; ++r) {
    packed->unpack_row(static_cast<std::int64_t>(r), w.data());
    for (std::size_t t = 0; t < t_count; ++t) {
      double exact = 0, magnitude = 1e-30;
      for (std::size_t i = 0; i < k; ++i) {
        const double xi = reference_quantises ? double{scale[t * groups + i / 32]} * q[t * k + i] : double{x[t * k + i]};
        exact += w[i] * xi;
        magnitude += std::abs(w[i] * xi);
      }
      worst = std::max(worst, std::abs(y[t * (n + 3) + r] - exact) / magnitude);
    }
  }
  for (std::size_t t = 0; t < t_count; ++t)  // nothing is written past the last row
    for (std::size_t i = n; i < n + 3; ++i) EXPECT_EQ(y[t * (n + 3) + i], -77.0f);
  return worst;
}

// fp32 accumulation over K / 32 groups, each with up to 4 roundings, of terms that may cancel (scale and minimum,
// q and its zero point: up to 16 times the sum of |w x|): 2^-24 * 16 * 4 * sqrt(groups) covers K = 2048 with 3e-5.
TEST(Matmul, QuantisedEqualsFloat64OnTheSameQuantisedInput) {
  std::mt19937 rng(1);
  for (Simd level : test::simd_levels())
    for (DType t : kBlockTypes)
      for (std::int64_t tokens : {1, 2, 3, 4, 5, 7, 8, 9, 13, 30})
        for (std::int64_t rows : {1, 15, 16, 17, 48})
          EXPECT_LT(worst_error({t, rows, 512, tokens}, level, true, rng), 3e-5)
              << simd_name(level) << " " << info(t).name << " T=" << tokens << " N=" << rows;
}

TEST(Matmul, FloatEqualsFloat64) {
  std::mt19937 rng(2);
  // K fp32 additions: error <= K 2^-24 of the sum of |w x|; 300 columns: 1.8e-5.
  for (Simd level : test::simd_levels())
    for (DType t : kFloatTypes)
      for (std::int64_t tokens : {1, 2, 5, 6, 11, 12, 13, 29})
        for (std::int64_t rows : {1, 16, 33})
          for (std::int64_t columns : {1, 7, 300})
            EXPECT_LT(worst_error({t, rows, columns, tokens}, level, false, rng), 1.8e-5)
                << simd_name(level) << " " << info(t).name << " T=" << tokens << " N=" << rows << " K=" << columns;
}

TEST(Matmul, ActivationsAreWithinHalfAStep) {
  std::mt19937 rng(3);
  std::normal_distribution<float> normal;
  for (Simd level : test::simd_levels())
    for (float size : {1e-30f, 1e-3f, 1.0f, 1e30f}) {
      std::vector<float> x(64), scale(2), sum(2);
      std::vector<std::int8_t> q(64);
      std::vector<std::int32_t> half(4);
      for (auto& v : x) v = size * normal(rng);
      std::fill(x.begin() + 32, x.end(), 0.0f);
      matmul_kernels(level).quantise_row(x.data(), 64, q.data(), scale.data(), sum.data(), half.data());
      float amax = 0;
      int sums[2] = {0, 0};
      for (std::size_t i = 0; i < 32; ++i) {
        amax = std::max(amax, std::abs(x[i]));
        sums[i / 16] += q[i];
      }
      // Half a step, and the rounding of scale and quotient (at most 127 steps * 2 * 2^-24).
      for (std::size_t i = 0; i < 32; ++i) EXPECT_LE(std::abs(x[i] - scale[0] * q[i]), amax / 254 * 1.0001f);
      EXPECT_EQ(half[0], sums[0]);
      EXPECT_EQ(half[1], sums[1]);
      EXPECT_FLOAT_EQ(sum[0], scale[0] * static_cast<float>(sums[0] + sums[1]));
      EXPECT_EQ(scale[1], 0.0f);  // an all-zero group is exactly zero
      for (std::size_t i = 32; i < 64; ++i) EXPECT_EQ(q[i], 0);
    }
}

TEST(Matmul, NanAndInfinityAreNotLostInQuantisation) {
  std::mt19937 rng(6);
  ThreadPool pool(1);
  WeightArena arena;
  const auto bytes = random_weights(DType::kQ4_0, 16, 64, rng);
  const auto w = *PackedMatrix::pack({bytes.data(), DType::kQ4_0, 2, {16, 64, 1, 1}}, arena, pool);
  for (Simd level : test::simd_levels())
    for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
      for (std::size_t at : {0u, 17u, 63u}) {
        std::vector<float> x(64, 1.0f), scale(2), sum(2), y(16);
        x[at] = bad;
        std::vector<std::int8_t> q(64);
        std::vector<std::int32_t> half(4);
        matmul_kernels(level).quantise_row(x.data(), 64, q.data(), scale.data(), sum.data(), half.data());
        for (int v : q) EXPECT_GE(v, -127);
        matmul_kernels(level).quantised(DType::kQ4_0, {w.panel(0), 64, 1, y.data(), 16, 16, false},
                                        {q.data(), scale.data(), sum.data(), half.data()});
        for (float v : y) EXPECT_TRUE(std::isnan(v)) << simd_name(level);
      }
}

TEST(Matmul, TasksShareOneInputAndAccumulate) {
  std::mt19937 rng(4);
  ThreadPool pool(3);
  WeightArena arena;
  std::normal_distribution<float> normal;
  Activations x;
  x.reshape(5, 64);
  for (std::int64_t t = 0; t < 5; ++t) {
    for (int i = 0; i < 64; ++i) x.row(t)[i] = normal(rng);
    x.quantise(t);
  }
  std::vector<std::vector<std::byte>> sources;
  std::vector<PackedMatrix> weights;
  for (std::int64_t rows : {40, 16, 1, 100}) {
    sources.push_back(random_weights(DType::kQ8_0, rows, 64, rng));
    weights.push_back(*PackedMatrix::pack({sources.back().data(), DType::kQ8_0, 2, {rows, 64, 1, 1}}, arena, pool));
  }
  ThreadPool single(1);
  for (const bool accumulate : {true, false}) {
    constexpr std::int64_t kGap = 3;  // canaries behind each row of y
    std::vector<std::vector<float>> together, alone;
    std::vector<MatmulTask> tasks;
    for (const auto& w : weights) together.emplace_back(static_cast<std::size_t>(5 * (w.rows() + kGap)), 0.5f);
    alone = together;
    for (std::size_t i = 0; i < weights.size(); ++i)
      tasks.push_back({&weights[i], together[i].data(), weights[i].rows() + kGap, accumulate});
    Matmul::run(tasks, x, pool);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::int64_t stride = weights[i].rows() + kGap;
      const MatmulTask task{&weights[i], alone[i].data(), stride, accumulate};
      Matmul::run({&task, 1}, x, single);
      EXPECT_EQ(together[i], alone[i]);  // bit-equal whatever the split
      EXPECT_NE(alone[i][0], 0.5f);
      for (std::int64_t t = 0; t < 5; ++t)
        for (std::int64_t g = 0; g < kGap; ++g)
          EXPECT_EQ(alone[i][static_cast<std::size_t>(t * stride + weights[i].rows() + g)], 0.5f);
    }
  }
}

TEST(PackedMatrix, UnpacksTheValuesOfTheFile) {
  std::mt19937 rng(5);
  ThreadPool pool(2);
  WeightArena arena;
  const auto check = [&](DType t, std::int64_t rows, std::int64_t columns) {
    const auto bytes = random_weights(t, rows, columns, rng);
    const auto packed = PackedMatrix::pack({bytes.data(), t, 2, {rows, columns, 1, 1}}, arena, pool);
    ASSERT_TRUE(packed);
    const std::size_t row_bytes = bytes.size() / static_cast<std::size_t>(rows), k = static_cast<std::size_t>(columns);
    std::vector<float> expected(k), got(k);
    for (std::int64_t r = 0; r < rows; ++r) {
      ASSERT_TRUE(formats::dequantize_row(t, {bytes.data() + static_cast<std::size_t>(r) * row_bytes, row_bytes}, expected));
      packed->unpack_row(r, got.data());
      // Both round scale * q and the minimum once or twice; the K types' products of scales are exact in fp32.
      for (std::size_t i = 0; i < k; ++i)
        ASSERT_NEAR(got[i], expected[i], std::abs(expected[i]) * 0x1p-22 + 1e-6) << info(t).name << " row " << r << " column " << i;
    }
  };
  for (DType t : kBlockTypes)
    for (std::int64_t rows : {1, 16, 37}) check(t, rows, 768);
  for (DType t : kFloatTypes) check(t, 37, 19);
}

TEST(PackedMatrix, RefusesWhatItCannotHold) {
  ThreadPool pool(1);
  WeightArena arena;
  std::vector<std::byte> bytes(1024);
  const auto bad_columns = PackedMatrix::pack({bytes.data(), DType::kQ4_0, 2, {1, 33, 1, 1}}, arena, pool);
  ASSERT_FALSE(bad_columns);
  EXPECT_EQ(bad_columns.error().message, "Q4_0 needs a multiple of 32 columns, the matrix has 33");
  EXPECT_EQ(PackedMatrix::pack({bytes.data(), DType::kI32, 2, {1, 32, 1, 1}}, arena, pool).error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(PackedMatrix::pack({bytes.data(), DType::kF32, 1, {32, 1, 1, 1}}, arena, pool));
}

}  // namespace
}  // namespace warpfold::ops
