// The GEMM kernel under the emulator: every configuration on problems with tails, under many schedules.
//
// A and B are integers in [-4, 4], C in [-8, 8], alpha and beta powers of two: products and sums are exact in
// fp32, so D must be the exact result rounded once. Memory around D is checked to be untouched; C holds NaN
// where beta = 0. WF_SEEDS=n runs n schedules of each case instead of the default; WF_CASE=text only the
// cases with that text.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "warpfold/kernels/gemm/launch.h"

namespace warpfold::kernels::gemm {
namespace {

using hopper::bf16;
using hopper::f16;

struct Rng {
  uint64_t state;
  uint32_t operator()(uint32_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return uint32_t((state >> 33) * bound >> 31);
  }
};

template <class T>
T from_double(double x) {
  if constexpr (std::is_same_v<T, bf16>)
    return hopper::to_bf16(float(x));
  else if constexpr (std::is_same_v<T, f16>)
    return hopper::to_f16(float(x));
  else
    return T(x);
}
template <class T>
double to_double(T x) {
  if constexpr (std::is_integral_v<T>)
    return x;
  else
    return double(hopper::to_float(x));
}
// What lies where nobody may read or write: NaN, or a number that would show.
template <class T>
T poison() {
  if constexpr (std::is_integral_v<T>)
    return T(0x77777777);
  else
    return from_double<T>(std::numeric_limits<double>::quiet_NaN());
}
template <class T>
bool same(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0 || (to_double(a) == 0 && to_double(b) == 0);  // the sign of zero
}
template <class T>
constexpr DType dtype() {
  if constexpr (std::is_same_v<T, bf16>)
    return DType::kBF16;
  else if constexpr (std::is_same_v<T, f16>)
    return DType::kF16;
  else if constexpr (std::is_same_v<T, int8_t>)
    return DType::kI8;
  else
    return DType::kI32;
}

// A row-major matrix with rows on multiples of 16 bytes, padding, a guard row before and a tile's rows
// behind, all poison.
template <class T>
struct Matrix {
  static constexpr int unit = 16 / int(sizeof(T)), guard = 256;
  int rows, width, stride;
  std::vector<T> storage;
  T* data;

  Matrix(int r, int w, int extra) : rows(r), width(w), stride((w + unit - 1) / unit * unit + extra * unit) {
    storage.assign(size_t(r + 1 + guard) * size_t(stride) + size_t(unit), poison<T>());
    data = storage.data() + (16 - reinterpret_cast<uintptr_t>(storage.data()) % 16) % 16 / sizeof(T) + stride;
  }
  T& at(int i, int j) { return data[size_t(i) * size_t(stride) + size_t(j)]; }
  void fill(Rng& rng, int largest) {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < width; ++j)
        at(i, j) = from_double<T>(int(rng(uint32_t(2 * largest + 1))) - largest);
  }
};

struct Case {
  int m, n, k, blocks;
  float alpha = 1, beta = 0;
  bool scaled = false;
};

// One launch; the text says what is wrong, empty if nothing. Adds the launch's time to `ms`.
template <class Config>
std::string check(const Case& c, uint64_t seed, double& ms) {
  using In = typename Config::Element;
  using Out = typename Config::Output;
  Rng rng{seed};
  Matrix<In> a(c.m, c.k, int(rng(2))), b(c.n, c.k, int(rng(2)));
  Matrix<Out> source(c.m, c.n, 0), d(c.m, c.n, int(rng(3)));
  a.fill(rng, Config::integers ? 127 : 4);
  b.fill(rng, Config::integers ? 127 : 4);
  if (c.beta != 0) source.fill(rng, 8);
  std::vector<float> row(size_t(c.m)), column(size_t(c.n) + 1);
  for (float& x : row) x = c.scaled ? std::ldexp(1.0f, -int(rng(8))) : 1;
  for (float& x : column) x = c.scaled ? std::ldexp(1.0f, -int(rng(8))) : 1;
  hopper::emulator::options().seed = seed;
  Problem p;
  p.type = dtype<In>();
  p.output_type = dtype<Out>();
  p.m = c.m;
  p.n = c.n;
  p.k = c.k;
  p.a = {a.data, a.stride};
  p.b = {b.data, b.stride};
  p.c = {source.data, source.stride};
  p.d = d.data;
  p.d_stride = d.stride;
  p.alpha = c.alpha;
  p.beta = c.beta;
  if (c.scaled) {
    p.row_scale = row.data();
    p.column_scale = column.data();
  }
  if (const Status s = can_run(p); !s) return s.error().message;
  const auto begin = std::chrono::steady_clock::now();
  const Status launched = launch<Config>(p, c.blocks, nullptr);
  ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (!launched) return launched.error().message;
  // A B^T. Sums of at most 127^2 k < 2^24 are exact in fp32, too, which is fast enough for many schedules.
  std::vector<float> product(size_t(c.m) * size_t(c.n)), b_columns(size_t(c.k) * size_t(c.n));
  for (int j = 0; j < c.n; ++j)
    for (int k = 0; k < c.k; ++k) b_columns[size_t(k * c.n + j)] = float(to_double(b.at(j, k)));
  for (int i = 0; i < c.m; ++i)
    for (int k = 0; k < c.k; ++k) {
      const auto x = float(to_double(a.at(i, k)));
      for (int j = 0; j < c.n; ++j) product[size_t(i * c.n + j)] += x * b_columns[size_t(k * c.n + j)];
    }
  for (int i = -1; i < c.m + d.guard; ++i)
    for (int j = 0; j < d.stride; ++j) {
      const bool inside = i >= 0 && i < c.m && j < c.n;
      Out want = poison<Out>();
      if (inside) {
        double sum = c.alpha * double(row[size_t(i)]) * double(column[size_t(j)]) *
                     double(product[size_t(i * c.n + j)]);
        if (c.beta != 0) sum += c.beta * to_double(source.at(i, j));
        want = from_double<Out>(sum);
      }
      if (!same(d.at(i, j), want))
        return (inside ? "wrong result at (" : "written outside D at (") + std::to_string(i) + ", " +
               std::to_string(j) + "), seed " + std::to_string(seed) + ": " +
               std::to_string(to_double(d.at(i, j))) + " instead of " + std::to_string(to_double(want));
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
      const std::string wrong = check<Config>(c, seed, ms);
      ASSERT_EQ(wrong, "") << name << " " << c.m << " x " << c.n << " x " << c.k;
    }
    std::printf("%-30s %4d x %4d x %4d, %d blocks: %6.1f ms a schedule\n", name, c.m, c.n, c.k, c.blocks,
                ms / double(seeds));
  }
}

