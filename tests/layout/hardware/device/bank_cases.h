// Shared-memory access patterns with a predicted number of wavefronts, and the cycles that the chip takes for
// them.
//
// 16 warps of one block issue the same pattern over and over, so that the shared-memory pipe and nothing else
// is the limit; cycles per access = (last end - first start) / accesses. The addresses move by multiples of
// 128 bytes from access to access, which leaves the banks alone and keeps the compiler from merging loads.
// The byte offsets of the lanes are part of the output: a record can be judged again when the prediction
// changes.
#pragma once

#include <algorithm>

#include "support.h"

namespace device_check {

enum class Direction { load, store };

struct BankCase {
  std::string name;
  hw::SharedAccess access;
  Direction direction;
  std::vector<int64_t> offsets;  // 32
  bool graded = true;            // false: an observation, no prediction is claimed
};

constexpr int bank_warps = 16, bank_rounds = 32, bank_unroll = 16, bank_step = 1024;
constexpr int bank_shared_bytes = 16384 + bank_unroll * bank_step + 8 * 128;

template <hw::SharedAccess A, Direction D>
__device__ __forceinline__ void access_once(uint32_t address, uint32_t& sink) {
  uint32_t r[4] = {sink, sink, sink, sink};
  constexpr int words = A == hw::SharedAccess::b32 ? 1 : A == hw::SharedAccess::b64 ? 2 : 4;
  if constexpr (D == Direction::load) {
    if constexpr (A == hw::SharedAccess::b32)
      asm volatile("ld.shared.u32 %0, [%1];" : "=r"(r[0]) : "r"(address) : "memory");
    else if constexpr (A == hw::SharedAccess::b64)
      asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(address) : "memory");
    else if constexpr (A == hw::SharedAccess::b128)
      asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                   : "r"(address)
                   : "memory");
    else if constexpr (A == hw::SharedAccess::matrix_x1)
      ldmatrix<1, false>(address, r);
    else if constexpr (A == hw::SharedAccess::matrix_x2)
      ldmatrix<2, false>(address, r);
    else
      ldmatrix<4, false>(address, r);
    constexpr int got = A == hw::SharedAccess::matrix_x1 ? 1 : A == hw::SharedAccess::matrix_x2 ? 2 : words;
#pragma unroll
    for (int i = 0; i < got; ++i) sink ^= r[i];
  } else {
    if constexpr (A == hw::SharedAccess::b32)
      asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(r[0]) : "memory");
    else if constexpr (A == hw::SharedAccess::b64)
      asm volatile("st.shared.v2.u32 [%0], {%1,%2};" ::"r"(address), "r"(r[0]), "r"(r[1]) : "memory");
    else if constexpr (A == hw::SharedAccess::b128)
      asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(r[0]), "r"(r[1]), "r"(r[2]),
                   "r"(r[3])
                   : "memory");
    else if constexpr (A == hw::SharedAccess::matrix_x1)
      stmatrix<1, false>(address, r);
    else if constexpr (A == hw::SharedAccess::matrix_x2)
      stmatrix<2, false>(address, r);
    else
      stmatrix<4, false>(address, r);
  }
}

template <hw::SharedAccess A, Direction D>
__global__ void __launch_bounds__(32 * bank_warps)
    bank_kernel(const uint32_t* offsets, long long* clocks, uint32_t* out) {
  extern __shared__ __align__(1024) uint8_t shared[];
  for (int i = static_cast<int>(threadIdx.x); i < bank_shared_bytes / 4; i += static_cast<int>(blockDim.x))
    reinterpret_cast<uint32_t*>(shared)[i] = 0;
  const uint32_t address = shared_address(shared) + offsets[threadIdx.x % 32];
  uint32_t sink = 0;
  long long start = 0, end = 0;
  for (int pass = 0; pass < 2; ++pass) {  // the first pass warms the instruction cache
    __syncthreads();
    start = clock64();
#pragma unroll 1
    for (int round = 0; round < bank_rounds; ++round) {
      const uint32_t here = address + static_cast<uint32_t>(round % 8 * 128);
#pragma unroll
      for (int i = 0; i < bank_unroll; ++i)
        access_once<A, D>(here + static_cast<uint32_t>(i * bank_step), sink);
    }
    // The loads are in flight until their values are used.
    if (sink == 0x12345678u) out[threadIdx.x] = sink;
    end = clock64();
  }
  if (threadIdx.x % 32 == 0) {
    clocks[threadIdx.x / 32 * 2] = start;
    clocks[threadIdx.x / 32 * 2 + 1] = end;
  }
}

template <hw::SharedAccess A, Direction D>
double cycles_of(const BankCase& c) {
  std::vector<uint32_t> host;
  for (const int64_t o : c.offsets) host.push_back(static_cast<uint32_t>(o));
  Buffer<uint32_t> offsets(host), out(32 * bank_warps);
  Buffer<long long> clocks(2 * bank_warps);
  CUDA(cudaFuncSetAttribute(bank_kernel<A, D>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                            bank_shared_bytes));
  double best = 1e30;
  for (int repeat = 0; repeat < 9; ++repeat) {
    bank_kernel<A, D><<<1, 32 * bank_warps, bank_shared_bytes>>>(offsets.get(), clocks.get(), out.get());
    finish_kernel("bank_kernel");
    const std::vector<long long> t = clocks.read();
    long long first = t[0], last = t[1];
    for (int w = 0; w < bank_warps; ++w) {
      first = std::min(first, t[2 * w]);
      last = std::max(last, t[2 * w + 1]);
    }
    best = std::min(best, double(last - first) / (bank_warps * bank_rounds * bank_unroll));
  }
  return best;
}

