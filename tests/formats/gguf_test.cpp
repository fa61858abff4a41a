// GGUF: what a valid file gives, and that each way a file can lie is an error naming the file, the field and
// the numbers. Ids like D6 are those of the list of public bug reports that the project keeps.
#include "warpfold/formats/gguf.h"

#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/gguf_writer.h"
#include "support/temp_dir.h"

namespace warpfold::formats {
namespace {

using namespace warpfold::test;

constexpr auto kBadFile = ErrorCode::kBadFile;
constexpr auto kUnsupported = ErrorCode::kUnsupported;

// The bytes live on the heap with nothing after them, so that the address sanitizer sees a read past the end.
class Parsed {
 public:
  explicit Parsed(const Bytes& bytes) : bytes_(new std::byte[bytes.size()]) {
    std::copy(bytes.begin(), bytes.end(), bytes_.get());
    result = Gguf::parse({bytes_.get(), bytes.size()}, "test.gguf");
  }
  const Gguf* operator->() const { return &*result; }
  Result<Gguf> result = fail(ErrorCode::kCancelled, "");

 private:
  std::unique_ptr<std::byte[]> bytes_;
};

void expect_bad(const GgufWriter& file, std::initializer_list<std::string_view> pieces,
                ErrorCode code = kBadFile) {
  const Parsed parsed(file.build());
  expect_error(parsed.result, code, pieces);
  expect_error(parsed.result, code, {"test.gguf: "});
}

Bytes zeros(std::size_t n) { return Bytes(n); }

TEST(Gguf, ReadsMetadataOfEveryType) {
  for (const std::uint32_t version : {2u, 3u}) {
    GgufWriter file;
    file.version = version;
    file.value("a.u8", std::uint8_t{200}).value("a.i8", std::int8_t{-100});
    file.value("a.u16", std::uint16_t{60000}).value("a.i16", std::int16_t{-30000});
    file.value("a.u32", std::uint32_t{4000000000u}).value("a.i32", std::int32_t{-2000000000});
    file.value("a.u64", std::numeric_limits<std::uint64_t>::max());
    file.value("a.i64", std::numeric_limits<std::int64_t>::min());
    file.value("a.f32", 0.5f)
        .value("a.f64", 0.1)
        .value("a.bool", true)
        .value("a.string", std::string("na\xc3\xafve"));
    file.array<std::string>("b.strings", {"x", "", "yz"}).array<float>("b.floats", {1.5f, -2.0f});
    file.array<std::int32_t>("b.ints", {-1, 7}).array<std::uint8_t>("b.bytes", {1, 255});
    file.array<double>("b.doubles", {0.1}).array<std::uint64_t>("b.none", {});
    file.raw("b.bools", 9, [] {
      Bytes payload;
      put(payload, std::uint32_t{7});
      put(payload, std::uint64_t{3});
      put_text(payload, std::string_view("\1\0\1", 3));
      return payload;
    }());
    const Parsed gguf(file.build());
    ASSERT_TRUE(gguf.result) << gguf.result.error().message;

    EXPECT_EQ(gguf->version(), version);
    EXPECT_EQ(gguf->name(), "test.gguf");
    EXPECT_EQ(gguf->metadata().size(), 19u);
    EXPECT_EQ(gguf->metadata()[1].first, "a.i8");
    EXPECT_EQ(gguf->integer("a.u8"), 200);
    EXPECT_EQ(gguf->integer("a.i8"), -100);
    EXPECT_EQ(gguf->integer("a.u16"), 60000);
    EXPECT_EQ(gguf->integer("a.i16"), -30000);
    EXPECT_EQ(gguf->integer("a.u32"), 4000000000);
    EXPECT_EQ(gguf->integer("a.i32"), -2000000000);
    EXPECT_EQ(gguf->integer("a.i64"), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(gguf->number("a.u64"), 0x1p64);
    EXPECT_EQ(gguf->number("a.f32"), 0.5);
    EXPECT_EQ(gguf->number("a.f64"), 0.1);
    EXPECT_EQ(gguf->boolean("a.bool"), true);
    EXPECT_EQ(gguf->string("a.string"), "na\xc3\xafve");
    const auto strings = gguf->strings("b.strings");
    ASSERT_TRUE(strings);
    EXPECT_EQ(std::vector<std::string_view>(strings->begin(), strings->end()),
              (std::vector<std::string_view>{"x", "", "yz"}));
    EXPECT_EQ(gguf->floats("b.floats"), (std::vector<float>{1.5f, -2.0f}));
    EXPECT_EQ(gguf->integers("b.ints"), (std::vector<std::int64_t>{-1, 7}));
    EXPECT_EQ(gguf->integers("b.bytes"), (std::vector<std::int64_t>{1, 255}));
    EXPECT_EQ(gguf->integers("b.none"), (std::vector<std::int64_t>{}));
    ASSERT_NE(gguf->find_key("b.bools"), nullptr);
    EXPECT_EQ(std::get<std::vector<bool>>(std::get<GgufArray>(gguf->find_key("b.bools")->value)),
              (std::vector<bool>{true, false, true}));
    EXPECT_EQ(gguf->find_key("b.doubles")->element, GgufType::kF64);
    EXPECT_EQ(gguf->find_key("missing"), nullptr);
  }
}

// D1, D2, D5: the wrong element type never passes for the right one, and large numbers arrive unchanged.
TEST(Gguf, TypedLookUpsSayWhatWasFound) {
  GgufWriter file;
  file.array<std::uint8_t>("tokenizer.ggml.scores", {1, 2, 3}).value("general.name", std::string("tiny"));
  file.value("llama.block_count", std::uint32_t{1} << 31).value("huge", std::uint64_t{1} << 63);
  file.array<std::uint64_t>("huges", {1, std::uint64_t{1} << 63}).value("flag", true);
  const Parsed gguf(file.build());
  ASSERT_TRUE(gguf.result);

  expect_error(gguf->floats("tokenizer.ggml.scores"), kBadFile,
               {"test.gguf", "'tokenizer.ggml.scores'", "array of 3 u8", "f32"});
  expect_error(gguf->strings("tokenizer.ggml.scores"), kBadFile, {"array of 3 u8", "strings"});
  expect_error(gguf->integers("general.name"), kBadFile,
               {"'general.name'", "is string", "array of integers"});
  expect_error(gguf->integer("general.name"), kBadFile, {"is string", "an integer"});
  expect_error(gguf->integer("flag"), kBadFile, {"is bool", "an integer"});
  expect_error(gguf->number("flag"), kBadFile, {"is bool", "a number"});
  expect_error(gguf->boolean("huge"), kBadFile, {"is u64", "a bool"});
  expect_error(gguf->string("huge"), kBadFile, {"is u64", "a string"});
  EXPECT_EQ(gguf->integer("llama.block_count"), std::int64_t{1} << 31);
  expect_error(gguf->integer("huge"), kBadFile, {"'huge'", "9223372036854775808"});
  expect_error(gguf->integers("huges"), kBadFile, {"'huges'", "9223372036854775808"});

  expect_error(gguf->integer("none"), kBadFile, {"test.gguf", "'none'", "missing"});
  expect_error(gguf->strings("none"), kBadFile, {"missing"});
  EXPECT_EQ(gguf->integer_or("none", 5), 5);
  EXPECT_EQ(gguf->number_or("none", 0.5), 0.5);
  expect_error(gguf->integer_or("general.name", 5), kBadFile, {"is string"});
  expect_error(gguf->number_or("general.name", 5), kBadFile, {"is string"});
}

TEST(Gguf, ReadsTensorsInPlace) {
  GgufWriter file;
  file.tensor("vector", kGgmlF32, {3}, bytes_of<float>({1, 2, 3}));
  file.tensor("matrix", kGgmlQ8_0, {2, 64}, zeros(2 * 2 * 34));
  file.tensor("cube", kGgmlI8, {2, 3, 5}, zeros(30)).tensor("scalar", kGgmlF64, {}, bytes_of<double>({0.25}));
  const Bytes bytes = file.build();
  auto gguf = Gguf::parse(bytes, "test.gguf");
  ASSERT_TRUE(gguf) << gguf.error().message;
  ASSERT_EQ(gguf->tensors().size(), 4u);
  EXPECT_EQ(gguf->tensors()[1].name, "matrix");

  const TensorView* vector = gguf->find("vector");
  ASSERT_NE(vector, nullptr);
  EXPECT_GE(vector->data, bytes.data());
  EXPECT_LE(vector->data + vector->bytes(), bytes.data() + bytes.size());
  EXPECT_EQ(std::memcmp(vector->data, bytes_of<float>({1, 2, 3}).data(), 12), 0);
  const TensorView* matrix = gguf->find("matrix");
  ASSERT_NE(matrix, nullptr);
  EXPECT_EQ(matrix->rows(), 2);
  EXPECT_EQ(matrix->columns(), 64);
  EXPECT_EQ(matrix->bytes(), 136);
  EXPECT_EQ(matrix->dtype, DType::kQ8_0);
  const TensorView* cube = gguf->find("cube");
  ASSERT_NE(cube, nullptr);
  EXPECT_EQ(cube->rank, 3);
  EXPECT_EQ(cube->shape, (std::array<std::int64_t, 4>{2, 3, 5, 1}));
  EXPECT_EQ(gguf->find("scalar")->size(), 1);
  EXPECT_EQ(gguf->find("absent"), nullptr);
}

TEST(Gguf, OpensAFileAndReleasesATensor) {
  const TempDir dir;
  const std::string path = dir.write(
      "a.gguf",
      GgufWriter().tensor("t", kGgmlF32, {40000}, bytes_of(std::vector<float>(40000, 3.0f))).build());
  auto opened = Gguf::open(path);
  ASSERT_TRUE(opened) << opened.error().message;
  const Gguf gguf = std::move(*opened);  // views survive a move
  const TensorView view = *gguf.find("t");
  gguf.release(view.span());
  float last = 0;
  std::memcpy(&last, view.data + view.bytes() - 4, 4);
  EXPECT_EQ(last, 3.0f);
  gguf.release({});  // nothing of this file: ignored

  expect_error(Gguf::open(dir.path() + "/none.gguf"), ErrorCode::kIo, {"none.gguf", "No such file"});
  expect_error(Gguf::open(dir.write("empty.gguf", "")), kBadFile,
               {"empty.gguf", "magic needs 4 bytes", "0 bytes"});
}

TEST(Gguf, RefusesOtherFilesAndVersions) {
  Bytes bytes;
  put_text(bytes, "PK\3\4 not a model");
  expect_error(Parsed(bytes).result, kBadFile, {"not a GGUF file", "50 4b 03 04"});
  GgufWriter file;
  for (const std::uint32_t version : {0u, 1u, 4u}) {
    file.version = version;
    expect_bad(file, {"version", std::to_string(version)}, kUnsupported);
  }
  file.version = 3u << 24;
  expect_bad(file, {"big-endian", "0x3000000"}, kUnsupported);
}

// Every prefix of a valid file is either an error or, once all data is there, the file itself.
TEST(Gguf, EveryTruncationIsAnError) {
  GgufWriter file;
  file.value("general.architecture", std::string("llama")).array<std::string>("tokens", {"a", "b"});
  file.tensor("t", kGgmlF32, {2, 2}, bytes_of<float>({1, 2, 3, 4}));
  const Bytes whole = file.build();
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const Parsed parsed(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)));
    expect_error(parsed.result, kBadFile, {"test.gguf: ", " bytes"});
  }
  EXPECT_TRUE(Parsed(whole).result);
}

