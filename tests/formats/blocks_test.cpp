// Block types: every value against an independent definition in float64 (tests/reference/blocks.py, which
// wrote blocks_golden.json), bit for bit, and plain types against their values.
#include "warpfold/formats/blocks.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/bytes.h"
#include "support/expect_error.h"

namespace warpfold::formats {
namespace {

using namespace warpfold::test;

std::uint32_t hex(std::string_view digits) {
  std::uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}

Bytes bytes_of_hex(std::string_view digits) {
  Bytes out;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    out.push_back(static_cast<std::byte>(hex(digits.substr(i, 2))));
  return out;
}

class BlockTypes : public testing::TestWithParam<DType> {};

TEST_P(BlockTypes, ValuesAreThoseOfTheDefinition) {
  const DTypeInfo type = info(GetParam());
  std::ifstream file(WARPFOLD_SOURCE_DIR "/tests/formats/blocks_golden.json");
  const nlohmann::json golden = nlohmann::json::parse(file)[std::string(type.name)];
  Bytes row;
  std::string expected;
  for (const std::string block : golden["blocks"]) put_bytes(row, bytes_of_hex(block));
  for (const std::string values : golden["values"]) expected += values;

  std::vector<float> out(expected.size() / 8);
  const Status status = dequantize_row(GetParam(), row, out);
  ASSERT_TRUE(status) << status.error().message;
  ASSERT_GE(out.size(), 7u * 32u);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint32_t bits = hex(std::string_view(expected).substr(8 * i, 8));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(out[i]), bits)
        << "element " << i << ": " << out[i] << ", expected " << std::bit_cast<float>(bits);
  }
}

TEST_P(BlockTypes, RefusesPartsOfBlocksAndOtherSizes) {
  const DTypeInfo type = info(GetParam());
  const auto elements = static_cast<std::size_t>(type.block_size);
  const auto bytes = static_cast<std::size_t>(type.block_bytes);
  std::vector<float> out(2 * elements);
  const Bytes row(2 * bytes + 1);
  const std::span<const std::byte> whole(row);
  EXPECT_TRUE(dequantize_row(GetParam(), whole.first(2 * bytes), out));
  EXPECT_TRUE(dequantize_row(GetParam(), whole.subspan(1), out));  // unaligned
  EXPECT_TRUE(dequantize_row(GetParam(), {}, {}));
  for (const std::size_t other : {std::size_t{0}, 2 * bytes - 1, 2 * bytes + 1})
    expect_error(dequantize_row(GetParam(), whole.first(other), out), ErrorCode::kInvalidArgument,
                 {type.name, std::to_string(2 * elements), std::to_string(2 * bytes), std::to_string(other)});
  expect_error(dequantize_row(GetParam(), whole.first(bytes), std::span(out).first(elements - 1)),
               ErrorCode::kInvalidArgument,
               {type.name, std::to_string(elements - 1), std::to_string(elements)});
}

INSTANTIATE_TEST_SUITE_P(All, BlockTypes,
                         testing::Values(DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                                         DType::kQ4_K, DType::kQ5_K, DType::kQ6_K),
                         [](const auto& param) { return std::string(::warpfold::info(param.param).name); });

template <class T>
std::vector<float> converted(DType type, const std::vector<T>& values) {
  std::vector<float> out(values.size());
  EXPECT_TRUE(dequantize_row(type, bytes_of(values), out));
  return out;
}

TEST(PlainTypes, ValuesAreThoseStored) {
  using Floats = std::vector<float>;
  EXPECT_EQ(converted<float>(DType::kF32, {1.5f, -0.1f}), (Floats{1.5f, -0.1f}));
  EXPECT_EQ(converted<double>(DType::kF64, {0.1, -2.0}), (Floats{0.1f, -2.0f}));
  EXPECT_EQ(converted<std::uint16_t>(DType::kF16, {0x3c00, 0xc000, 0x0001}), (Floats{1.0f, -2.0f, 0x1p-24f}));
  EXPECT_EQ(converted<std::uint16_t>(DType::kBF16, {0x3f80, 0xc040}), (Floats{1.0f, -3.0f}));
  EXPECT_EQ(converted<std::int8_t>(DType::kI8, {-128, 127}), (Floats{-128, 127}));
  EXPECT_EQ(converted<std::int16_t>(DType::kI16, {-32768}), (Floats{-32768}));
  EXPECT_EQ(converted<std::int32_t>(DType::kI32, {-5, (1 << 24) + 1}), (Floats{-5, 1 << 24}));
  EXPECT_EQ(converted<std::int64_t>(DType::kI64, {std::numeric_limits<std::int64_t>::min()}),
            (Floats{-0x1p63f}));
  EXPECT_EQ(converted<std::uint8_t>(DType::kU8, {0, 255}), (Floats{0, 255}));
  EXPECT_EQ(converted<std::uint8_t>(DType::kBool, {0, 1}), (Floats{0, 1}));
  // Largest, smallest, subnormal, negative (arXiv 2209.05433, table 1).
  EXPECT_EQ(converted<std::uint8_t>(DType::kF8E4M3, {0x7e, 0x08, 0x07, 0x01, 0x00, 0xb8}),
            (Floats{448, 0x1p-6f, 0.875f * 0x1p-6f, 0x1p-9f, 0, -1}));
  EXPECT_EQ(converted<std::uint8_t>(DType::kF8E5M2, {0x7b, 0x04, 0x03, 0x01, 0x00, 0xbc}),
            (Floats{57344, 0x1p-14f, 0.75f * 0x1p-14f, 0x1p-16f, 0, -1}));
  for (const float x : converted<std::uint8_t>(DType::kF8E4M3, {0x7f, 0xff})) EXPECT_TRUE(std::isnan(x));
  EXPECT_EQ(converted<std::uint8_t>(DType::kF8E5M2, {0x7c, 0xfc}),
            (Floats{std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}));
  EXPECT_TRUE(std::isnan(converted<std::uint8_t>(DType::kF8E5M2, {0x7e})[0]));
  Floats two(2);
  EXPECT_FALSE(dequantize_row(DType::kF32, Bytes(7), two));
}

}  // namespace
}  // namespace warpfold::formats