TEST(GemmEmulated, CooperativeCluster) {
  run<Config<bf16, bf16, Tile128x256Cluster2>>(
      "128x256 cluster 2", {{300, 264, 200, 2}, {257, 600, 72, 4, 2, -0.5}, {128, 256, 0, 2, 1, 2}}, 20);
}
TEST(GemmEmulated, PingPong) {
  run<Config<bf16, bf16, Tile128x128PingPong>>(
      "128x128 ping-pong", {{200, 392, 200, 1}, {129, 300, 1000, 2, 1, -2}, {130, 257, 65, 1, -0.5, 1}}, 20);
}
TEST(GemmEmulated, PingPongCluster) {
  run<Config<f16, f16, Tile128x128PingPongCluster2>>("128x128 ping-pong cluster 2",
                                                     {{300, 264, 200, 2}, {257, 390, 72, 4, 2, -0.5}}, 20);
}
TEST(GemmEmulated, WidePingPong) {
  run<Config<bf16, bf16, Tile128x192PingPong>>("128x192 ping-pong",
                                               {{200, 392, 200, 1}, {129, 300, 500, 2, 1, -2}}, 20);
}
TEST(GemmEmulated, SmallPingPong) {
  run<Config<f16, f16, Tile64x64PingPong>>(
      "64x64 ping-pong",
      {{200, 136, 200, 2}, {65, 129, 999, 1, 2, 1}, {1, 1, 1, 2}, {7, 9, 3, 1, 1, 1}, {64, 64, 0, 1}}, 20);
}
TEST(GemmEmulated, Int8Sums) {
  run<Config<int8_t, int32_t, Tile128x128PingPong>>("int8 int32 128x128 ping-pong",
                                                    {{200, 391, 272, 2}, {1, 3, 5, 1}}, 20);
  run<Config<int8_t, int32_t, Tile128x192PingPong>>("int8 int32 128x192 ping-pong", {{130, 258, 130, 1}}, 20);
  run<Config<int8_t, int32_t, Tile128x256Cluster2>>("int8 int32 128x256 cluster 2", {{300, 200, 400, 2}}, 20);
}
TEST(GemmEmulated, Int8Scaled) {
  run<Config<int8_t, bf16, Tile128x128PingPong>>(
      "int8 bf16 128x128 ping-pong", {{200, 391, 272, 2, 1, 0, true}, {65, 70, 33, 1, 0.5, -2, true}}, 20);
  run<Config<int8_t, f16, Tile128x192PingPong>>("int8 f16 128x192 ping-pong",
                                                {{300, 200, 144, 1, 0.0625, 0, true}}, 20);
  run<Config<int8_t, f16, Tile64x64PingPong>>("int8 f16 64x64 ping-pong", {{70, 90, 64, 2, 1, 1, true}}, 20);
}

}  // namespace
}  // namespace warpfold::kernels::gemm
