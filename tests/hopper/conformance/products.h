// WGMMA of every type: a tile of A (64, k) and B (N, k) two steps deep, written to shared memory element by
// element through its layout, multiplied through its descriptors, once without and once with accumulation.
//
// Values are small integers, so that sums are exact in every accumulator and the order of summation does not
// show; tf32 operands carry noise in the 13 bits that the instruction must ignore.
#pragma once

#include <type_traits>

#include "harness.h"

namespace conformance {
inline namespace WF_TARGET {

// Element value of an integer v in [-7, 7] (0 to 7 for uint8_t).
template <class T>
WF_ATOM T element_of(int v, uint32_t junk) {
  if constexpr (std::is_same_v<T, hp::bf16>) {
    return hp::to_bf16(float(v));
  } else if constexpr (std::is_same_v<T, hp::f16>) {
    return hp::to_f16(float(v));
  } else if constexpr (std::is_same_v<T, hp::tf32>) {
    const float f = float(v);
    uint32_t bits;
    memcpy(&bits, &f, 4);
    bits |= junk & 0x1FFF;
    float out;
    memcpy(&out, &bits, 4);
    return {out};
  } else if constexpr (std::is_same_v<T, hp::e4m3> || std::is_same_v<T, hp::e5m2>) {
    constexpr int mantissa = std::is_same_v<T, hp::e4m3> ? 3 : 2, bias = std::is_same_v<T, hp::e4m3> ? 7 : 15;
    if (v == 0) return {0};
    const int m = v < 0 ? -v : v;
    const int e = m >= 4 ? 2 : m >= 2 ? 1 : 0;
    return {uint8_t((v < 0 ? 0x80 : 0) | (e + bias) << mantissa | (m - (1 << e)) << (mantissa - e))};
  } else {
    return T(std::is_same_v<T, uint8_t> ? v + 7 + int(junk % 200) : v * 18);
  }
}
WF_ATOM int small_integer(uint32_t noise) { return int(noise % 15) - 7; }

template <class Operation, hp::SwizzleMode kSwizzle, bool kFromRegisters>
struct Product {
  using Op = Operation;
  static constexpr bool from_registers = kFromRegisters;
  static constexpr int span = int(warpfold::layout::hardware::span_bytes(kSwizzle));
  // Two steps of K, or as many as fill a span.
  static constexpr int k = (span > 64 ? span : 64) / int(sizeof(typename Op::A));
  using ATile = hp::TileShape<typename Op::A, 64, k, Op::major_a, kSwizzle>;
  using BTile = hp::TileShape<typename Op::B, Op::n, k, Op::major_b, kSwizzle>;
  static constexpr int b_offset = (ATile::bytes + 1023) / 1024 * 1024;
  static constexpr int shared_bytes = b_offset + BTile::bytes;
};

template <class Shape>
WF_ATOM void fill(hp::Tile<Shape> tile, uint64_t stream) {
  using T = typename Shape::Element;
  for (int i = hp::thread_id(); i < Shape::mn * Shape::k; i += 128) {
    const int mn = i / Shape::k, k = i % Shape::k;
    const uint32_t bits = noise(uint64_t(i), stream);
    const T value = element_of<T>(small_integer(bits), bits >> 8);
    hp::store_shared(Shape::major == hp::Major::k ? tile.element(mn, k) : tile.element(k, mn), value);
  }
}

template <class Case>
WF_KERNEL(128)
product_kernel(uint32_t* out) {  // (2, 128, N/2)
  using Op = typename Case::Op;
  const hp::Tile<typename Case::ATile> a{hp::dynamic_shared()};
  const hp::Tile<typename Case::BTile> b{hp::dynamic_shared() + Case::b_offset};
  fill(a, 1);
  fill(b, 2);
  hp::fence_async_shared();
  hp::block_sync();
  typename Op::Accumulator d[Op::accumulators];
  for (int i = 0; i < Op::accumulators; ++i) d[i] = typename Op::Accumulator(i % 5 - 2);
  for (int round = 0; round < 2; ++round) {
    uint32_t fragments[Case::k / Op::k][4];
    if constexpr (Case::from_registers) {
      WF_UNROLL
      for (int step = 0; step < Case::k / Op::k; ++step) {
        const int row = hp::thread_id() / 32 * 16 + hp::lane_id() % 16;
        hp::ldmatrix(fragments[step],
                     a.element(row, (step * 32 + hp::lane_id() / 16 * 16) / int(sizeof(typename Op::A))));
      }
    }
    hp::keep_in_registers(d);
    hp::wgmma_fence();
    WF_UNROLL
    for (int step = 0; step < Case::k / Op::k; ++step) {
      const uint64_t b_at = b.descriptor() + b.descriptor_step(0, step);
      if constexpr (Case::from_registers)
        hp::wgmma<Op>(d, fragments[step], b_at, round > 0 || step > 0);
      else
        hp::wgmma<Op>(d, a.descriptor() + a.descriptor_step(0, step), b_at, round > 0 || step > 0);
    }
    hp::wgmma_commit();
    hp::wgmma_wait<0>();
    hp::keep_in_registers(d);
    for (int i = 0; i < Op::accumulators; ++i) {
      uint32_t bits;
      memcpy(&bits, &d[i], 4);
      hp::store_global(out + (round * 128 + hp::thread_id()) * Op::accumulators + i,
                       bits == 0x80000000u && !Op::integers ? 0 : bits);
    }
  }
}

template <class Case>
Words run_product() {
  Buffer<uint32_t> out(2 * 128 * size_t(Case::Op::accumulators));
  require(hp::launch({.blocks = 1, .threads = 128, .shared_bytes = Case::shared_bytes}, product_kernel<Case>,
                     out.data()));
  return out.words();
}

template <class Op, hp::SwizzleMode kSwizzle = hp::SwizzleMode::b128, bool kFromRegisters = false>
void add(std::vector<Case>& list, const char* types) {
  static constexpr const char* swizzles[] = {"none", "32", "64", "128"};
  std::string name = "wgmma " + std::string(types) + " n" + std::to_string(Op::n) +
                     (kFromRegisters ? " rs" : " ss") + " swizzle " + swizzles[int(kSwizzle)];
  if (Op::major_a == hp::Major::mn) name += " A mn";
  if (Op::major_b == hp::Major::mn) name += " B mn";
  if (Op::sign_a == hp::Sign::minus) name += " -A";
  if (Op::sign_b == hp::Sign::minus) name += " -B";
  list.push_back({name, run_product<Product<Op, kSwizzle, kFromRegisters>>});
}

// Every N of types other than integers.
using EverySize = std::integer_sequence<int, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144,
                                        152, 160, 168, 176, 184, 192, 200, 208, 216, 224, 232, 240, 248, 256>;
template <class A, class B, bool kFromRegisters = false, int... kN>
void add_sizes(std::vector<Case>& list, const char* types, std::integer_sequence<int, kN...>) {
  (add<hp::Wgmma<A, B, kN>, hp::SwizzleMode::b128, kFromRegisters>(list, types), ...);
}
// Some N of A from registers, the smallest and large ones among them, legal for integers too.
template <class A, class B>
void add_from_registers(std::vector<Case>& list, const char* types) {
  add_sizes<A, B, true>(list, types, std::integer_sequence<int, 8, 24, 80, 144, 208>());
}
// A mix of two types of one kind: some N, A from shared memory and from registers.
template <class A, class B>
void add_mix(std::vector<Case>& list, const char* types) {
  add_sizes<A, B>(list, types, std::integer_sequence<int, 8, 24, 32, 80, 128, 176, 256>());
  add_sizes<A, B, true>(list, types, std::integer_sequence<int, 32>());
  add_from_registers<A, B>(list, types);
}
template <class A, class B>
void add_swizzles(std::vector<Case>& list, const char* types) {
  using hp::SwizzleMode;
  add<hp::Wgmma<A, B, 64>, SwizzleMode::none>(list, types);
  add<hp::Wgmma<A, B, 64>, SwizzleMode::b32>(list, types);
  add<hp::Wgmma<A, B, 64>, SwizzleMode::b64>(list, types);
  add<hp::Wgmma<A, B, 64>, SwizzleMode::b128, true>(list, types);
  add<hp::Wgmma<A, B, 256>, SwizzleMode::b64, true>(list, types);
}
// Majors of 16-bit operands under each swizzle.
template <class T, hp::SwizzleMode kSwizzle>
void add_majors(std::vector<Case>& list, const char* types) {
  using hp::Major;
  add<hp::Wgmma<T, T, 64, Major::mn, Major::k>, kSwizzle>(list, types);
  add<hp::Wgmma<T, T, 64, Major::k, Major::mn>, kSwizzle>(list, types);
  add<hp::Wgmma<T, T, 128, Major::mn, Major::mn>, kSwizzle>(list, types);
  add<hp::Wgmma<T, T, 64, Major::k, Major::mn>, kSwizzle, true>(list, types);
}
template <class T>
void add_signs(std::vector<Case>& list, const char* types) {
  using hp::Major;
  using hp::Sign;
  add<hp::Wgmma<T, T, 16, Major::k, Major::k, Sign::minus>>(list, types);
  add<hp::Wgmma<T, T, 16, Major::k, Major::k, Sign::plus, Sign::minus>>(list, types);
  add<hp::Wgmma<T, T, 16, Major::k, Major::k, Sign::minus, Sign::minus>, hp::SwizzleMode::b128, true>(list,
                                                                                                      types);
}

}  // namespace WF_TARGET
}  // namespace conformance