inline double measure(const BankCase& c) {
  const bool load = c.direction == Direction::load;
  switch (c.access) {
#define ACCESS(a)                                                    \
  case hw::SharedAccess::a:                                          \
    return load ? cycles_of<hw::SharedAccess::a, Direction::load>(c) \
                : cycles_of<hw::SharedAccess::a, Direction::store>(c);
    ACCESS(b32)
    ACCESS(b64)
    ACCESS(b128)
    ACCESS(matrix_x1)
    ACCESS(matrix_x2)
    ACCESS(matrix_x4)
#undef ACCESS
  }
  return 0;
}

inline std::vector<BankCase> bank_cases() {
  using A = hw::SharedAccess;
  std::vector<BankCase> cases;
  const auto add = [&](const std::string& name, A access, auto&& byte_of_lane, bool graded = true) {
    BankCase c{name, access, Direction::load, {}, graded};
    for (int lane = 0; lane < 32; ++lane) c.offsets.push_back(byte_of_lane(lane));
    cases.push_back(c);
    c.direction = Direction::store;
    cases.push_back(c);
  };
  // A tile of 16-bit elements, lane -> element offset, swizzled as the hardware does.
  const auto add_tile = [&](const std::string& name, A access, const char* lanes, hw::SwizzleMode mode) {
    const hw::LaneBytes bytes{layout(lanes), hw::swizzle_of(mode), 2};
    add(name, access, [&](int lane) { return bytes(lane); });
  };
  for (const int stride : {1, 2, 3, 4, 8, 16, 32, 33})
    add("stride " + std::to_string(stride) + " words", A::b32,
        [&](int lane) { return int64_t{4} * stride * lane; });
  add("one word", A::b32, [](int) { return int64_t{64}; });
  for (const int stride : {1, 2, 4, 8, 16})
    add("stride " + std::to_string(8 * stride) + " bytes", A::b64,
        [&](int lane) { return int64_t{8} * stride * lane; });
  for (const int stride : {1, 2, 3, 4, 8, 9})
    add("stride " + std::to_string(16 * stride) + " bytes", A::b128,
        [&](int lane) { return int64_t{16} * stride * lane; });
  add_tile("8 rows of 128 bytes, Sw<3,4,3>", A::b128, "(8,4):(64,8)", hw::SwizzleMode::b128);
  add_tile("8 rows of 64 bytes, Sw<2,4,3>", A::b128, "(8,4):(32,8)", hw::SwizzleMode::b64);
  add_tile("8 rows of 64 bytes, none", A::b128, "(8,4):(32,8)", hw::SwizzleMode::none);
  for (const A a : {A::matrix_x1, A::matrix_x2, A::matrix_x4}) {
    const int lanes = hw::shape_of(a).lanes;
    for (const int stride : {1, 2, 4, 8, 9})
      add("rows " + std::to_string(16 * stride) + " bytes apart", a,
          [&](int lane) { return int64_t{16} * stride * (lane % lanes); });
    if (a != A::matrix_x4) continue;
    add_tile("16x16 of rows of 128 bytes, Sw<3,4,3>", a, "(16,2):(64,8)", hw::SwizzleMode::b128);
    add_tile("16x16 of rows of 64 bytes, Sw<2,4,3>", a, "(16,2):(32,8)", hw::SwizzleMode::b64);
    add_tile("16x16 of rows of 32 bytes, Sw<1,4,3>", a, "(16,2):(16,8)", hw::SwizzleMode::b32);
    add_tile("16x16 of rows of 32 bytes, none", a, "(16,2):(16,8)", hw::SwizzleMode::none);
  }
  uint64_t state = 2026;
  const auto random = [&state](int64_t below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(below));
  };
  for (int i = 0; i < 6; ++i) {
    // Few different rows of banks, so that degrees differ between the cases.
    const int64_t words = int64_t{64} << (i % 3 * 2);
    add("random words " + std::to_string(i), A::b32, [&](int) { return 4 * random(words); });
    add("random 8 bytes " + std::to_string(i), A::b64, [&](int) { return 8 * random(words); });
    add("random 16 bytes " + std::to_string(i), A::b128, [&](int) { return 16 * random(words); });
    add("random rows " + std::to_string(i), A::matrix_x4, [&](int) { return 16 * random(words); });
  }
  // Lanes that share words across phases: whether the chip then merges phases is not part of the model.
  add(
      "all lanes one address", A::b64, [](int) { return int64_t{64}; }, false);
  add(
      "all lanes one address", A::b128, [](int) { return int64_t{64}; }, false);
  add(
      "pairs of lanes share", A::b64, [](int lane) { return int64_t{8} * (lane / 2); }, false);
  add(
      "pairs of lanes share", A::b128, [](int lane) { return int64_t{16} * (lane / 2); }, false);
  add(
      "halves share", A::b64, [](int lane) { return int64_t{8} * (lane % 16); }, false);
  add(
      "quarters share", A::b128, [](int lane) { return int64_t{16} * (lane % 8); }, false);
  add(
      "all rows one address", A::matrix_x4, [](int) { return int64_t{64}; }, false);
  return cases;
}

inline void run_bank_cases() {
  for (const BankCase& c : bank_cases()) {
    const hw::BankReport report =
        value(hw::bank_conflicts(c.access, [&](int lane) { return c.offsets[lane]; }));
    const bool load = c.direction == Direction::load;
    emit("banks", Json()
                      .field("pattern", c.name)
                      .field("access", std::string(hw::name_of(c.access)))
                      .field("direction", load ? "load" : "store")
                      .field("graded", c.graded)
                      .field("predicted_wavefronts", report.total)
                      .field("ideal_wavefronts", report.ideal)
                      .field("degree", report.degree)
                      .field("cycles_per_access", measure(c))
                      .list("offsets", c.offsets));
  }
}

}  // namespace device_check
