// Grouped products under the emulator: groups of odd sizes, without rows, cut off, and rows between them, under many
// schedules. Inputs are small integers, so D is exact. Rows of D in no group, its padding and what lies around it must stay
// NaN; A's rows in no group hold NaN. WF_SEEDS=n runs n schedules of each case instead of the default.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "warpfold/kernels/gemm/launch_grouped.h"

namespace warpfold::kernels::gemm {
namespace {

using hopper::bf16;
using hopper::e4m3;

struct Rng {
  uint64_t state;
  int operator()(int bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return int((state >> 33) * uint64_t(bound) >> 31);
  }
};

template <class T>
T number(double x) {
  if constexpr (std::is_same_v<T, bf16>) {
    return hopper::to_bf16(float(x));
  } else if constexpr (std::is_same_v<T, e4m3>) {  // of whole numbers up to 8
    const int size = int(std::fabs(x)), exponent = size < 2 ? 0 : size < 4 ? 1 : size < 8 ? 2 : 3;
    const int code = size == 0 ? 0 : (exponent + 7) << 3 | ((size << 3 >> exponent) & 7);
    return {uint8_t(code | (x < 0 ? 0x80 : 0))};
  } else {
    return T(x);
  }
}
template <class T>
T poison() {
  if constexpr (std::is_same_v<T, bf16>) return hopper::to_bf16(std::numeric_limits<float>::quiet_NaN());
  else if constexpr (std::is_same_v<T, e4m3>) return {0x7F};
  else return T(101);
}
double value(e4m3 x) { return double(hopper::to_float(x)); }
double value(bf16 x) { return double(hopper::to_float(x)); }
double value(int8_t x) { return x; }
double value(int32_t x) { return x; }

// A matrix (batches, rows, width) whose rows start on multiples of 16 bytes, poison in between and around.
template <class T>
struct Matrix {
  static constexpr int unit = 16 / int(sizeof(T));
  int rows, stride;
  std::vector<T> storage;
  T* data;
  // loose: with a stride and on an address that TMA does not take
  Matrix(int batches, int r, int width, bool loose = false)
      : rows(r), stride(loose ? width + 3 : (width + unit - 1) / unit * unit + unit) {
    storage.assign(size_t(batches * r + 130) * size_t(stride) + size_t(unit + 1), poison<T>());
    data = storage.data() + (16 - reinterpret_cast<uintptr_t>(storage.data()) % 16) % 16 / sizeof(T) + stride + loose;
  }
  T& at(int batch, int i, int j) { return data[(int64_t{batch} * rows + i) * stride + j]; }
};

struct Case {
  int rows, n, k, blocks;
  std::vector<int32_t> starts = {}, counts = {};  // one of them
  int row_step = 0;
  float alpha = 1;  // of results that are not int32
  bool scaled = false, pointers = false;
  Activation activation = Activation::none;
};

template <class Config>
std::string check(const Case& c, uint64_t seed) {
  using In = typename Config::ElementA;
  using Out = typename Config::Output;
  Rng rng{seed};
  const bool contiguous = !c.starts.empty();
  const int groups = int(contiguous ? c.starts.size() - 1 : c.counts.size());
  const bool loose = Config::copied && seed % 2 != 0;
  Matrix<In> a(1, c.rows, c.k, loose), b(groups, c.n, c.k, loose && !c.pointers);
  Matrix<Out> d(1, c.rows, c.n, loose);
  std::vector<int> group_of(size_t(c.rows), -1);
  for (int g = 0; g < groups; ++g) {
    const int64_t first = contiguous ? c.starts[size_t(g)] : int64_t{g} * c.row_step;
    const int64_t end = contiguous ? c.starts[size_t(g) + 1] : first + c.counts[size_t(g)];
    for (int64_t i = std::max<int64_t>(first, 0); i < std::min<int64_t>(end, c.rows); ++i) group_of[size_t(i)] = g;
  }
  GroupedProblem p;
  p.type = dtype_of<In>();
  p.output_type = dtype_of<Out>();
  p.rows = c.rows;
  p.n = c.n;
  p.k = c.k;
  p.groups = groups;
  p.a = {a.data, a.stride};
  p.b = {b.data, b.stride, int64_t{b.stride} * c.n};
  p.d = d.data;
  p.d_stride = d.stride;
  p.alpha = std::is_same_v<Out, int32_t> ? 1 : c.alpha;
  p.starts = contiguous ? c.starts.data() : nullptr;
  p.counts = contiguous ? nullptr : c.counts.data();
  p.row_step = c.row_step;
  if (p.alpha != 0) {
    for (int i = 0; i < c.rows; ++i)
      for (int k = 0; k < c.k && group_of[size_t(i)] >= 0; ++k) a.at(0, i, k) = number<In>(rng(7) - 3);
    for (int g = 0; g < groups; ++g)
      for (int j = 0; j < c.n; ++j)
        for (int k = 0; k < c.k; ++k) b.at(g, j, k) = number<In>(rng(7) - 3);
  }
  std::vector<float> row(size_t(c.rows)), column(size_t(groups * c.n)), bias(column.size());
  for (float& x : row) x = std::ldexp(1.0f, -rng(6));
  for (float& x : column) x = std::ldexp(1.0f, -rng(6));
  for (float& x : bias) x = float(rng(9) - 4);
  if (c.scaled) {
    p.row_scale = row.data();
    p.column_scale = column.data();
    p.bias = bias.data();
    p.activation = c.activation;
    if (seed % 3 == 0) {  // one scale a matrix
      p.one_column_scale = true;
      for (int g = 0; g < groups; ++g)
        for (int j = 0; j < c.n; ++j) column[size_t(g * c.n + j)] = std::ldexp(1.0f, -g % 5);
    }
  }
  std::vector<float> one(size_t(groups), 1);
  for (int g = 0; g < groups; ++g) one[size_t(g)] = column.empty() ? 1 : column[size_t(g * c.n)];
  if (p.one_column_scale) p.column_scale = one.data();
  std::vector<const void*> pointers;  // in another order than the matrices
  for (int g = 0; g < groups; ++g) pointers.push_back(&b.at((g * 2 + 1) % groups, 0, 0));
  if (c.pointers) {
    p.b_pointers = pointers.data();
    p.b.data = nullptr;
  }
  const auto matrix_of = [&](int g) { return c.pointers ? (g * 2 + 1) % groups : g; };
  if (const Status s = can_run(p); !s) return s.error().message;
  hopper::emulator::options().seed = seed;
  const Status launched = [&] {
    if constexpr (Config::copied) return launch_grouped_copied<Config>(p, c.blocks, nullptr);
    else return launch_grouped<Config>(p, c.blocks, nullptr);
  }();
  if (!launched) return launched.error().message;
  for (int i = -1; i < c.rows + 120; ++i)
    for (int j = 0; j < d.stride; ++j) {
      const Out got = d.at(0, i, j);
      const int g = i >= 0 && i < c.rows ? group_of[size_t(i)] : -1;
      Out want = poison<Out>();
      if (g >= 0 && j < c.n) {
        double sum = 0;
        for (int k = 0; k < c.k && p.alpha != 0; ++k) sum += value(a.at(0, i, k)) * value(b.at(matrix_of(g), j, k));
        double y = p.alpha == 0 ? 0 : p.alpha * sum;
        if (c.scaled) y = y * double(row[size_t(i)]) * double(column[size_t(g * c.n + j)]) + double(bias[size_t(g * c.n + j)]);
        if (c.scaled && c.activation == Activation::relu && y < 0) y = 0;
        want = number<Out>(y);
      }
      const double x = value(got), y = value(want);
      if (x != y && !(x != x && y != y))
        return "row " + std::to_string(i) + " of group " + std::to_string(g) + ", column " + std::to_string(j) + ", seed " +
               std::to_string(seed) + ": " + std::to_string(x) + " instead of " + std::to_string(y);
    }
  return "";
}

template <class Config>
void run_all(std::initializer_list<Case> cases) {
  const char* given = std::getenv("WF_SEEDS");
  const uint64_t seeds = given != nullptr ? std::strtoull(given, nullptr, 10) : 10;
  for (const Case& c : cases)
    for (uint64_t seed = 1; seed <= seeds; ++seed)
      ASSERT_EQ(check<Config>(c, seed), "") << c.rows << " x " << c.n << " x " << c.k;
}

template <class In, class Out, class Tile, Fusion kFusion = Fusion::none>
using Of = Config<In, In, Out, Grouped<Tile>, kFusion>;

const std::initializer_list<Case> cases = {
    {300, 136, 72, 3, {0, 1, 1, 130, 259, 300}},            // odd sizes, one without rows
    {200, 203, 136, 2, {5, 70, 70, 70, 133, 190}},          // rows before and behind; a tail of N
    {260, 72, 200, 5, {}, {65, 0, 3, 64}, 65},              // masked
    {150, 40, 40, 7, {}, {0, 0}, 75},                       // no rows at all
    {130, 264, 0, 2, {0, 65, 130}},                         // K = 0
    {130, 64, 64, 2, {0, 65, 130}, {}, 0, 0},               // alpha = 0
    {100, 64, 64, 2, {-4, 40, 900}},                        // starts outside are cut
    {1, 8, 16, 1, {0, 1}},
};

TEST(GroupedEmulated, PingPong) { run_all<Of<bf16, bf16, Tile128x128>>(cases); }
TEST(GroupedEmulated, PingPongWide) { run_all<Of<bf16, bf16, Tile128x192>>(cases); }
TEST(GroupedEmulated, Small) { run_all<Of<bf16, bf16, Tile64x64>>(cases); }
TEST(GroupedEmulated, Int8) { run_all<Of<int8_t, int32_t, Tile64x64>>(cases); }
// With scales, bias and activation.
const std::initializer_list<Case> fused = {
    {150, 136, 72, 3, {0, 1, 1, 70, 133, 150}, {}, 0, 0.5, true, false, Activation::relu},
    {130, 72, 200, 2, {}, {35, 0, 3, 32}, 32, 1, true},
    {100, 43, 0, 2, {0, 65, 100}, {}, 0, 1, true},
    {130, 64, 64, 2, {0, 65, 130}, {}, 0, 0, true},
};
// B's at pointers of their own.
const std::initializer_list<Case> pointers = {
    {150, 136, 72, 2, {0, 1, 1, 70, 133, 150}, {}, 0, 0.5, true, true},
    {130, 71, 200, 1, {}, {35, 0, 3, 32}, 32, 1, false, true},
    {100, 40, 0, 2, {0, 65, 100}, {}, 0, 1, false, true},
};
TEST(GroupedEmulated, Fused) {
  run_all<Of<bf16, bf16, Tile128x128, Fusion::full>>(fused);
  run_all<Of<int8_t, bf16, Tile64x64, Fusion::full>>(fused);
}
TEST(GroupedEmulated, Fp8) { run_all<Of<e4m3, bf16, TilePromoted128, Fusion::full>>(fused); }
TEST(GroupedEmulated, Copied) {
  run_all<Of<bf16, bf16, TileCopied, Fusion::full>>(fused);
  run_all<Of<bf16, bf16, TileCopied, Fusion::full>>(pointers);
  run_all<Of<int8_t, int32_t, TileCopied>>({{130, 71, 200, 1, {}, {35, 0, 3, 32}, 32, 1, false, true}});
  run_all<Of<e4m3, bf16, TileCopiedPromoted, Fusion::full>>(pointers);
}
TEST(GroupedEmulated, Int8Large) { run_all<Of<int8_t, int32_t, Tile128x128>>(cases); }

}  // namespace
}  // namespace warpfold::kernels::gemm
