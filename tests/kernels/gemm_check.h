// What the emulated GEMM tests share: problems of small integers, their exact results, and a launch under many schedules.
//
// A and B are small integers, C, biases and scales small integers and powers of two: products and sums are
// exact in fp32, so D must be the exact result rounded once. SiLU and GELU are off by at most 2^-19 of the values
// that enter, and are compared within that and one rounding. Memory around D is checked to be untouched; C
// holds NaN where beta = 0. WF_SEEDS=n runs n schedules of each case instead of the default; WF_CASE=text only
// the cases with that text.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "warpfold/kernels/gemm/chain.h"
#include "warpfold/kernels/gemm/launch_copied.h"

namespace warpfold::kernels::gemm {
inline namespace test {

struct Rng {
  uint64_t state;
  uint32_t operator()(uint32_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return uint32_t((state >> 33) * bound >> 31);
  }
};

template <class T>
constexpr bool is_fp8_type = std::is_same_v<T, hopper::e4m3> || std::is_same_v<T, hopper::e5m2>;

template <class T>
T from_double(double x) {
  if constexpr (std::is_same_v<T, hopper::bf16>) {
    return hopper::to_bf16(float(x));
  } else if constexpr (std::is_same_v<T, hopper::f16>) {
    return hopper::to_f16(float(x));
  } else if constexpr (std::is_same_v<T, hopper::tf32>) {
    return {float(x)};
  } else if constexpr (is_fp8_type<T>) {
    for (int code = 0; code < 256; ++code)
      if (const T t{uint8_t(code)}; double(hopper::to_float(t)) == x || (x != x && hopper::to_float(t) != hopper::to_float(t)))
        return t;
    return {};
  } else {
    return T(x);
  }
}
template <class T>
double to_double(T x) {
  if constexpr (std::is_arithmetic_v<T>)
    return double(x);
  else if constexpr (std::is_same_v<T, hopper::tf32>)
    return double(x.value);
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
// Matrices (batches, rows, width), rows on multiples of 16 bytes, padding, a guard row before and a tile's rows
// behind, all poison; column-major: (batches, width, rows) in memory.
template <class T>
struct Matrix {
  static constexpr int unit = 16 / int(sizeof(T)), guard = 256;
  int batches, rows, width, stride, lines;
  bool column_major;
  std::vector<T> storage;
  T* data;

  // loose: on any address, with any stride; or on multiples of 4, 8 or 16 bytes.
  Matrix(int b, int r, int w, int extra, bool by_columns = false, Rng* loose = nullptr)
      : batches(b), rows(r), width(w), lines(by_columns ? w : r), column_major(by_columns) {
    const int length = by_columns ? r : w;
    int step = unit, shift = 0;
    if (loose != nullptr) {
      step = std::max(1, (1 << (*loose)(5)) / int(sizeof(T)));
      shift = int((*loose)(4)) * step;
    }
    stride = (length + step - 1) / step * step + extra * step;
    storage.assign(size_t(b * (lines + 1) + 1 + guard) * size_t(stride) + size_t(5 * unit), poison<T>());
    data = storage.data() + (16 - reinterpret_cast<uintptr_t>(storage.data()) % 16) % 16 / sizeof(T) + stride + shift;
  }
  int64_t batch_stride() const { return int64_t{lines + 1} * stride; }  // a row of poison between batches
  T& at(int b, int i, int j) {
    return data[b * batch_stride() + (column_major ? int64_t{j} * stride + i : int64_t{i} * stride + j)];
  }
  void fill(Rng& rng, int largest) {
    for (int b = 0; b < batches; ++b)
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < width; ++j)
          at(b, i, j) = from_double<T>(int(rng(uint32_t(2 * largest + 1))) - largest);
  }
  Operand operand() const { return {data, stride, batches == 1 ? 0 : batch_stride(), column_major}; }
};

struct Case {
  int m, n, k, blocks;
  float alpha = 1, beta = 0;
  bool scaled = false;
  int batches = 1;
  Activation activation = Activation::none;
  Gate gate = Gate::none;
  bool one_b = false;  // all batches have the same B
  bool a_zero = false, b_zero = false, row_amax = false;
};

inline double activated(double y, Activation f) {
  switch (f) {
    case Activation::relu:
      return y < 0 ? 0 : y;
    case Activation::silu:
      return y / (1 + std::exp(-y));
    case Activation::gelu_tanh:
      return 0.5 * y * (1 + std::tanh(0.7978845608028654 * (y + 0.044715 * y * y * y)));
    case Activation::gelu_erf:
      return 0.5 * y * std::erfc(-y * 0.7071067811865476);
    default:
      return y;
  }
}

// One launch; the text says what is wrong, empty if nothing. Adds the launch's time to `ms`.
template <class Config>
std::string check(const Case& c, uint64_t seed, double& ms) {
  constexpr bool swapped = Config::swapped;
  using In = std::conditional_t<swapped, typename Config::ElementB, typename Config::ElementA>;
  using Weight = std::conditional_t<swapped, typename Config::ElementA, typename Config::ElementB>;
  using Out = typename Config::Output;
  Rng rng{seed};
  // Copied operands may lie in any way.
  const bool a_by_columns = Config::copied ? rng(3) == 0 : (swapped ? Config::major_b : Config::major_a) == hopper::Major::mn;
  const bool b_by_columns = Config::copied ? rng(3) == 0 : (swapped ? Config::major_a : Config::major_b) == hopper::Major::mn;
  Rng* const loose = Config::copied ? &rng : nullptr;
  const int weights = c.gate == Gate::none ? c.n : 2 * c.n, batches = c.batches;
  Matrix<In> a(batches, c.m, c.k, int(rng(2)), a_by_columns, loose);
  Matrix<Weight> b(c.one_b ? 1 : batches, weights, c.k, int(rng(2)), b_by_columns, loose);
  Matrix<Out> source(batches, c.m, c.n, 0, false, loose), d(batches, c.m, c.n, int(rng(3)), false, loose);
  if (c.alpha != 0) {  // else poison
    a.fill(rng, Config::integers ? 127 : 4);
    b.fill(rng, Config::integers ? 127 : 4);
  }
  if (c.beta != 0) source.fill(rng, 8);
  std::vector<float> row(size_t(c.m)), column(size_t{unsigned(weights)}), bias(column.size()), row_bias(row.size());
  const auto power = [&] { return c.scaled ? std::ldexp(1.0f, -int(rng(8))) : 1; };
  for (float& x : row) x = power();
  for (float& x : column) x = power();
  for (float& x : bias) x = c.scaled ? float(rng(9)) - 4 : 0;
  for (float& x : row_bias) x = c.scaled ? float(rng(9)) - 4 : 0;
  std::vector<char> space(size_t(flag_bytes) + size_t(c.blocks * slot_bytes<Config>) + 128, '\x5A');
  hopper::emulator::options().seed = seed;
  Problem p;
  p.type = dtype_of<In>();
  p.b_type = dtype_of<Weight>();
  p.output_type = dtype_of<Out>();
  p.m = c.m;
  p.n = c.n;
  p.k = c.k;
  p.batches = batches;
  p.a = a.operand();
  p.b = b.operand();
  p.c = source.operand();
  p.d = d.data;
  p.d_stride = d.stride;
  p.d_batch_stride = d.batch_stride();
  if (c.m == 1 && !a_by_columns) p.a.stride = 7;  // of a single row: never used
  if (c.m == 1) p.d_stride = 3;
  p.alpha = c.k > 0 ? c.alpha : std::numeric_limits<float>::infinity();
  p.beta = c.beta;
  p.activation = c.activation;
  p.gate = c.gate;
  if (c.scaled) {
    p.row_scale = row.data();
    p.column_scale = column.data();
    p.bias = bias.data();
    p.row_bias = row_bias.data();
  }
  // Zero points as an asymmetric quantisation has them: codes from -128 to 127, most of them on one side of the zero.
  std::vector<int32_t> a_zero(row.size()), b_zero(column.size()), a_sums(size_t(batches) * row.size()), b_sums(size_t(batches) * column.size());
  std::vector<float> amax(size_t(batches * c.m), 0);
  const int32_t output_zero = int32_t(rng(256)) - 128;
  const float output_scale = std::ldexp(1.0f, int(rng(8)) + (Config::integers ? 9 : 0));
  if constexpr (Config::zero_points && std::is_same_v<In, int8_t>) {
    for (auto& x : a_zero) x = c.a_zero ? int32_t(rng(256)) - 128 : 0;
    for (auto& x : b_zero) x = c.b_zero ? int32_t(rng(256)) - 128 : 0;
    for (int g = 0; g < batches && c.alpha != 0; ++g)
      for (int k = 0; k < c.k; ++k) {
        for (int i = 0; i < c.m; ++i) a_sums[size_t(g * c.m + i)] += a.at(g, i, k);
        for (int j = 0; j < weights; ++j) b_sums[size_t(g * weights + j)] += b.at(c.one_b ? 0 : g, j, k);
      }
    if (seed % 2 == 0) {  // of whole tensors
      p.one_a_zero = p.one_b_zero = true;
      for (auto& x : a_zero) x = a_zero[0];
      for (auto& x : b_zero) x = b_zero[0];
    }
    if (c.a_zero) {
      p.a_zero = a_zero.data();
      p.b_sums = b_sums.data();
    }
    if (c.b_zero) {
      p.b_zero = b_zero.data();
      p.a_sums = a_sums.data();
    }
  }
  constexpr bool bytes = sizeof(Out) == 1;
  if (bytes) {
    p.output_scale = &output_scale;
    p.output_zero = &output_zero;
  }
  if (c.row_amax) p.row_amax = amax.data();
  if (seed % 3 == 0) {  // scales of whole tensors
    p.one_row_scale = p.one_column_scale = true;
    for (float& x : row) x = row[0];
    for (float& x : column) x = column[0];
  }
  if (Config::split) {
    p.workspace = space.data() + (128 - reinterpret_cast<uintptr_t>(space.data()) % 128) % 128;
    p.workspace_bytes = int64_t(space.size()) - 128;
    std::memset(p.workspace, 0, size_t(flag_bytes));
  }
  if (const Status s = can_run(p); !s) return s.error().message;
  const auto begin = std::chrono::steady_clock::now();
  const Status launched = [&] {
    if constexpr (Config::copied) return launch_copied<Config>(p, c.blocks, nullptr);
    else return launch<Config>(p, c.blocks, nullptr);
  }();
  ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (!launched) return launched.error().message;
  if (Config::split)
    for (int i = 0; i < max_split_blocks; ++i)
      if (static_cast<const int*>(p.workspace)[i] != 0) return "a flag of the workspace is left raised";

  for (int batch = 0; batch < batches; ++batch) {
    // A B^T: exact in double, and fast enough for many schedules.
    std::vector<double> product(size_t(c.m) * size_t(weights)), b_columns(size_t(c.k) * size_t(weights));
    for (int j = 0; j < weights; ++j)
      for (int k = 0; k < c.k; ++k)
        b_columns[size_t(k * weights + j)] = to_double(b.at(c.one_b ? 0 : batch, j, k)) - b_zero[size_t(j)];
    for (int i = 0; i < c.m; ++i)
      for (int k = 0; k < c.k; ++k) {
        const double x = to_double(a.at(batch, i, k)) - a_zero[size_t(i)];
        for (int j = 0; j < weights; ++j) product[size_t(i * weights + j)] += x * b_columns[size_t(k * weights + j)];
      }
    std::vector<double> largest(row.size(), 0), rest(row.size(), 0);  // of the rows of D, and how far off it may be
    const int last = c.m + (batch + 1 == batches ? d.guard : 1);
    for (int i = -1; i < last; ++i)
      for (int j = 0; j < d.stride; ++j) {
        const bool inside = i >= 0 && i < c.m && j < c.n;
        Out want = poison<Out>();
        double slack = 0, exact = 0;
        if (inside) {
          const auto y = [&](int w) {
            if (c.alpha == 0) return double(row_bias[size_t(i)]) + double(bias[size_t(w)]);
            return c.alpha * double(row[size_t(i)]) * double(column[size_t(w)]) * product[size_t(i * weights + w)] +
                   double(row_bias[size_t(i)]) + double(bias[size_t(w)]);
          };
          const int gate = c.gate == Gate::interleaved ? 2 * j : j;
          const int up = c.gate == Gate::interleaved ? 2 * j + 1 : j + c.n;
          double sum = activated(y(gate), c.activation);
          if (c.activation > Activation::relu) slack = std::ldexp(std::fabs(y(gate)), -19);
          if (c.gate != Gate::none) {
            sum *= y(up);
            slack *= std::fabs(y(up));
            slack += std::ldexp(std::fabs(sum), -22);  // the product is rounded to fp32
          }
          if (c.beta != 0) sum += c.beta * to_double(source.at(batch, i, j));
          exact = sum;
          if (std::fabs(sum) >= largest[size_t(i)]) largest[size_t(i)] = std::fabs(sum);
          rest[size_t(i)] = std::max(rest[size_t(i)], slack);
          if (bytes) {  // within the slack, a code beside is as good
            const auto code = [&](double v) {
              return std::fmin(std::fmax(std::nearbyint(v / output_scale) + output_zero, -128), 127);
            };
            const double got = to_double(d.at(batch, i, j));
            want = Out(got >= code(sum - slack) && got <= code(sum + slack) ? got : code(sum));
            slack = 0;
          } else {
            want = from_double<Out>(sum);
          }
          // One rounding of a value that is off by the slack, to 8 bits (bf16) or 11 (fp16).
          if (slack != 0) slack += std::ldexp(std::fabs(sum) + slack, std::is_same_v<Out, hopper::f16> ? -11 : -8) + 0x1p-25;  // half a subnormal of fp16
        }
        const Out got = d.at(batch, i, j);
        if (same(got, want) || (slack != 0 && std::fabs(to_double(got) - exact) <= slack)) continue;
        return (inside ? "wrong result at (" : "written outside D at (") + std::to_string(i) + ", " +
               std::to_string(j) + ") of batch " + std::to_string(batch) + ", seed " + std::to_string(seed) + ": " +
               std::to_string(to_double(got)) + " instead of " + std::to_string(to_double(want));
      }
    for (int i = 0; i < c.m && c.row_amax; ++i) {
      const double got = double(amax[size_t(batch * c.m + i)]), want = double(float(largest[size_t(i)]));
      if (std::fabs(got - want) > rest[size_t(i)])
        return "row_amax (" + std::to_string(i) + ") of batch " + std::to_string(batch) + ", seed " + std::to_string(seed) +
               ": " + std::to_string(got) + " instead of " + std::to_string(want);
    }
  }
  return "";
}

template <class Config>
void run(const char* name, std::initializer_list<Case> cases, uint64_t default_seeds) {
  const char* only = std::getenv("WF_CASE");
  if (only != nullptr && std::string(name).find(only) == std::string::npos) GTEST_SKIP();
  const char* given = std::getenv("WF_SEEDS");
  const uint64_t seeds = given != nullptr ? std::strtoull(given, nullptr, 10) : default_seeds;
  const Chain proof = chain<Config>();  // at run time, so that a planted bug shows
  ASSERT_EQ(proof.why.view(), "") << name;
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

// The kernel for operands of one type, as the caller sees them.
template <class In, class Out, class Tile, Fusion kFusion = Fusion::none>
using Of = Config<In, In, Out, Tile, kFusion>;

}  // namespace test
}  // namespace warpfold::kernels::gemm
