// Types and pure arithmetic that kernels share on both back ends.
//
// Shared memory is addressed by 32-bit shared addresses, as the instructions do: a kernel never holds a
// pointer into it.
#pragma once

#include <cstdint>
#include <span>

#include "warpfold/layout/hardware/tile.h"

namespace warpfold::hopper {

using layout::hardware::SwizzleMode;

// ---- Elements, as bit patterns: the same 16 or 8 bits on both back ends.
struct bf16 {
  uint16_t bits;
};
struct f16 {
  uint16_t bits;
};
struct tf32 {  // an fp32 of which WGMMA reads the upper 19 bits
  float value;
};
struct e4m3 {
  uint8_t bits;
};
struct e5m2 {
  uint8_t bits;
};

// ---- WGMMA: what a kernel multiplies. Accumulators are fp32, or int32 for integers.
enum class Major : uint8_t { k, mn };
enum class Sign : int8_t { plus = 1, minus = -1 };

template <class T>
inline constexpr bool is_integer_operand = false;
template <>
inline constexpr bool is_integer_operand<int8_t> = true;
template <>
inline constexpr bool is_integer_operand<uint8_t> = true;

template <bool kIntegers>
struct AccumulatorOf {
  using type = float;
};
template <>
struct AccumulatorOf<true> {
  using type = int32_t;
};

// One instruction m64nNk(32 bytes): D (64, N) = D * accumulate + sign_a A (64, K) * sign_b B (N, K)^T.
// A and B may differ in type only among {e4m3, e5m2} and among {int8_t, uint8_t}.
template <class TypeA, class TypeB, int kN, Major kMajorA = Major::k, Major kMajorB = Major::k,
          Sign kSignA = Sign::plus, Sign kSignB = Sign::plus>
struct Wgmma {
  using A = TypeA;
  using B = TypeB;
  static constexpr bool integers = is_integer_operand<A>;
  using Accumulator = typename AccumulatorOf<integers>::type;
  static constexpr int n = kN;
  static constexpr int k = 32 / int(sizeof(A));
  static constexpr Major major_a = kMajorA, major_b = kMajorB;
  static constexpr Sign sign_a = kSignA, sign_b = kSignB;
  static constexpr int accumulators = kN / 2;  // 32-bit registers of a thread

  static_assert(sizeof(A) == sizeof(B), "WGMMA: A and B have elements of one width");
  static_assert(kN >= 8 && kN <= 256 && kN % 8 == 0, "WGMMA: N is a multiple of 8 from 8 to 256");
  static_assert(!integers || kN <= 24 || kN % 16 == 0,
                "WGMMA of integers: N is 8, 16, 24 or a multiple of 16");
  static_assert(sizeof(A) == 2 || (kMajorA == Major::k && kMajorB == Major::k),
                "WGMMA: only 16-bit operands may be MN-major");
  static_assert(!integers || (kSignA == Sign::plus && kSignB == Sign::plus),
                "WGMMA of integers: operands cannot be negated");
};

// Element (row, column) of the m64nN tile held in accumulator register i of thread t of a warpgroup.
constexpr int accumulator_row(int t, int i) { return t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8; }
constexpr int accumulator_column(int t, int i) { return i / 4 * 8 + t % 4 * 2 + i % 2; }

// ---- Barriers. `address` is the shared address of 8 bytes.
struct Barrier {
  uint32_t address;
};

// What an arrival publishes: relaxed orders the reads that a thread has finished, not its writes.
enum class Order : uint8_t { relaxed, release };

// How long L2 should keep what a TMA operation touches.
enum class CacheHint : uint8_t { none, evict_normal, evict_first, evict_last };

// Memory that a kernel may touch.
struct GlobalBuffer {
  const void* data = nullptr;
  int64_t bytes = 0;
  const char* name = "";
  bool constant = false;  // nothing before on the stream writes it: may be read ahead of grid_dependency_wait()
};

// Shape of a launch; every block has `threads` threads and `shared_bytes` of dynamic shared memory.
struct Launch {
  int blocks = 1;
  int threads = 128;
  int shared_bytes = 0;
  int cluster = 1;                // blocks of a cluster; divides `blocks`
  void* stream = nullptr;         // a cudaStream_t
  bool overlap_previous = false;  // programmatic dependent launch: the kernel calls grid_dependency_wait()
  // All that the kernel may touch, for the emulator: it reports an access outside, by name. Empty: not
  // checked.
  std::span<const GlobalBuffer> buffers = {};
};

}  // namespace warpfold::hopper
