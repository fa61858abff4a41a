// What all steps of the ladder share and none is about: the problem, the types' conversions, the check
// against a float64 product, timing, and main().
//
//   D (M, N) = A (M, K) B (N, K)^T,  A and B bf16 or tf32 (stored as fp32), sums in fp32, D bf16 or fp32
//
// K is contiguous in A and B, N in D. M, N and K are multiples of a step's tile, so that a kernel has no code
// for tails; whole_tiles() refuses other sizes. include/warpfold/kernels/gemm has the kernel that takes any.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "../ladder.h"
#include "warpfold/core/half.h"
#include "warpfold/hopper/tile.h"
#ifdef __CUDACC__
#include "warpfold/hopper/device/wgmma_bf16.h"
#include "warpfold/hopper/device/wgmma_tf32.h"
#endif

namespace ladder {

using namespace warpfold::hopper;
using warpfold::Status;

template <class InType, class OutType>
struct Problem {
  using In = InType;
  using Out = OutType;
  int m, n, k;
  const In* a;              // (M, K)
  const In* b;              // (N, K)
  Out* d;                   // (M, N)
  int multiprocessors = 1;  // of the device, for the step whose blocks stay
  void* stream = nullptr;   // a cudaStream_t
};

// Errors: a size that is not positive, or no multiple of the step's tile.
template <class In, class Out>
Status whole_tiles(const Problem<In, Out>& p, int tile_m, int tile_n, int tile_k) {
  const struct {
    const char* name;
    int size, tile;
  } modes[] = {{"M", p.m, tile_m}, {"N", p.n, tile_n}, {"K", p.k, tile_k}};
  for (const auto& x : modes)
    if (x.size <= 0 || x.size % x.tile != 0)
      return warpfold::fail(warpfold::ErrorCode::kInvalidArgument,
                            std::string(x.name) + " = " + std::to_string(x.size) +
                                " is no positive multiple of this step's " + std::to_string(x.tile));
  return {};
}

// ---- Numbers in kernels
template <class T>
WF_ATOM float number(T x) {
  if constexpr (std::is_same_v<T, tf32>)
    return x.value;
  else
    return to_float(x);
}

template <class Out>
WF_ATOM Out rounded(float x) {
  if constexpr (std::is_same_v<Out, float>)
    return x;
  else
    return to_bf16(x);
}

// Two neighbours of a row of D, rounded, in the 4 or 8 bytes that one store moves.
template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T x, y;
};
template <class Out>
WF_ATOM auto pair_of(float x, float y) {
  if constexpr (std::is_same_v<Out, float>)
    return Pair<float>{x, y};
  else
    return pack_bf16(x, y);
}
template <class Out>
WF_ATOM void store_pair(Out* at, float x, float y) {
  const auto pair = pair_of<Out>(x, y);
  store_global(reinterpret_cast<std::remove_const_t<decltype(pair)>*>(at), pair);
}

// Stores 64 rows of sums, complete and still in registers, to the rows of D (.., n) that begin at `corner`.
// Register i lies as far from the thread's first element as thread 0's register i from the corner.
template <class Out, int kRegisters>
WF_ATOM void store_rows(float (&sums)[kRegisters], Out* corner, int n) {
  keep_in_registers(sums);  // no instruction: the compiler may not read them before the wait
  const int t = thread_id() % 128;
  Out* first = corner + int64_t(accumulator_row(t, 0)) * n + accumulator_column(t, 0);
  WF_UNROLL
  for (int i = 0; i < kRegisters; i += 2)
    store_pair(first + int64_t(accumulator_row(0, i)) * n + accumulator_column(0, i), sums[i], sums[i + 1]);
}

// ---- Numbers on the host
template <class T>
T from_float(float x) {
  if constexpr (std::is_same_v<T, bf16>)
    return {warpfold::f32_to_bf16(x)};
  else
    return {x};
}
inline float host_float(bf16 x) { return warpfold::bf16_to_f32(x.bits); }
inline float host_float(tf32 x) { return x.value; }
inline float host_float(float x) { return x; }

