// The weight-only kernel under the emulator: every format and tile on problems with tails, under many schedules.
//
// Exact cases: A holds small integers, scales and minima are powers of two, so products and sums are exact in fp32 and
// every weight is exact in bf16: D must be the exact result rounded once. Bounded cases: any scales and normal data, and
//
//   |D - exact| <= S (K/16 * 17 * 2^-24 + K/32 * 2^-23) + W + 2^-8 or 2^-24 of the result (rounding D to bf16 or fp32)
//
// where S = sum |x| (|scale| * (|code - zero| + ...) + |minimum|): an m64nNk16 product adds 17 terms, each cut at 2^-24 of the
// largest, and scaled sums add two fp32 roundings for each 32 of K. W = 2^-9 * 1.01 * sum |x| |w| where weights are rounded
// to bf16, else 0. Memory around D is checked to be untouched; what lies around A, and C where beta = 0, is NaN, and so
// are the scales that fill up the packed weights' neighbourhood. WF_SEEDS=n runs n schedules of each case instead of the
// default; WF_CASE=text only the cases with that text.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "warpfold/kernels/weight_only/launch.h"

namespace warpfold::kernels::weight_only {
namespace {

using hopper::bf16;

struct Rng {
  uint64_t state;
  uint32_t operator()(uint32_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return uint32_t((state >> 33) * bound >> 31);
  }
  double normal() {  // of 12 uniform numbers
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += (*this)(1 << 20) * 0x1p-20;
    return sum;
  }
};

template <class T>
T from_double(double x) {
  if constexpr (std::is_same_v<T, bf16>)
    return hopper::to_bf16(float(x));
  else
    return float(x);
}
double to_double(bf16 x) { return double(hopper::to_float(x)); }
double to_double(float x) { return double(x); }
const double nan = std::numeric_limits<double>::quiet_NaN();

// A matrix (rows, width), rows on multiples of 16 bytes, NaN in between, before and behind.
template <class T>
struct Matrix {
  static constexpr int unit = 16 / int(sizeof(T)), guard = 300;
  int rows, width, stride;
  std::vector<T> storage;
  T* data;

  Matrix(int r, int w, int extra) : rows(r), width(w), stride((w + unit - 1) / unit * unit + extra * unit) {
    storage.assign(size_t(r + 1 + guard) * size_t(stride) + size_t(unit), from_double<T>(nan));
    data = storage.data() + (16 - reinterpret_cast<uintptr_t>(storage.data()) % 16) % 16 / sizeof(T) + stride;
  }
  T& at(int i, int j) { return data[int64_t{i} * stride + j]; }
  Operand operand() const { return {data, stride}; }
};

// Quantised weights (N, K) as in a file, the same as numbers, and packed.
struct Quantised {
  std::vector<std::byte> rows;
  std::vector<double> w, size;  // (N, K): the weight, and the sizes of what it is the sum of
  std::vector<std::byte> storage;
  std::byte* packed;

