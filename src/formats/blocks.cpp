// Scalar conversion of rows of any type to fp32, written for clarity: one formula a type, as blocks.h states
// it.
#include "warpfold/formats/blocks.h"

#include <cstring>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include "warpfold/core/half.h"

namespace warpfold::formats {
namespace {

// Plain elements: one stored value, one float.
float element(float x) { return x; }
float element(double x) { return static_cast<float>(x); }
template <class Integer>
requires std::is_integral_v<Integer>
float element(Integer x) { return static_cast<float>(x); }
struct F16 {
  std::uint16_t bits;
};
struct BF16 {
  std::uint16_t bits;
};
struct E4M3 {
  std::uint8_t bits;
};
struct E5M2 {
  std::uint8_t bits;
};
struct Bool {
  std::uint8_t bits;
};
float element(F16 x) { return f16_to_f32(x.bits); }
float element(BF16 x) { return bf16_to_f32(x.bits); }
// As an fp16 whose exponent is biased by 15 instead of 7; e4m3 has no infinities, and its NaN is all ones.
float element(E4M3 x) {
  if ((x.bits & 0x7f) == 0x7f) return std::numeric_limits<float>::quiet_NaN();
  return f16_to_f32(static_cast<std::uint16_t>((x.bits & 0x80) << 8 | (x.bits & 0x7f) << 7)) * 256;
}
float element(E5M2 x) { return f16_to_f32(static_cast<std::uint16_t>(x.bits << 8)); }
float element(Bool x) { return x.bits != 0 ? 1.0f : 0.0f; }

template <class Stored>
void convert_elements(std::span<const std::byte> row, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored value;
    std::memcpy(&value, row.data() + i * sizeof(Stored), sizeof(Stored));
    out[i] = element(value);
  }
}

// Blocks of 32.
int nibble(const std::array<std::uint8_t, 16>& codes, std::size_t i) {
  return i < 16 ? codes[i] & 15 : codes[i - 16] >> 4;
}
int sixteen_if_fifth(const std::array<std::uint8_t, 4>& high_bits, std::size_t i) {
  return (high_bits[i / 8] >> (i % 8) & 1) * 16;
}

float element(const BlockQ4_0& b, std::size_t i) {
  return f16_to_f32(b.d) * static_cast<float>(nibble(b.codes, i) - 8);
}
float element(const BlockQ4_1& b, std::size_t i) {
  return f16_to_f32(b.d) * static_cast<float>(nibble(b.codes, i)) + f16_to_f32(b.m);
}
float element(const BlockQ5_0& b, std::size_t i) {
  return f16_to_f32(b.d) * static_cast<float>(nibble(b.codes, i) + sixteen_if_fifth(b.high_bits, i) - 16);
}
float element(const BlockQ5_1& b, std::size_t i) {
  return f16_to_f32(b.d) * static_cast<float>(nibble(b.codes, i) + sixteen_if_fifth(b.high_bits, i)) +
         f16_to_f32(b.m);
}
float element(const BlockQ8_0& b, std::size_t i) { return f16_to_f32(b.d) * static_cast<float>(b.codes[i]); }

// Blocks of 256.
int k_nibble(const std::array<std::uint8_t, 128>& codes, std::size_t i) {
  const std::size_t group = i / 32;
  const int byte = codes[32 * (group / 2) + i % 32];
  return group % 2 == 0 ? byte & 15 : byte >> 4;
}
float k_value(std::uint16_t d, std::uint16_t dmin, GroupScale s, int code) {
  return f16_to_f32(d) * static_cast<float>(s.scale) * static_cast<float>(code) -
         f16_to_f32(dmin) * static_cast<float>(s.minimum);
}

float element(const BlockQ4_K& b, std::size_t i) {
  return k_value(b.d, b.dmin, group_scale(b.scales, i / 32), k_nibble(b.codes, i));
}
float element(const BlockQ5_K& b, std::size_t i) {
  const int high = b.high_bits[i % 32] >> (i / 32) & 1;
  return k_value(b.d, b.dmin, group_scale(b.scales, i / 32), k_nibble(b.codes, i) + 16 * high);
}
float element(const BlockQ6_K& b, std::size_t i) {
  const std::size_t half = i / 128, quarter = i % 128 / 32, l = i % 32;
  const int byte = b.low_bits[64 * half + 32 * (quarter % 2) + l];
  const int low = quarter < 2 ? byte & 15 : byte >> 4;
  const int high = b.high_bits[32 * half + l] >> (2 * quarter) & 3;
  return f16_to_f32(b.d) * static_cast<float>(b.scales[i / 16]) * static_cast<float>(low + 16 * high - 32);
}

template <class Block>
void convert_blocks(DType type, std::span<const std::byte> row, std::span<float> out) {
  const auto elements = static_cast<std::size_t>(info(type).block_size);
  for (std::size_t n = 0; n < out.size() / elements; ++n) {
    Block block;
    std::memcpy(&block, row.data() + n * sizeof(Block), sizeof(Block));
    for (std::size_t i = 0; i < elements; ++i) out[n * elements + i] = element(block, i);
  }
}

}  // namespace

Status dequantize_row(DType type, std::span<const std::byte> row, std::span<float> out) {
  const DTypeInfo block = info(type);
  const auto elements = static_cast<std::size_t>(block.block_size);
  if (out.size() % elements != 0)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("dequantize_row: {} elements are not a multiple of {}'s block of {}", out.size(),
                            block.name, block.block_size));
  const std::size_t blocks = out.size() / elements;
  if (row.size() != blocks * static_cast<std::size_t>(block.block_bytes))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("dequantize_row: {} elements of {} take {} bytes, but the row has {}", out.size(),
                            block.name, blocks * static_cast<std::size_t>(block.block_bytes), row.size()));
  switch (type) {
    case DType::kF32:
      convert_elements<float>(row, out);
      break;
    case DType::kF16:
      convert_elements<F16>(row, out);
      break;
    case DType::kBF16:
      convert_elements<BF16>(row, out);
      break;
    case DType::kF8E4M3:
      convert_elements<E4M3>(row, out);
      break;
    case DType::kF8E5M2:
      convert_elements<E5M2>(row, out);
      break;
    case DType::kF64:
      convert_elements<double>(row, out);
      break;
    case DType::kI8:
      convert_elements<std::int8_t>(row, out);
      break;
    case DType::kI16:
      convert_elements<std::int16_t>(row, out);
      break;
    case DType::kI32:
      convert_elements<std::int32_t>(row, out);
      break;
    case DType::kI64:
      convert_elements<std::int64_t>(row, out);
      break;
    case DType::kU8:
      convert_elements<std::uint8_t>(row, out);
      break;
    case DType::kBool:
      convert_elements<Bool>(row, out);
      break;
    case DType::kQ4_0:
      convert_blocks<BlockQ4_0>(type, row, out);
      break;
    case DType::kQ4_1:
      convert_blocks<BlockQ4_1>(type, row, out);
      break;
    case DType::kQ5_0:
      convert_blocks<BlockQ5_0>(type, row, out);
      break;
    case DType::kQ5_1:
      convert_blocks<BlockQ5_1>(type, row, out);
      break;
    case DType::kQ8_0:
      convert_blocks<BlockQ8_0>(type, row, out);
      break;
    case DType::kQ4_K:
      convert_blocks<BlockQ4_K>(type, row, out);
      break;
    case DType::kQ5_K:
      convert_blocks<BlockQ5_K>(type, row, out);
      break;
    case DType::kQ6_K:
      convert_blocks<BlockQ6_K>(type, row, out);
      break;
  }
  return {};
}

}  // namespace warpfold::formats