// ---- The check. A and B are integers in [-4, 4]: every sum is exact in fp32, whatever its order, and tf32
// and bf16 hold the operands, so D must be the float64 product rounded once. Guards around D must stay as
// they are.
template <class In, class Out>
class Check {
 public:
  Check(int m, int n, int k, unsigned seed)
      : m_(m),
        n_(n),
        k_(k),
        a_(size_t(m) * size_t(k)),
        b_(size_t(n) * size_t(k)),
        d_(size_t(m) * size_t(n) + 2 * guard),
        want_(d_.host.size(), poison()) {
    std::mt19937 random(seed);
    for (auto* operand : {&a_, &b_}) {
      for (In& x : operand->host) x = from_float<In>(float(int(random() % 9) - 4));
      operand->upload();
    }
    std::vector<double> row(static_cast<size_t>(n));
    std::vector<double> b_columns(b_.host.size());  // (K, N)
    for (size_t j = 0; j < size_t(n); ++j)
      for (size_t x = 0; x < size_t(k); ++x)
        b_columns[x * size_t(n) + j] = double(host_float(b_.host[j * size_t(k) + x]));
    for (size_t i = 0; i < size_t(m); ++i) {
      std::fill(row.begin(), row.end(), 0.0);
      for (size_t x = 0; x < size_t(k); ++x)
        for (size_t j = 0; j < size_t(n); ++j)
          row[j] += double(host_float(a_.host[i * size_t(k) + x])) * b_columns[x * size_t(n) + j];
      for (size_t j = 0; j < size_t(n); ++j)
        want_[guard + i * size_t(n) + j] = from_float<Out>(float(row[j]));
    }
  }

  // What is wrong with gemm(problem), empty if nothing.
  template <class Gemm>
  std::string operator()(Gemm gemm, int multiprocessors) {
    std::fill(d_.host.begin(), d_.host.end(), poison());
    d_.upload();
    const Problem<In, Out> p{
        m_, n_, k_, a_.memory.get(), b_.memory.get(), d_.memory.get() + guard, multiprocessors, nullptr};
    if (const Status s = gemm(p); !s) return s.error().message;
    d_.download();
    if (const char* what = fault()) return what;
    for (size_t i = 0; i < want_.size(); ++i) {
      if (std::memcmp(&d_.host[i], &want_[i], sizeof(Out)) == 0) continue;
      const float got = host_float(d_.host[i]), want = host_float(want_[i]);
      if (got == 0 && want == 0) continue;  // the sign of zero
      if (i < guard || i >= guard + size_t(m_) * size_t(n_)) return "written outside D";
      return "D(" + std::to_string((i - guard) / size_t(n_)) + ", " +
             std::to_string((i - guard) % size_t(n_)) + ") is " + std::to_string(got) + " instead of " +
             std::to_string(want);
    }
    return "";
  }

 private:
  static constexpr size_t guard = 1024;
  static Out poison() { return from_float<Out>(std::numeric_limits<float>::quiet_NaN()); }
  int m_, n_, k_;
  Buffer<In> a_, b_;
  Buffer<Out> d_;
  std::vector<Out> want_;
};

template <class Config>
constexpr int cluster_of() {
  if constexpr (requires { Config::cluster; })
    return Config::cluster;
  else
    return 1;
}

// The sizes of a step's check, in tiles: one of everything; several tiles, and a K that ends within the first
// lap of a ring of stages; a K of several laps.
template <class Config, class Gemm>
bool check(const char* step, const char* types, Gemm gemm) {
  using In = typename Config::In;
  using Out = typename Config::Out;
  constexpr int cluster = cluster_of<Config>(), tile_m = Config::tile_m * cluster;
  if (gemm(Problem<In, Out>{tile_m + 1, Config::tile_n, Config::tile_k, nullptr, nullptr, nullptr}))
    return std::printf("%s, %s: M = %d was not refused\n", step, types, tile_m + 1), false;
  constexpr int sizes[][3] = {{1, 1, 1}, {2, 2, 2}, {3, 1, 3}, {1, 2, 11}};
  for (const auto& tiles : sizes) {
    const int m = tiles[0] * tile_m, n = tiles[1] * Config::tile_n, k = tiles[2] * Config::tile_k;
    Check<In, Out> checked(m, n, k, unsigned(m + n + k));
    for (int seed = 1; seed <= schedules(); ++seed) {
#ifndef __CUDACC__
      emulator::options().seed = uint64_t(seed);
#endif
      const std::string wrong = checked(gemm, (1 + seed % 3) * cluster);
      if (wrong.empty()) continue;
      std::printf("%s, %s, %d x %d x %d, seed %d: %s\n", step, types, m, n, k, seed, wrong.c_str());
      return false;
    }
  }
  std::printf("%s, %s: %d sizes under %d schedules are right\n", step, types, int(std::size(sizes)),
              schedules());
  return true;
}

