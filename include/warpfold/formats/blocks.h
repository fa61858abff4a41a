// Block-quantised types: their byte layouts, and the scalar conversion to fp32 that defines their values.
//
// A row is a run of blocks; a block holds 32 or 256 consecutive elements. All fields are little-endian; d, m
// and dmin are fp16 bit patterns. The layouts are ggml's (ggml-common.h); GGUF files store them as they are.
// Below, x[i] is element i of a block, lo(b) and hi(b) are the lower and upper four bits of byte b, and
// b[j, k) are its bits j to k - 1, shifted down.
//
// Products of scales and codes have at most 23 significant bits, so they are exact in fp32; x[i] is rounded
// once where a minimum is added, and exact elsewhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "warpfold/core/dtype.h"
#include "warpfold/core/error.h"

namespace warpfold::formats {

// Blocks of 32. Codes come in halves: nibble(i), 0 to 15, is the lower nibble of codes[i] for i < 16, and the
// upper one of codes[i - 16] from there on. fifth(i) is bit i of high_bits read as a 32-bit number.

struct BlockQ4_0 {  // x[i] = d * (nibble(i) - 8)
  std::uint16_t d;
  std::array<std::uint8_t, 16> codes;
};

struct BlockQ4_1 {  // x[i] = d * nibble(i) + m
  std::uint16_t d;
  std::uint16_t m;
  std::array<std::uint8_t, 16> codes;
};

struct BlockQ5_0 {  // x[i] = d * (nibble(i) + 16 * fifth(i) - 16)
  std::uint16_t d;
  std::array<std::uint8_t, 4> high_bits;
  std::array<std::uint8_t, 16> codes;
};

struct BlockQ5_1 {  // x[i] = d * (nibble(i) + 16 * fifth(i)) + m
  std::uint16_t d;
  std::uint16_t m;
  std::array<std::uint8_t, 4> high_bits;
  std::array<std::uint8_t, 16> codes;
};

struct BlockQ8_0 {  // x[i] = d * codes[i]
  std::uint16_t d;
  std::array<std::int8_t, 32> codes;
};

// Blocks of 256 ("K-quants").
//
// Q4_K and Q5_K have 8 groups of 32, group g = i / 32, each with a 6-bit scale s(g) and minimum n(g):
//   g < 4:  s(g) = scales[g][0, 6)
//           n(g) = scales[g + 4][0, 6)
//   g >= 4: s(g) = lo(scales[g + 4]) + 16 * scales[g - 4][6, 8)
//           n(g) = hi(scales[g + 4]) + 16 * scales[g][6, 8)
// Codes of two groups share 32 bytes: with l = i % 32, byte codes[32 * (g / 2) + l] holds the code's four
// lower bits, in its lower nibble for even g and in its upper nibble for odd g.

struct BlockQ4_K {  // x[i] = d * s(g) * code - dmin * n(g)
  std::uint16_t d;
  std::uint16_t dmin;
  std::array<std::uint8_t, 12> scales;
  std::array<std::uint8_t, 128> codes;
};

struct BlockQ5_K {  // as Q4_K, with 16 added to the code where bit g of high_bits[l] is set
  std::uint16_t d;
  std::uint16_t dmin;
  std::array<std::uint8_t, 12> scales;
  std::array<std::uint8_t, 32> high_bits;
  std::array<std::uint8_t, 128> codes;
};

// Q6_K has 16 groups of 16, each with a signed 8-bit scale. With h = i / 128, q = i % 128 / 32, l = i % 32:
//   x[i] = d * scales[i / 16] * (low + 16 * high - 32)
//   low  = the nibble of low_bits[64 * h + 32 * (q % 2) + l], lower for q < 2, else upper
//   high = high_bits[32 * h + l][2 * q, 2 * q + 2)
struct BlockQ6_K {
  std::array<std::uint8_t, 128> low_bits;
  std::array<std::uint8_t, 64> high_bits;
  std::array<std::int8_t, 16> scales;
  std::uint16_t d;
};

static_assert(sizeof(BlockQ4_0) == info(DType::kQ4_0).block_bytes);
static_assert(sizeof(BlockQ4_1) == info(DType::kQ4_1).block_bytes);
static_assert(sizeof(BlockQ5_0) == info(DType::kQ5_0).block_bytes);
static_assert(sizeof(BlockQ5_1) == info(DType::kQ5_1).block_bytes);
static_assert(sizeof(BlockQ8_0) == info(DType::kQ8_0).block_bytes);
static_assert(sizeof(BlockQ4_K) == info(DType::kQ4_K).block_bytes);
static_assert(sizeof(BlockQ5_K) == info(DType::kQ5_K).block_bytes);
static_assert(sizeof(BlockQ6_K) == info(DType::kQ6_K).block_bytes);

// The scale s(g) and the minimum n(g) of a Q4_K or Q5_K block, g in [0, 8).
struct GroupScale {
  int scale;
  int minimum;
};
constexpr GroupScale group_scale(const std::array<std::uint8_t, 12>& scales, std::size_t g) {
  if (g < 4) return {scales[g] & 63, scales[g + 4] & 63};
  return {(scales[g + 4] & 15) | (scales[g - 4] >> 6 << 4), (scales[g + 4] >> 4) | (scales[g] >> 6 << 4)};
}

// Converts whole blocks (or plain elements) to fp32; `row` needs no alignment. F64 and wide integers are
// rounded to nearest, BOOL gives 0 or 1. The fast paths of `ops` are tested against this function.
// Errors: kInvalidArgument when `out` is not a whole number of blocks, or `row` has other than its bytes.
Status dequantize_row(DType type, std::span<const std::byte> row, std::span<float> out);

}  // namespace warpfold::formats