  Quantised(DType type, int n, int k, bool exact, Rng& rng) : w(size_t(n * k)), size(w.size()) {
    const int block_bytes = int(info(type).block_bytes);
    rows.resize(size_t(n * (k / block_k) * block_bytes));
    for (int row = 0; row < n; ++row)
      for (int block = 0; block < k / block_k; ++block) {
        std::byte* b = rows.data() + (row * (k / block_k) + block) * block_bytes;
        const auto number = [&] {
          if (exact) return std::ldexp(1.0, -int(rng(has_minimum(type) ? 4 : 6))) * (rng(2) == 0 ? 1 : -1);
          return rng(50) == 0 ? 0.0 : rng.normal() * 0.01;
        };
        const hopper::f16 d = hopper::to_f16(float(number()));
        const hopper::f16 m = hopper::to_f16(has_minimum(type) ? float(number()) : 0);
        std::memcpy(b, &d, 2);
        if (has_minimum(type)) std::memcpy(b + 2, &m, 2);
        auto* codes = reinterpret_cast<uint8_t*>(b) + (has_minimum(type) ? 4 : 2);
        for (int i = 0; i < block_bytes - (has_minimum(type) ? 4 : 2); ++i) codes[i] = uint8_t(rng(256));
        for (int i = 0; i < block_k; ++i) {
          const int code = type == DType::kQ8_0 ? int(int8_t(codes[i]))
                                                  : (i < 16 ? codes[i] & 15 : codes[i - 16] >> 4) - (type == DType::kQ4_0 ? 8 : 0);
          const double scale = double(hopper::to_float(d)), minimum = double(hopper::to_float(m));
          const size_t at = size_t(row * k + block * block_k + i);
          w[at] = scale * code + minimum;
          size[at] = std::fabs(scale * code) + std::fabs(minimum);
        }
      }
    const size_t bytes = size_t(packed_bytes(type, n, k));
    storage.assign(bytes + 4096, std::byte{0xFF});  // scales behind are NaN
    packed = storage.data() + (16 - reinterpret_cast<uintptr_t>(storage.data()) % 16) % 16;
    EXPECT_TRUE(pack(type, n, k, rows, {packed, bytes}));
  }
};

struct Case {
  int m, n, k, blocks;
  float alpha = 1, beta = 0;
  bool scaled = false;
  Activation activation = Activation::none;
};

// One launch; the text says what is wrong, empty if nothing. Adds the launch's time to `ms`.
template <class Config>
std::string check(const Case& c, uint64_t seed, bool exact, double& ms) {
  using Out = typename Config::Output;
  Rng rng{seed};
  Matrix<bf16> a(c.m, c.k, int(rng(2)));
  const Quantised b(Config::weights, c.n, c.k, exact, rng);
  Matrix<Out> source(c.m, c.n, 0), d(c.m, c.n, int(rng(3)));
  if (c.alpha != 0)
    for (int i = 0; i < c.m; ++i)
      for (int k = 0; k < c.k; ++k) a.at(i, k) = hopper::to_bf16(exact ? float(int(rng(5)) - 2) : float(rng.normal()));
  if (c.beta != 0)
    for (int i = 0; i < c.m; ++i)
      for (int j = 0; j < c.n; ++j) source.at(i, j) = from_double<Out>(int(rng(17)) - 8);
  std::vector<float> row(size_t(c.m), 1), column(size_t(c.n), 1), bias(size_t(c.n), 0);
  if (c.scaled) {
    for (float& x : row) x = std::ldexp(1.0f, -int(rng(3)));
    for (float& x : column) x = std::ldexp(1.0f, -int(rng(3)));
    for (float& x : bias) x = float(rng(9)) - 4;
  }
  std::vector<char> space(size_t(workspace_of<Config>(c.blocks)) + 128, '\x5A');
  hopper::emulator::options().seed = seed;
  Problem p;
  p.weight_type = Config::weights;
  p.output_type = gemm::dtype_of<Out>();
  p.m = c.m;
  p.n = c.n;
  p.k = c.k;
  p.a = a.operand();
  p.weights = b.packed;
  p.c = source.operand();
  p.d = d.data;
  p.d_stride = d.stride;
  p.alpha = c.k > 0 ? c.alpha : std::numeric_limits<float>::infinity();
  p.beta = c.beta;
  p.activation = c.activation;
  if (c.scaled) {
    p.row_scale = row.data();
    p.column_scale = column.data();
    p.bias = bias.data();
  }
  p.workspace = space.data() + (128 - reinterpret_cast<uintptr_t>(space.data()) % 128) % 128;
  p.workspace_bytes = int64_t(space.size()) - 128;
  if (Config::split) std::memset(p.workspace, 0, size_t(gemm::flag_bytes));
  if (const Status s = can_run(p); !s) return s.error().message;
  const auto begin = std::chrono::steady_clock::now();
  const Status launched = launch<Config>(p, c.blocks, nullptr);
  ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (!launched) return launched.error().message;
  if (Config::split)
    for (int i = 0; i < int(gemm::flag_bytes) / 4; ++i)
      if (static_cast<const int*>(p.workspace)[i] != 0) return "a flag of the workspace is left raised";

  const double sums = c.k / 16 * 17 * 0x1p-24 + (Config::scaled_sums ? c.k / 32 * 0x1p-23 : 0);
  const double per_weight = Config::scaled_sums ? 0 : 0x1p-9 * 1.01;
  const double rounding = sizeof(Out) == 2 ? 0x1p-8 : 0x1p-24;
  for (int i = -1; i < c.m + d.guard - 1; ++i)
    for (int j = 0; j < d.stride; ++j) {
      const Out got = d.at(i, j);
      const bool inside = i >= 0 && i < c.m && j < c.n;
      double want = nan, slack = 0;
      if (inside) {
        double sum = 0, size = 0, of_weights = 0;
        for (int k = 0; k < c.k && c.alpha != 0; ++k) {
          const double x = to_double(a.at(i, k));
          const size_t at = size_t(j * c.k + k);
          sum += x * b.w[at];
          size += std::fabs(x) * b.size[at];
          of_weights += std::fabs(x * b.w[at]);
        }
        const double factor = c.alpha == 0 ? 0 : c.alpha * double(row[size_t(i)]) * double(column[size_t(j)]);
        want = factor * sum + double(bias[size_t(j)]);
        if (!exact) slack = std::fabs(factor) * (size * (sums + 0x1p-22) + of_weights * per_weight);
        if (c.activation == Activation::relu) want = std::fmax(want, 0);
        if (c.activation == Activation::silu) {
          slack = 1.1 * slack + std::fabs(want) * 0x1p-19;  // the slope of SiLU is at most 1.1
          want = want / (1 + std::exp(-want));
        }
        if (c.beta != 0) want += c.beta * to_double(source.at(i, j));
        if (slack != 0) slack += std::fabs(want) * rounding;
      }
      const double value = to_double(got);
      if (slack == 0) want = to_double(from_double<Out>(want));
      if (value == want || (want != want && value != value) || std::fabs(value - want) <= slack) continue;
      return (inside ? "wrong result at (" : "written outside D at (") + std::to_string(i) + ", " + std::to_string(j) +
             "), seed " + std::to_string(seed) + ": " + std::to_string(value) + " instead of " + std::to_string(want) +
             " within " + std::to_string(slack);
    }
  return "";
}

template <class Config>
void run(const char* name, std::initializer_list<Case> cases, uint64_t default_seeds) {
  const char* only = std::getenv("WF_CASE");
  if (only != nullptr && std::string(name).find(only) == std::string::npos) GTEST_SKIP();
  const char* given = std::getenv("WF_SEEDS");
  const uint64_t seeds = given != nullptr ? std::strtoull(given, nullptr, 10) : default_seeds;
  for (const Case& c : cases) {
    double ms = 0;
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      const std::string wrong = check<Config>(c, seed, seed % 3 != 0, ms);
      ASSERT_EQ(wrong, "") << name << " " << c.m << " x " << c.n << " x " << c.k;
    }
    std::printf("%-20s %4d x %4d x %4d, %d blocks: %6.1f ms a schedule\n", name, c.m, c.n, c.k, c.blocks,
                ms / double(seeds));
  }
}

template <DType kWeights, class Out, class Tile>
using Of = Config<kWeights, Out, Tile>;

TEST(WeightOnlyEmulated, FewRows) {
  run<Of<DType::kQ4_0, bf16, Tile16>>("Q4_0 16", {{16, 300, 608, 4}, {3, 261, 1056, 7, 2, -1}, {33, 130, 96, 2}, {1, 5, 32, 1}}, 20);
  run<Of<DType::kQ8_0, bf16, Tile16>>("Q8_0 16", {{16, 300, 608, 4}, {3, 261, 1056, 7, 2, -1}, {33, 130, 96, 2}, {1, 5, 32, 1}}, 20);
  run<Of<DType::kQ4_1, bf16, Tile16>>("Q4_1 16", {{16, 300, 608, 4}, {3, 261, 1056, 7, 2, -1}, {33, 130, 96, 2}, {1, 5, 32, 1}}, 20);
  run<Of<DType::kQ4_0, float, Tile32>>("Q4_0 32, f32", {{40, 131, 288, 3, 1, 2}, {32, 250, 640, 4}}, 20);
  run<Of<DType::kQ8_0, float, Tile32>>("Q8_0 32, f32", {{40, 131, 288, 3, 1, 2}, {32, 250, 640, 4}}, 20);
  run<Of<DType::kQ4_1, float, Tile32>>("Q4_1 32, f32", {{40, 131, 288, 3, 1, 2}, {32, 250, 640, 4}}, 20);
}
// One tile, of which more steps lie in a block than the ring has stages, and one that many blocks share.
TEST(WeightOnlyEmulated, LongSums) {
  run<Of<DType::kQ4_0, bf16, Tile16>>("Q4_0 16, long", {{1, 128, 2400, 2}, {9, 200, 2304, 11}}, 20);
  run<Of<DType::kQ8_0, bf16, Tile16>>("Q8_0 16, long", {{1, 128, 1600, 2}}, 20);
}
TEST(WeightOnlyEmulated, ManyRows) {
  run<Of<DType::kQ4_0, bf16, Tile64>>("Q4_0 64", {{64, 200, 640, 4}, {65, 137, 352, 3, 1, 1}}, 20);
  run<Of<DType::kQ8_0, bf16, Tile64>>("Q8_0 64", {{50, 200, 640, 4}}, 20);
  run<Of<DType::kQ4_1, float, Tile64>>("Q4_1 64, f32", {{64, 200, 640, 4}}, 20);
  run<Of<DType::kQ8_0, float, Tile128>>("Q8_0 128, f32", {{130, 131, 288, 3, -0.5, 1}}, 20);
  run<Of<DType::kQ4_0, bf16, Tile128>>("Q4_0 128", {{128, 260, 224, 3}}, 20);
  run<Of<DType::kQ4_0, bf16, Tile256>>("Q4_0 256", {{300, 200, 288, 2}, {200, 140, 416, 1, 1, 2}}, 20);
  run<Of<DType::kQ8_0, bf16, Tile256>>("Q8_0 256", {{257, 129, 352, 3}}, 20);
  run<Of<DType::kQ4_1, bf16, Tile256>>("Q4_1 256", {{100, 200, 288, 2}}, 20);
}
TEST(WeightOnlyEmulated, Epilogues) {
  run<Of<DType::kQ4_0, bf16, Tile16>>("Q4_0 16, epilogue", {{14, 203, 320, 3, 0.5, 1, true, Activation::relu}, {14, 203, 320, 3, 0.25, -1, true, Activation::silu}}, 20);
  run<Of<DType::kQ8_0, bf16, Tile256>>("Q8_0 256, epilogue", {{120, 203, 96, 2, 0.5, 2, true, Activation::relu}}, 20);
}
TEST(WeightOnlyEmulated, Nothing) {
  run<Of<DType::kQ4_0, bf16, Tile16>>("K = 0, alpha = 0", {{7, 20, 0, 1, 1, 1}, {7, 150, 64, 2, 0, -1, true}}, 20);
  run<Of<DType::kQ8_0, bf16, Tile256>>("K = 0", {{7, 150, 0, 1, 1, 0, true}}, 20);
}

}  // namespace
}  // namespace warpfold::kernels::weight_only