// D6: an alignment that is no power of two from 8 to 2^21 is refused; so is one of another type.
TEST(Gguf, ChecksTheAlignment) {
  for (const std::uint32_t alignment : {0u, 1u, 3u, 4u, 48u, 1u << 22, 0x80000000u}) {
    expect_bad(GgufWriter().value("general.alignment", alignment).tensor("t", kGgmlF32, {1}, zeros(4)),
               {"general.alignment is " + std::to_string(alignment) + ",", "from 8 to 2097152"});
  }
  expect_bad(GgufWriter().value("general.alignment", std::string("32")),
             {"'general.alignment'", "is string"});
  expect_bad(GgufWriter().value("general.alignment", std::int32_t{-32}), {"general.alignment is -32"});
  for (const std::uint32_t alignment : {8u, 64u, 4096u, 1u << 21}) {
    GgufWriter file;
    file.alignment = alignment;
    file.value("general.alignment", alignment);
    file.tensor("a", kGgmlF32, {1}, bytes_of<float>({1})).tensor("b", kGgmlF32, {1}, bytes_of<float>({2}));
    const Parsed gguf(file.build());
    ASSERT_TRUE(gguf.result) << gguf.result.error().message;
    EXPECT_EQ(gguf->find("b")->data - gguf->find("a")->data, static_cast<std::ptrdiff_t>(alignment));
  }
}

