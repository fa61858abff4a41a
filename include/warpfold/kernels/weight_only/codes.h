// Packed codes in registers as operand A of bf16 products.
//
//   integers  code - zero: integers of at most 8 bits, exact in bf16
//   weights   scale * (code - zero), or scale * code + minimum, rounded once to bf16
//
// A code is put into the mantissa of a float whose last bits count ones, which is 2^e + code, and the rest is taken off
// by exact arithmetic. 4 bits are put into both halves of a word as bf16 128 + code, less 128 + zero. Where a product is
// rounded it is rounded from fp32: e is 7, 11 or 15 for the nibbles at bits 16, 12 and 8, so that three nibbles need no
// shift, and 15 for a byte at bit 8. (2^e + zero) * scale has at most 24 bits there, the product inside the fma is exact,
// and their difference, scale * (code - zero), has at most 19: one rounding, to bf16.
#pragma once

#include <bit>
#include <cmath>

#include "warpfold/hopper/hopper.h"
#include "warpfold/kernels/weight_only/packed.h"

namespace warpfold::kernels::weight_only {
inline namespace WF_TARGET {

// What a thread reads of a chunk.
template <DType kWeights>
struct ChunkRegisters {
  static constexpr int words = chunk_k / 16 * 8 * code_bits(kWeights) / 32;
  uint32_t codes[words];
  uint32_t scales[2];  // of rows r and r + 8: fp16 of blocks 0 and 1
  uint32_t minima[2];
};

struct alignas(16) Words4 {
  uint32_t word[4];
};
struct alignas(8) Words2 {
  uint32_t word[2];
};

// Thread `thread` of warpgroup `half` reads its part of the chunk at shared address `chunk`.
template <DType kWeights>
WF_ATOM void load_chunk(ChunkRegisters<kWeights>& to, uint32_t chunk, int half, int thread) {
  WF_UNROLL
  for (int unit = 0; unit < thread_units(kWeights); ++unit) {
    const auto words = hopper::load_shared<Words4>(chunk + uint32_t(unit_place(kWeights, half, thread, unit)));
    WF_UNROLL
    for (int i = 0; i < 4; ++i) to.codes[unit * 4 + i] = words.word[i];
  }
  const uint32_t pair = chunk + uint32_t(code_bytes(kWeights) + pair_place(half, thread));
  const auto scales = hopper::load_shared<Words2>(pair);
  WF_UNROLL
  for (int i = 0; i < 2; ++i) to.scales[i] = scales.word[i];
  if constexpr (has_minimum(kWeights)) {
    const auto minima = hopper::load_shared<Words2>(pair + scale_bytes);
    WF_UNROLL
    for (int i = 0; i < 2; ++i) to.minima[i] = minima.word[i];
  }
}

// Number `block` of a pair of fp16.
WF_ATOM float half_of(uint32_t pair, int block) {
  return hopper::to_float(hopper::f16{uint16_t(pair >> 16 * block)});
}

// Operand A of the two instructions of a block of 32.
using Fragments = uint32_t[2][4];

// 32768 + the byte number `i` of the word.
WF_ATOM float byte_float(uint32_t word, int i) {
  return std::bit_cast<float>(hopper::byte_permute(word, 0x47000000, 0x7404u | uint32_t(i) << 4));
}

template <DType kWeights>
WF_ATOM void integers(Fragments& a, const ChunkRegisters<kWeights>& chunk, int block) {
  WF_UNROLL
  for (int s = 0; s < 2; ++s) WF_UNROLL
  for (int r = 0; r < 4; ++r) {
    const int step = 2 * block + s;
    if constexpr (code_bits(kWeights) == 4) {
      constexpr uint32_t base = 0xC300u + zero_of(kWeights);  // -(128 + zero) in bf16
      const uint32_t codes = hopper::select_bits(chunk.codes[step] >> 4 * r, 0x000F000F, 0x43004300);
      a[s][r] = hopper::add_bf16x2(codes, base << 16 | base);
    } else {
      constexpr float base = 32768 + zero_of(kWeights);
      const uint32_t word = chunk.codes[2 * step + r / 2];
      a[s][r] = hopper::pack_bf16(byte_float(word, r % 2 * 2) - base, byte_float(word, r % 2 * 2 + 1) - base);
    }
  }
}

// Nibble `i` of a word as 2^e + code.
constexpr int nibble_exponent(int i) { return i == 4 || i == 7 ? 7 : i == 1 || i == 3 || i == 6 ? 11 : 15; }
WF_ATOM float nibble_float(uint32_t word, int i) {
  const int e = nibble_exponent(i);
  const uint32_t moved = i < 2 ? word << 8 : i < 5 ? word : word >> 12;
  return std::bit_cast<float>(hopper::select_bits(moved, 0xFu << (23 - e), uint32_t(127 + e) << 23));
}

template <DType kWeights>
WF_ATOM void weights(Fragments& a, const ChunkRegisters<kWeights>& chunk, int block) {
  float scale[2], minimum[2], offset[2][3];  // offset[.][j]: -scale * (2^(7 + 4 j) + zero)
  WF_UNROLL
  for (int half = 0; half < 2; ++half) {
    scale[half] = half_of(chunk.scales[half], block);
    if constexpr (has_minimum(kWeights)) minimum[half] = half_of(chunk.minima[half], block);
    WF_UNROLL
    for (int j = 0; j < 3; ++j) offset[half][j] = -scale[half] * float((128 << 4 * j) + zero_of(kWeights));
  }
  const auto weight = [&](float code, int half, int e) {
    // With a minimum the offset would be rounded where it is added.
    if constexpr (has_minimum(kWeights)) return fmaf(code - float(1 << e), scale[half], minimum[half]);
    return fmaf(code, scale[half], offset[half][(e - 7) / 4]);
  };
  WF_UNROLL
  for (int s = 0; s < 2; ++s) WF_UNROLL
  for (int r = 0; r < 4; ++r) {
    const int step = 2 * block + s, half = r % 2;
    float low, high;
    if constexpr (code_bits(kWeights) == 4) {
      const uint32_t word = chunk.codes[step];
      low = weight(nibble_float(word, r), half, nibble_exponent(r));
      high = weight(nibble_float(word, r + 4), half, nibble_exponent(r + 4));
    } else {
      const uint32_t word = chunk.codes[2 * step + r / 2];
      low = weight(byte_float(word, r % 2 * 2), half, 15);
      high = weight(byte_float(word, r % 2 * 2 + 1), half, 15);
    }
    a[s][r] = hopper::pack_bf16(low, high);
  }
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::weight_only
