// One block multiplies known matrices with WGMMA. The tiles are written through the layouts' own offsets, the
// descriptors are the ones the library computes, the result is read through the accumulator's thread-value
// layout (and A through its register fragment), and every element of the product must be exact: the operands
// are small integers, so all sums are exact in every accumulator.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "wgmma_ptx.h"

namespace device_check {

constexpr int max_matrix_steps = 16;

struct MatrixCase {
  std::string name;
  MatrixType type;
  hw::Major a_major, b_major;
  hw::SwizzleMode a_mode, b_mode;
  bool a_in_registers = false;
  int64_t shift = 0;  // both tiles start this many bytes after a multiple of 1024
};

// Where everything goes, tabulated on the host from the layouts: the kernel stays small enough to compile
// fast.
struct MatrixTables {
  const int* a_bytes;      // (M,K) column-major -> byte in shared memory
  const int* b_bytes;      // (N,K) column-major
  const int* accumulator;  // (value, thread) -> element of the 64 x 128 result
  const int* a_fragment;   // (value, thread) -> element of one step of A
};

struct MatrixArgs {
  MatrixTables tables;
  int steps, k, element_bytes;
  uint64_t a_bits[max_matrix_steps], b_bits[max_matrix_steps];  // for shared memory that starts at 0
};

__device__ inline void write_tile(uint8_t* shared, const int* bytes, int count, int element_bytes,
                                  const uint32_t* values) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
    for (int k = 0; k < element_bytes; ++k) shared[bytes[i] + k] = static_cast<uint8_t>(values[i] >> 8 * k);
}

// values: (rows, columns) column-major, one element a word. out: 64 x 128 column-major.
template <MatrixType T, int TransA, int TransB, bool ARegisters, class Acc>
__global__ void __launch_bounds__(128)
    matrix_kernel(const __grid_constant__ MatrixArgs args, const uint32_t* a_values, const uint32_t* b_values,
                  Acc* out) {
  extern __shared__ __align__(1024) uint8_t shared[];
  if (shared_address(shared) % 1024 != 0) __trap();
  write_tile(shared, args.tables.a_bytes, 64 * args.k, args.element_bytes, a_values);
  write_tile(shared, args.tables.b_bytes, matrix_n * args.k, args.element_bytes, b_values);
  fence_async_proxy();
  __syncthreads();

  const int t = static_cast<int>(threadIdx.x);
  const uint64_t base = shared_address(shared) >> 4;
  Acc d[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) d[i] = 0;
  constexpr int bytes = T == MatrixType::bf16 ? 2 : T == MatrixType::tf32 ? 4 : 1;
  constexpr int per_register = 4 / bytes, values = 4 * per_register, step_k = 32 / bytes;
#pragma unroll 1
  for (int step = 0; step < args.steps; ++step) {
    uint32_t a[4] = {};
    if constexpr (ARegisters) {
#pragma unroll
      for (int v = 0; v < values; ++v)
        a[v / per_register] |= a_values[args.tables.a_fragment[t * values + v] + 64 * step * step_k]
                               << (v % per_register * 8 * bytes);
    }
    pin(d);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    if constexpr (ARegisters)
      wgmma<T, TransB>(d, a, args.b_bits[step] + base, true);
    else
      wgmma<T, TransA, TransB>(d, args.a_bits[step] + base, args.b_bits[step] + base, true);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    pin(d);
  }
#pragma unroll
  for (int i = 0; i < 64; ++i) out[args.tables.accumulator[t * 64 + i]] = d[i];
}

inline std::vector<int> tile_bytes(const hw::SharedTile& tile, int64_t address) {
  std::vector<int> bytes;
  for (int64_t i = 0; i < tile.layout.size(); ++i) bytes.push_back(static_cast<int>(address + tile.byte(i)));
  return bytes;
}
inline std::vector<int> fragment_table(const wl::Layout& fragment) {
  std::vector<int> table;
  for (int64_t t = 0; t < fragment.mode(0).size(); ++t)
    for (int64_t v = 0; v < fragment.mode(1).size(); ++v) table.push_back(static_cast<int>(fragment(t, v)));
  return table;
}

inline int matrix_value(uint64_t i, int range) {
  const uint64_t z = (i + 1) * 0x9E3779B97F4A7C15ull;
  return static_cast<int>((z >> 40) % static_cast<uint64_t>(2 * range + 1)) - range;
}