#ifdef __CUDACC__
inline int device_multiprocessors() {
  int device = 0, count = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

// Prints TFLOPS of 4096^3 on normal data: the least of 10 runs, each after the one before.
// bench/kernels/ladder.py measures with more care.
template <class In, class Out, class Gemm>
bool print_time(const char* step, const char* types, Gemm gemm) {
  constexpr size_t size = 4096;
  Buffer<In> a(size * size), b(size * size);
  Buffer<Out> d(size * size);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (auto* operand : {&a, &b}) {
    for (In& x : operand->host) x = from_float<In>(normal(random));
    operand->upload();
  }
  const Problem<In, Out> p{
      size, size, size, a.memory.get(), b.memory.get(), d.memory.get(), device_multiprocessors(), nullptr};
  const float least = ladder::least_ms(step, [&] { return gemm(p); });
  if (least == 0) return false;
  std::printf("%s, %s, 4096 cubed: %.3f ms, %.1f TFLOPS\n", step, types, double(least),
              2e-9 * double(size) * double(size) * double(size) / double(least));
  return true;
}

// gemm on raw pointers; the C functions of libwarpfold_ladder.so. type 0: bf16 to bf16; 1: tf32 to fp32.
// Returns 0, or 1 with the reason in message.
template <class Gemm>
int run_c(Gemm gemm, int type, int m, int n, int k, const void* a, const void* b, void* d, void* stream,
          char* message, size_t message_bytes) {
  const auto run = [&]<class In, class Out>(In, Out) {
    return gemm(Problem<In, Out>{m, n, k, static_cast<const In*>(a), static_cast<const In*>(b),
                                 static_cast<Out*>(d), device_multiprocessors(), stream});
  };
  const Status s = type == 0   ? run(bf16{}, bf16{})
                   : type == 1 ? run(tf32{}, float{})
                               : warpfold::fail(warpfold::ErrorCode::kInvalidArgument, "type is 0 or 1");
  if (!s) std::snprintf(message, message_bytes, "%s", s.error().message.c_str());
  return s ? 0 : 1;
}
#endif

// What main() of a step does: the check and, on a GPU, the time. Config is the step's template of (In, Out).
template <template <class, class> class Config, class Gemm>
int run_step(const char* step, Gemm gemm) {
#ifdef __CUDACC__
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    return std::printf("%s: skipped, there is no GPU\n", step), 77;
#endif
  bool right =
      check<Config<bf16, bf16>>(step, "bf16", gemm) && check<Config<tf32, float>>(step, "tf32", gemm);
#ifdef __CUDACC__
  right = right && print_time<bf16, bf16>(step, "bf16", gemm) && print_time<tf32, float>(step, "tf32", gemm);
#else
  right = right && check<Config<bf16, float>>(step, "bf16 to fp32", gemm);
#endif
  return right ? 0 : 1;
}

}  // namespace ladder

// The last line of a step: its program, or its C function in libwarpfold_ladder.so.
#ifdef WARPFOLD_LADDER_LIBRARY
#define LADDER_STEP(number, Config, gemm)                                                                 \
  extern "C" int wf_ladder_##number(int type, int m, int n, int k, const void* a, const void* b, void* d, \
                                    void* stream, char* message, size_t message_bytes) {                  \
    return ladder::run_c([](const auto& p) { return gemm(p); }, type, m, n, k, a, b, d, stream, message,  \
                         message_bytes);                                                                  \
  }
#else
#define LADDER_STEP(number, Config, gemm)                                                    \
  int main() {                                                                               \
    return ladder::run_step<Config>("step " #number, [](const auto& p) { return gemm(p); }); \
  }
#endif