// D8: tensors without elements load, whatever their place.
TEST(Gguf, ZeroSizeTensorsLoadAsEmpty) {
  GgufWriter file;
  file.tensor("a", kGgmlF32, {0}, {}).tensor("b", kGgmlF32, {2}, zeros(8)).tensor("c", kGgmlF16, {0, 4}, {});
  file.tensor("d", kGgmlQ4_K, {4, 0}, {});
  file.tensor("e", kGgmlF32, {0, std::int64_t{1} << 40}, {});
  const Parsed gguf(file.build());
  ASSERT_TRUE(gguf.result) << gguf.result.error().message;
  for (const char* name : {"a", "c", "d", "e"}) {
    ASSERT_NE(gguf->find(name), nullptr);
    EXPECT_EQ(gguf->find(name)->size(), 0);
    EXPECT_EQ(gguf->find(name)->bytes(), 0);
    EXPECT_EQ(gguf->find(name)->rows(), 0);
    EXPECT_EQ(gguf->find(name)->data, nullptr);
  }
  EXPECT_EQ(gguf->find("b")->size(), 2);
  EXPECT_TRUE(Parsed(GgufWriter().build()).result);
}

// D9: lengths and counts beyond the file are refused before anything is allocated.
TEST(Gguf, LengthsAndCountsAreBoundedByTheFile) {
  Bytes file;  // 32 bytes: header and a key length
  put_text(file, "GGUF");
  put(file, std::uint32_t{3});
  put(file, std::uint64_t{0});
  put(file, std::uint64_t{1});
  put(file, std::uint64_t{0xFFFFFFFFFFFF});
  expect_error(Parsed(file).result, kBadFile, {"number of metadata entries is 1", "8 bytes are left"});
  put(file, std::uint64_t{0});  // and some room
  expect_error(Parsed(file).result, kBadFile,
               {"metadata entry 0 of 1", "key needs 281474976710655 bytes", "40 bytes"});

  GgufWriter claims;
  claims.value("k", std::uint32_t{1}).tensor("t", kGgmlF32, {1}, zeros(4));
  for (const std::uint64_t n : {std::uint64_t{1} << 20, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    claims.key_count = n, claims.tensor_count = {};
    expect_bad(claims, {"number of metadata entries is " + std::to_string(n), "left in the file"});
    claims.key_count = {}, claims.tensor_count = n;
    expect_bad(claims, {"number of tensors is " + std::to_string(n), "left in the file"});
  }
  claims.tensor_count = {}, claims.key_count = 2;  // takes the tensor for a key
  EXPECT_FALSE(Parsed(claims.build()).result);

  for (const std::uint32_t element : {0u, 5u, 8u, 12u}) {
    Bytes payload;
    put(payload, element);
    put(payload, std::uint64_t{1} << 61);
    expect_bad(GgufWriter().raw("a", 9, payload),
               {"metadata 'a'", "array length is 2305843009213693952", "0 bytes are left"});
  }
  Bytes payload;  // a string in an array
  put(payload, std::uint32_t{8});
  put(payload, std::uint64_t{1});
  put(payload, ~std::uint64_t{0});
  expect_bad(GgufWriter().raw("a", 9, payload),
             {"metadata 'a'", "array element needs 18446744073709551615 bytes"});
}

TEST(Gguf, RefusesBadMetadata) {
  expect_bad(GgufWriter().raw("k", 13, zeros(8)), {"metadata 'k'", "value type is 13", "0 to 12"});
  expect_bad(GgufWriter().raw("k", 9, bytes_of<std::uint32_t>({99, 0, 0})),
             {"metadata 'k'", "element type is 99"});
  expect_bad(GgufWriter().raw("k", 9, bytes_of<std::uint32_t>({9, 1, 0, 0, 0, 0})),
             {"metadata 'k'", "arrays of arrays"}, kUnsupported);
  expect_bad(GgufWriter().raw("k", 7, bytes_of<std::uint8_t>({2})),
             {"metadata 'k'", "bool of value 2", "not 0 or 1"});
  expect_bad(GgufWriter().value("", std::uint32_t{1}), {"metadata entry 0 of 1", "empty"});
  // D10
  expect_bad(GgufWriter().value("k", 1.0f).value("l", 1.0f).value("k", 1.0f),
             {"metadata 'k'", "twice", "0 and 2"});
  // A name is printable in a message, however long it is.
  expect_bad(GgufWriter().raw(std::string(300, 'x') + "\n", 77, {}), {"'xxx", "... (301 bytes)", "77"});
  expect_bad(GgufWriter().raw("a\x01\xff", 77, {}), {"'a\\x01\\xff'"});
}

// D10
TEST(Gguf, RefusesDuplicateTensorNames) {
  expect_bad(GgufWriter().tensor("w", kGgmlF32, {1}, zeros(4)).tensor("w", kGgmlF32, {1}, zeros(4)),
             {"tensor 'w'", "twice", "0 and 1"});
  expect_bad(GgufWriter().tensor("", kGgmlF32, {1}, zeros(4)), {"tensor 0 of 1", "empty"});
}

// D12: a shape that asks for more than the file has, or than numbers can count.
TEST(Gguf, ShapesAreBoundedByTheFile) {
  expect_bad(GgufWriter().tensor("w", kGgmlF32, {1000, 1000}, zeros(4)),
             {"tensor 'w'", "4000000 bytes", "offset 0", "section of 4 bytes"});
  const std::int64_t half = std::int64_t{1} << 32;
  expect_bad(GgufWriter().tensor("w", kGgmlF32, {half, half}, zeros(4)),
             {"'w'", "[4294967296, 4294967296]", "2^63 - 1"});
  expect_bad(GgufWriter().tensor("w", kGgmlF64, {half, half / 4}, zeros(4)), {"'w'", "F64", "2^63 - 1"});
  expect_bad(GgufWriter().tensor("w", kGgmlF32, {half, half, 0}, {}), {"'w'", "2^63 - 1"});
  expect_bad(GgufWriter().tensor("w", kGgmlF32, {3, -2}, zeros(24)), {"'w'", "dimension 0 is -2"});
  expect_bad(GgufWriter().tensor("w", kGgmlF32, {1, 1, 1, 1, 1}, zeros(4)),
             {"'w'", "5 dimensions", "at most 4"});
  expect_bad(GgufWriter().tensor("w", kGgmlQ4_0, {2, 40}, zeros(45)), {"'w'", "40 columns", "Q4_0", "32"});
  expect_bad(GgufWriter().tensor("w", kGgmlQ6_K, {2, 128}, zeros(210)),
             {"'w'", "128 columns", "Q6_K", "256"});
}

// D13: offsets. Bytes after the last tensor are allowed by the format.
TEST(Gguf, OffsetsMustTileTheData) {
  const auto two = [](std::uint64_t second) {
    return GgufWriter()
        .tensor("a", kGgmlF32, {16}, zeros(64))
        .tensor("b", kGgmlF32, {32}, zeros(128), second);
  };
  EXPECT_TRUE(Parsed(two(64).build()).result);
  expect_bad(two(32), {"tensor 'b'", "offset is 32", "ends at 64"});                      // overlap
  expect_bad(two(0), {"tensor 'b'", "offset is 0", "ends at 64"});                        // the same place
  expect_bad(two(65), {"tensor 'b'", "offset 65", "alignment 32"});                       // not aligned
  expect_bad(two(96), {"tensor 'b'", "128 bytes at offset 96", "section of 192 bytes"});  // past the end
  expect_bad(two(std::uint64_t{0} - 32), {"tensor 'b'", "offset 18446744073709551584"});  // wraps
  expect_bad(GgufWriter().tensor("a", kGgmlF32, {1}, zeros(4), 32).tensor("b", kGgmlF32, {8}, zeros(32)),
             {"tensor 'a'", "offset is 32", "ends at 0"});  // hole
  Bytes trailing = two(64).build();
  put_text(trailing, "more");
  EXPECT_TRUE(Parsed(trailing).result);
}

TEST(Gguf, RefusesOtherTensorTypesByName) {
  const std::pair<std::uint32_t, const char*> types[] = {{4, "Q4_2"},
                                                         {5, "Q4_3"},
                                                         {9, "Q8_1"},
                                                         {10, "Q2_K"},
                                                         {11, "Q3_K"},
                                                         {15, "Q8_K"},
                                                         {16, "IQ2_XXS"},
                                                         {17, "IQ2_XS"},
                                                         {18, "IQ3_XXS"},
                                                         {19, "IQ1_S"},
                                                         {20, "IQ4_NL"},
                                                         {21, "IQ3_S"},
                                                         {22, "IQ2_S"},
                                                         {23, "IQ4_XS"},
                                                         {29, "IQ1_M"},
                                                         {31, "Q4_0_4_4"},
                                                         {32, "Q4_0_4_8"},
                                                         {33, "Q4_0_8_8"},
                                                         {34, "TQ1_0"},
                                                         {35, "TQ2_0"},
                                                         {36, "IQ4_NL_4_4"},
                                                         {37, "IQ4_NL_4_8"},
                                                         {38, "IQ4_NL_8_8"},
                                                         {39, "MXFP4"},
                                                         {40, "NVFP4"},
                                                         {41, "Q1_0"},
                                                         {42, "unknown ggml type 42"},
                                                         {0xffffffffu, "unknown ggml type 4294967295"}};
  for (const auto& [id, name] : types)
    expect_bad(GgufWriter().tensor("w", id, {256}, zeros(300)), {"tensor 'w'", name}, kUnsupported);
}

TEST(Gguf, ReadsEveryTypeWithTheSizeOfItsBlocks) {
  const std::pair<std::uint32_t, DType> types[] = {
      {kGgmlF32, DType::kF32},   {kGgmlF16, DType::kF16},   {kGgmlBF16, DType::kBF16},
      {kGgmlF64, DType::kF64},   {kGgmlI8, DType::kI8},     {kGgmlI16, DType::kI16},
      {kGgmlI32, DType::kI32},   {kGgmlI64, DType::kI64},   {kGgmlQ4_0, DType::kQ4_0},
      {kGgmlQ4_1, DType::kQ4_1}, {kGgmlQ5_0, DType::kQ5_0}, {kGgmlQ5_1, DType::kQ5_1},
      {kGgmlQ8_0, DType::kQ8_0}, {kGgmlQ4_K, DType::kQ4_K}, {kGgmlQ5_K, DType::kQ5_K},
      {kGgmlQ6_K, DType::kQ6_K}};
  for (const auto& [id, dtype] : types) {
    const DTypeInfo block = info(dtype);
    const Bytes data(static_cast<std::size_t>(3 * 512 / block.block_size * block.block_bytes));
    const Parsed gguf(GgufWriter().tensor("w", id, {3, 512}, data).build());
    ASSERT_TRUE(gguf.result) << gguf.result.error().message;
    EXPECT_EQ(gguf->find("w")->dtype, dtype);
    EXPECT_EQ(gguf->find("w")->bytes(), static_cast<std::int64_t>(data.size()));
    const Bytes less(data.begin(), data.end() - 1);
    expect_bad(GgufWriter().tensor("w", id, {3, 512}, less), {"'w'", std::to_string(data.size()) + " bytes"});
  }
}

}  // namespace
}  // namespace warpfold::formats