// The bits of a small integer in the operand's type.
inline uint32_t encode(MatrixType type, int v) {
  const float f = static_cast<float>(v);
  uint32_t bits = 0;
  static_assert(sizeof bits == sizeof f);
  std::memcpy(&bits, &f, sizeof bits);
  switch (type) {
    case MatrixType::bf16:
      return bits >> 16;
    case MatrixType::s8:
      return static_cast<uint8_t>(v);
    case MatrixType::e4m3: {
      static constexpr uint8_t magnitude[] = {0x00, 0x38, 0x40, 0x44, 0x48};  // 0, 1, 2, 3, 4
      return magnitude[v < 0 ? -v : v] | (v < 0 ? 0x80u : 0u);
    }
    case MatrixType::tf32:
      return bits;
  }
  return 0;
}

inline int bytes_of(MatrixType type) {
  return type == MatrixType::bf16 ? 2 : type == MatrixType::tf32 ? 4 : 1;
}

template <MatrixType T, int TransA, int TransB, bool ARegisters = false>
void run_matrix(const MatrixCase& c) {
  using Acc = std::conditional_t<T == MatrixType::s8, int32_t, float>;
  const int bytes = bytes_of(T);
  // Two spans of K (K-major), so that a step crosses from one to the next; at least four steps.
  const int64_t widest = std::max(hw::span_bytes(c.a_mode), hw::span_bytes(c.b_mode));
  const int k = static_cast<int>(std::max<int64_t>(2 * widest, 128)) / bytes;
  const hw::SharedTile a_tile = value(hw::canonical_tile(c.a_major, c.a_mode, bytes, 64, k));
  const hw::SharedTile b_tile = value(hw::canonical_tile(c.b_major, c.b_mode, bytes, matrix_n, k));
  const int64_t a_address = c.shift, b_address = (c.shift + a_tile.bytes() + 1023) / 1024 * 1024 + c.shift;
  const hw::WgmmaOperand a = value(hw::wgmma_operand(a_tile, c.a_major, a_address));
  const hw::WgmmaOperand b = value(hw::wgmma_operand(b_tile, c.b_major, b_address));
  Buffer<int> a_bytes(tile_bytes(a_tile, a_address)), b_bytes(tile_bytes(b_tile, b_address));
  Buffer<int> accumulator(fragment_table(value(hw::accumulator_fragment(matrix_n))));
  Buffer<int> a_fragment(fragment_table(value(hw::a_fragment(bytes))));
  MatrixArgs args{};
  args.tables = {a_bytes.get(), b_bytes.get(), accumulator.get(), a_fragment.get()};
  args.k = k;
  args.element_bytes = bytes;
  args.steps = static_cast<int>(a.steps);
  if (args.steps > max_matrix_steps || a.steps != b.steps) throw std::runtime_error("steps");
  for (int s = 0; s < args.steps; ++s) {
    args.a_bits[s] = hw::descriptor_bits(a, a_tile, 0, s);
    args.b_bits[s] = hw::descriptor_bits(b, b_tile, 0, s);
  }

  const int range = T == MatrixType::e4m3 ? 2 : 4;
  std::vector<int> av, bv;
  std::vector<uint32_t> a_host, b_host;
  for (int i = 0; i < 64 * k; ++i) av.push_back(matrix_value(static_cast<uint64_t>(i), range));
  for (int i = 0; i < matrix_n * k; ++i) bv.push_back(matrix_value(static_cast<uint64_t>(i) + 77777, range));
  for (const int v : av) a_host.push_back(encode(T, v));
  for (const int v : bv) b_host.push_back(encode(T, v));
  Buffer<uint32_t> a_dev(a_host), b_dev(b_host);
  Buffer<Acc> out(64 * matrix_n);
  const int shared = static_cast<int>(b_address + b_tile.bytes() + 1024);
  CUDA(cudaFuncSetAttribute(matrix_kernel<T, TransA, TransB, ARegisters, Acc>,
                            cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  matrix_kernel<T, TransA, TransB, ARegisters, Acc>
      <<<1, 128, static_cast<std::size_t>(shared)>>>(args, a_dev.get(), b_dev.get(), out.get());
  finish_kernel("matrix_kernel");
  const std::vector<Acc> got = out.read();
  int wrong = 0, first = -1;
  double want_first = 0, got_first = 0;
  for (int n = 0; n < matrix_n; ++n)
    for (int m = 0; m < 64; ++m) {
      int want = 0;
      for (int x = 0; x < k; ++x)
        want += av[static_cast<std::size_t>(m + 64 * x)] * bv[static_cast<std::size_t>(n + matrix_n * x)];
      const double have = static_cast<double>(got[static_cast<std::size_t>(m + 64 * n)]);
      if (have == want) continue;
      if (wrong++ > 0) continue;
      first = m + 64 * n;
      want_first = want;
      got_first = have;
    }
  char bits[64];
  std::snprintf(bits, sizeof bits, "%016llx %016llx", static_cast<unsigned long long>(args.a_bits[0]),
                static_cast<unsigned long long>(args.b_bits[0]));
  Json j;
  j.field("case", c.name)
      .field("graded", true)
      .field("wrong", wrong)
      .field("elements", 64 * matrix_n)
      .field("k", k)
      .field("a", text(a_tile.layout))
      .field("b", text(b_tile.layout))
      .field("descriptors", bits)
      .field("a_lbo", static_cast<long long>(a.first.leading_bytes))
      .field("a_sbo", static_cast<long long>(a.first.stride_bytes))
      .field("b_lbo", static_cast<long long>(b.first.leading_bytes))
      .field("b_sbo", static_cast<long long>(b.first.stride_bytes))
      .field("base_offset", a.first.base_offset);
  if (wrong > 0) j.field("first_wrong", first).field("want", want_first).field("got", got_first);
  emit("matrices", j);
}

inline std::vector<MatrixCase> matrix_cases() {
  static constexpr const char* mode_name[] = {"none", "32B", "64B", "128B"};
  static constexpr const char* type_name[] = {"bf16", "s8", "e4m3", "tf32"};
  std::vector<MatrixCase> cases;
  const auto add = [&](MatrixType type, hw::Major a, hw::Major b, int am, int bm, bool registers,
                       int64_t shift) {
    std::string name = std::string(type_name[static_cast<int>(type)]) + " A " +
                       (a == hw::Major::k ? "K" : "M") + "-major " + mode_name[am] +
                       (registers ? " in registers" : "") + ", B " + (b == hw::Major::k ? "K" : "N") +
                       "-major " + mode_name[bm];
    if (shift != 0) name += ", tiles " + std::to_string(shift) + " bytes past 1024";
    cases.push_back({name, type, a, b, static_cast<hw::SwizzleMode>(am), static_cast<hw::SwizzleMode>(bm),
                     registers, shift});
  };
  using M = hw::Major;
  for (int m = 0; m < 4; ++m)
    for (const M a : {M::k, M::mn})
      for (const M b : {M::k, M::mn}) add(MatrixType::bf16, a, b, m, m, false, 0);
  add(MatrixType::bf16, M::k, M::mn, 3, 1, false, 0);
  add(MatrixType::bf16, M::mn, M::k, 0, 2, false, 0);
  for (const MatrixType type : {MatrixType::s8, MatrixType::e4m3, MatrixType::tf32})
    for (int m = 0; m < 4; ++m) add(type, M::k, M::k, m, m, false, 0);
  for (const MatrixType type : {MatrixType::bf16, MatrixType::s8, MatrixType::e4m3, MatrixType::tf32})
    add(type, M::k, M::k, 3, 3, true, 0);
  // The pattern starts in the middle of a 1024-byte period: the base offset.
  for (const int64_t shift : {128, 384, 512})
    for (int m = 1; m < 4; ++m) add(MatrixType::bf16, M::k, M::k, m, m, false, shift);
  return cases;
}

inline void run_matrix_case(const MatrixCase& c) {
  if (c.a_in_registers) {
    switch (c.type) {
      case MatrixType::bf16:
        return run_matrix<MatrixType::bf16, 0, 0, true>(c);
      case MatrixType::s8:
        return run_matrix<MatrixType::s8, 0, 0, true>(c);
      case MatrixType::e4m3:
        return run_matrix<MatrixType::e4m3, 0, 0, true>(c);
      case MatrixType::tf32:
        return run_matrix<MatrixType::tf32, 0, 0, true>(c);
    }
  }
  const bool ta = c.a_major == hw::Major::mn, tb = c.b_major == hw::Major::mn;
  switch (c.type) {
    case MatrixType::bf16:
      if (ta && tb)
        run_matrix<MatrixType::bf16, 1, 1>(c);
      else if (ta)
        run_matrix<MatrixType::bf16, 1, 0>(c);
      else if (tb)
        run_matrix<MatrixType::bf16, 0, 1>(c);
      else
        run_matrix<MatrixType::bf16, 0, 0>(c);
      break;
    case MatrixType::s8:
      run_matrix<MatrixType::s8, 0, 0>(c);
      break;
    case MatrixType::e4m3:
      run_matrix<MatrixType::e4m3, 0, 0>(c);
      break;
    case MatrixType::tf32:
      run_matrix<MatrixType::tf32, 0, 0>(c);
      break;
  }
}

// ---- ldmatrix and stmatrix: the registers against matrix_fragment

template <int Matrices, bool Trans>
__global__ void fragment_kernel(uint32_t* loaded, uint16_t* stored, const int* fragment) {
  __shared__ __align__(128) uint16_t tile[4 * 64];
  const int lane = static_cast<int>(threadIdx.x);
  // Element (row, column) of matrix j holds its index row + 8 column + 64 j; a row is 16 bytes.
  for (int i = lane; i < 64 * Matrices; i += 32) {
    const int column = i % 8, row = i / 8 % 8, j = i / 64;
    tile[i] = static_cast<uint16_t>(row + 8 * column + 64 * j);
  }
  __syncwarp();
  uint32_t r[4] = {};
  const int rows = 8 * Matrices;
  ldmatrix<Matrices, Trans>(shared_address(&tile[lane % rows * 8]), r);
  for (int j = 0; j < Matrices; ++j) loaded[lane * 4 + j] = r[j];
  __syncwarp();
  for (int i = lane; i < 64 * 4; i += 32) tile[i] = 0xFFFF;
  __syncwarp();
  for (int j = 0; j < Matrices; ++j)
    r[j] = static_cast<uint32_t>(fragment[lane * 2 * Matrices + 2 * j]) |
           static_cast<uint32_t>(fragment[lane * 2 * Matrices + 2 * j + 1]) << 16;
  stmatrix<Matrices, Trans>(shared_address(&tile[lane % rows * 8]), r);
  __syncwarp();
  for (int i = lane; i < 64 * Matrices; i += 32) stored[i] = tile[i];
}

template <int Matrices, bool Trans>
void run_fragment() {
  const wl::Layout fragment = value(hw::matrix_fragment(Matrices, Trans));
  Buffer<int> table(fragment_table(fragment));
  Buffer<uint32_t> loaded(128);
  Buffer<uint16_t> stored(256);
  fragment_kernel<Matrices, Trans><<<1, 32>>>(loaded.get(), stored.get(), table.get());
  finish_kernel("fragment_kernel");
  const auto l = loaded.read();
  const auto s = stored.read();
  int wrong_load = 0, wrong_store = 0;
  for (int lane = 0; lane < 32; ++lane)
    for (int v = 0; v < 2 * Matrices; ++v) {
      const uint32_t got = l[static_cast<std::size_t>(lane * 4 + v / 2)] >> (v % 2 * 16) & 0xFFFF;
      wrong_load += got != static_cast<uint32_t>(fragment(lane, v)) ? 1 : 0;
    }
  for (int i = 0; i < 64 * Matrices; ++i)
    wrong_store += s[static_cast<std::size_t>(i)] != i / 8 % 8 + 8 * (i % 8) + 64 * (i / 64) ? 1 : 0;
  emit("fragments", Json()
                        .field("case", "x" + std::to_string(Matrices) + (Trans ? ".trans" : ""))
                        .field("graded", true)
                        .field("layout", text(fragment))
                        .field("wrong", wrong_load + wrong_store)
                        .field("wrong_ldmatrix", wrong_load)
                        .field("wrong_stmatrix", wrong_store));
}

inline void run_fragments() {
  run_fragment<1, false>();
  run_fragment<2, false>();
  run_fragment<4, false>();
  run_fragment<1, true>();
  run_fragment<2, true>();
  run_fragment<4, true>();
}

}  // namespace device_check
