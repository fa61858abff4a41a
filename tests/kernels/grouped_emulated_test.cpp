// Grouped products under the emulator: groups of odd sizes, without rows, cut off, and rows between them, under many
// schedules. Inputs are small integers, so D is exact. Rows of D in no group, its padding and what lies around it must stay
// NaN; A's rows in no group hold NaN. WF_SEEDS=n runs n schedules of each case instead of the default.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "warpfold/kernels/gemm/launch_grouped.h"

namespace warpfold::kernels::gemm {
namespace {

using hopper::bf16;

struct Rng {
  uint64_t state;
  int operator()(int bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return int((state >> 33) * uint64_t(bound) >> 31);
  }
};

template <class T>
T number(double x) {
  if constexpr (std::is_same_v<T, bf16>) return hopper::to_bf16(float(x));
  else return T(x);
}
template <class T>
T poison() {
  if constexpr (std::is_same_v<T, bf16>) return hopper::to_bf16(std::numeric_limits<float>::quiet_NaN());
  else return T(101);
}
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
  Matrix(int batches, int r, int width) : rows(r), stride((width + unit - 1) / unit * unit + unit) {
    storage.assign(size_t(batches * r + 130) * size_t(stride) + size_t(unit), poison<T>());
    data = storage.data() + (16 - reinterpret_cast<uintptr_t>(storage.data()) % 16) % 16 / sizeof(T) + stride;
  }
  T& at(int batch, int i, int j) { return data[(int64_t{batch} * rows + i) * stride + j]; }
};

struct Case {
  int rows, n, k, blocks;
  std::vector<int32_t> starts = {}, counts = {};  // one of them
  int row_step = 0;
  float alpha = 1;  // of results that are not int32
};

template <class Config>
std::string check(const Case& c, uint64_t seed) {
  using In = typename Config::ElementA;
  using Out = typename Config::Output;
  Rng rng{seed};
  const bool contiguous = !c.starts.empty();
  const int groups = int(contiguous ? c.starts.size() - 1 : c.counts.size());
  Matrix<In> a(1, c.rows, c.k), b(groups, c.n, c.k);
  Matrix<Out> d(1, c.rows, c.n);
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
  if (const Status s = can_run(p); !s) return s.error().message;
  hopper::emulator::options().seed = seed;
  if (const Status s = launch_grouped<Config>(p, c.blocks, nullptr); !s) return s.error().message;
  for (int i = -1; i < c.rows + 120; ++i)
    for (int j = 0; j < d.stride; ++j) {
      const Out got = d.at(0, i, j);
      const int g = i >= 0 && i < c.rows ? group_of[size_t(i)] : -1;
      Out want = poison<Out>();
      if (g >= 0 && j < c.n) {
        double sum = 0;
        for (int k = 0; k < c.k && p.alpha != 0; ++k) sum += value(a.at(0, i, k)) * value(b.at(g, j, k));
        want = number<Out>(p.alpha == 0 ? 0 : p.alpha * sum);
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
  const uint64_t seeds = given != nullptr ? std::strtoull(given, nullptr, 10) : 20;
  for (const Case& c : cases)
    for (uint64_t seed = 1; seed <= seeds; ++seed)
      ASSERT_EQ(check<Config>(c, seed), "") << c.rows << " x " << c.n << " x " << c.k;
}

template <class In, class Out, class Tile>
using Of = Config<In, In, Out, Grouped<Tile>>;

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
TEST(GroupedEmulated, Int8Large) { run_all<Of<int8_t, int32_t, Tile128x128>>(cases); }

}  // namespace
}  // namespace warpfold::kernels::gemm
