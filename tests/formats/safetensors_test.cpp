// safetensors: single files and sharded sets, and that each way a file can lie is an error naming the file,
// the tensor, the field and the numbers. Ids like D13 are those of the project's list of public bug reports.
#include "warpfold/formats/safetensors.h"

#include <cstring>
#include <memory>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/safetensors_writer.h"
#include "support/temp_dir.h"

namespace warpfold::formats {
namespace {

using namespace warpfold::test;

constexpr auto kBadFile = ErrorCode::kBadFile;
constexpr auto kUnsupported = ErrorCode::kUnsupported;

class Parsed {
 public:
  explicit Parsed(const Bytes& bytes) : bytes_(new std::byte[bytes.size()]) {
    std::copy(bytes.begin(), bytes.end(), bytes_.get());
    result = Safetensors::parse({bytes_.get(), bytes.size()}, "test.safetensors");
  }
  const Safetensors* operator->() const { return &*result; }
  Result<Safetensors> result = fail(ErrorCode::kCancelled, "");

 private:
  std::unique_ptr<std::byte[]> bytes_;
};

void expect_bad(const Bytes& file, std::initializer_list<std::string_view> pieces,
                ErrorCode code = kBadFile) {
  const Parsed parsed(file);
  expect_error(parsed.result, code, pieces);
  expect_error(parsed.result, code, {"test.safetensors: "});
}
void expect_bad(std::string_view header, std::size_t data, std::initializer_list<std::string_view> pieces,
                ErrorCode code = kBadFile) {
  expect_bad(safetensors_file(header, Bytes(data)), pieces, code);
}

TEST(Safetensors, ReadsTensorsAndMetadataInPlace) {
  const Bytes bytes = SafetensorsWriter()
                          .metadata("format", "pt")
                          .tensor("a", "F32", {2, 3}, bytes_of<float>({0, 1, 2, 3, 4, 5}))
                          .tensor("b", "BF16", {4}, Bytes(8))
                          .tensor("c", "I64", {}, bytes_of<std::int64_t>({-7}))
                          .build();
  auto file = Safetensors::parse(bytes, "test.safetensors");
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->tensors().size(), 3u);
  EXPECT_EQ(file->tensors()[0].name, "a");
  EXPECT_EQ(file->metadata().at("format"), "pt");
  const TensorView* a = file->find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->rows(), 2);
  EXPECT_EQ(a->columns(), 3);
  EXPECT_GE(a->data, bytes.data());
  float last = 0;
  std::memcpy(&last, a->data + 20, 4);
  EXPECT_EQ(last, 5.0f);
  EXPECT_EQ(file->find("b")->dtype, DType::kBF16);
  EXPECT_EQ(file->find("c")->rank, 0);
  EXPECT_EQ(file->find("c")->size(), 1);
  EXPECT_EQ(file->find("d"), nullptr);
  file->release(a->span());  // bytes the caller owns: ignored
}

TEST(Safetensors, ReadsEveryElementType) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kI16,
                            DType::kI32, DType::kI64, DType::kU8, DType::kBool}) {
    const auto bytes = static_cast<std::size_t>(info(dtype).block_bytes) * 6;
    const Parsed file(SafetensorsWriter().tensor("t", info(dtype).name, {2, 3}, Bytes(bytes)).build());
    ASSERT_TRUE(file.result) << file.result.error().message;
    EXPECT_EQ(file->find("t")->dtype, dtype);
    EXPECT_EQ(file->find("t")->bytes(), static_cast<std::int64_t>(bytes));
  }
}

TEST(Safetensors, AcceptsWhatTheReferenceReaderAccepts) {
  // Unsorted entries, unknown fields, padding spaces, an empty header.
  const Parsed file(
      safetensors_file(R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3],"note":{"x":[1,{"y":null}]}},)"
                       R"("a":{"data_offsets":[0,1],"shape":[1],"dtype":"U8"}}    )",
                       Bytes(3)));
  ASSERT_TRUE(file.result) << file.result.error().message;
  EXPECT_EQ(file->find("b")->data - file->find("a")->data, 1);
  EXPECT_TRUE(Parsed(safetensors_file("{}", {})).result);
  EXPECT_TRUE(Parsed(safetensors_file(R"({"__metadata__":{}})", {})).result);
}

// D8
TEST(Safetensors, ZeroSizeTensorsLoadAsEmpty) {
  const Parsed file(SafetensorsWriter()
                        .tensor("a", "F32", {0}, {})
                        .tensor("b", "F32", {1}, Bytes(4))
                        .tensor("c", "F16", {0, 4}, {})
                        .tensor("d", "I8", {4611686018427387904, 0}, {})
                        .build());
  ASSERT_TRUE(file.result) << file.result.error().message;
  for (const char* name : {"a", "c", "d"}) {
    EXPECT_EQ(file->find(name)->size(), 0) << name;
    EXPECT_EQ(file->find(name)->data, nullptr) << name;
  }
  EXPECT_TRUE(
      Parsed(safetensors_file(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})", {})).result);
}

// D10
TEST(Safetensors, RefusesDuplicates) {
  const std::string t = R"("t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  expect_bad("{" + t + "," + t + "}", 1, {"'t'", "twice"});
  expect_bad(R"({"__metadata__":{},"__metadata__":{}})", 0, {"'__metadata__'", "twice"});
  expect_bad(R"({"__metadata__":{"k":"1","k":"1"}})", 0, {"'k'", "twice"});
  expect_bad(R"({"t":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1,
             {"'t'", "\"dtype\"", "twice"});
}

// D12
TEST(Safetensors, ShapesMustTakeTheBytesGiven) {
  const auto header = [](std::string_view shape, std::string_view offsets) {
    return fmt::format(R"({{"w":{{"dtype":"F32","shape":[{}],"data_offsets":[{}]}}}})", shape, offsets);
  };
  expect_bad(header("1000,1000", "0,4"), 4, {"'w'", "[1000, 1000]", "4000000 bytes", "[0, 4]", "give 4"});
  expect_bad(header("1000,1000", "0,4000000"), 4, {"'w'", "data_offsets [0, 4000000]", "past", "4 bytes"});
  expect_bad(header("4294967296,4294967296", "0,0"), 0, {"'w'", "4294967296", "2^63 - 1"});
  expect_bad(header("4611686018427387904,0,4", "0,0"), 0, {"'w'", "2^63 - 1"});
  expect_bad(header("9223372036854775808", "0,0"), 0, {"'w'", "shape dimension 0 is 9223372036854775808"});
  expect_bad(header("99999999999999999999", "0,0"), 0, {"'w'", "\"shape\"", "99999999999999999999"});
  expect_bad(header("1,1,1,1,1", "0,4"), 4, {"'w'", "5 dimensions", "at most 4"}, kUnsupported);
  expect_bad(header("1", "0"), 4, {"'w'", "data_offsets has 1 numbers"});
  expect_bad(header("1", "0,4,4"), 4, {"'w'", "data_offsets has 3 numbers"});
}

// D13
TEST(Safetensors, OffsetsMustTileTheData) {
  const auto entry = [](std::string_view name, std::string_view offsets) {
    return fmt::format(R"("{}":{{"dtype":"U8","shape":[4],"data_offsets":[{}]}})", name, offsets);
  };
  const auto header = [&](std::string_view a, std::string_view b) {
    return fmt::format("{{{},{}}}", entry("a", a), entry("b", b));
  };
  EXPECT_TRUE(Parsed(safetensors_file(header("0,4", "4,8"), Bytes(8))).result);
  expect_bad(header("0,4", "2,6"), 6, {"'b'", "begins at 2", "overlapping", "4"});
  expect_bad(header("0,4", "0,4"), 4, {"begins at 0", "overlapping", "4"});
  expect_bad(header("0,4", "6,10"), 10, {"'b'", "begins at 6", "hole", "4"});
  expect_bad(header("1,5", "5,9"), 9, {"'a'", "begins at 1", "hole", "0"});
  expect_bad(header("0,4", "8,4"), 8, {"'b'", "[8, 4]", "end before they begin"});
  expect_bad(header("0,4", "4,8"), 7, {"'b'", "[4, 8]", "past", "7 bytes"});
  expect_bad(header("0,4", "18446744073709551612,0"), 8, {"'b'", "18446744073709551612"});
  expect_bad(header("0,4", "4,8"), 9, {"end at byte 8", "9", "1 trailing"});
  expect_bad("{}", 3, {"3 trailing"});
}

// D14
TEST(Safetensors, HeaderLengthIsBoundedBeforeUse) {
  for (const std::uint64_t length : {0xFFFFFFFFFFFFFFF8u, 0xFFFFFFFFFFFFFFFBu, 100000001ul}) {
    Bytes file;
    put(file, length);
    put_text(file, "{");
    expect_bad(file, {"header length is " + std::to_string(length), "100000000"});
  }
  expect_bad(safetensors_file("{}", {}, 3), {"header length is 3", "2 bytes"});
  expect_bad(safetensors_file("{}", {}, 100000000), {"header length is 100000000", "2 bytes"});
  expect_bad(safetensors_file("", {}, 0), {"'{'"});
  expect_bad(Bytes(7), {"7 bytes", "at least 8"});
  expect_bad(Bytes{}, {"0 bytes"});
}

// D15
TEST(Safetensors, RefusesOtherDtypesByName) {
  for (const char* dtype : {"ZZZ", "F8_E4M3", "F8_E5M2", "U16", "U32", "U64", "C64", "F4", "Q4_0", ""})
    expect_bad(fmt::format(R"({{"t":{{"dtype":"{}","shape":[1],"data_offsets":[0,99]}}}})", dtype), 1,
               {"'t'", fmt::format("dtype '{}'", dtype)}, kUnsupported);
}

TEST(Safetensors, RefusesOtherJson) {
  expect_bad("{\"t\"", 0, {"malformed JSON", "byte"});
  expect_bad("{} {}", 0, {"malformed JSON"});
  expect_bad("[1]", 0, {"'{'"});
  expect_bad(" {}", 0, {"'{'"});
  expect_bad("{\"\xff\":1}", 0, {"malformed JSON"});
  expect_bad(std::string_view("{}\0", 3), 0, {"malformed JSON"});
  expect_bad(R"({"t":1})", 0, {"'t'", "the number 1", "an object"});
  expect_bad(R"({"t":[]})", 0, {"'t'", "an array", "an object"});
  expect_bad(R"({"t":null})", 0, {"'t'", "null"});
  expect_bad(R"({"__metadata__":{"k":1}})", 0, {"'k'", "the number 1", "a string"});
  expect_bad(R"({"__metadata__":{"k":{}}})", 0, {"'k'", "an object", "a string"});
  expect_bad(R"({"t":{}})", 0, {"'t'", "no \"dtype\""});
  expect_bad(R"({"t":{"dtype":"U8","shape":[1]}})", 0, {"'t'", "no \"data_offsets\""});
  expect_bad(R"({"t":{"dtype":8}})", 0, {"'t'", "\"dtype\"", "the number 8", "a string"});
  expect_bad(R"({"t":{"dtype":["U8"]}})", 0, {"'t'", "\"dtype\"", "an array"});
  expect_bad(R"({"t":{"shape":"1"}})", 0, {"'t'", "\"shape\"", "a string", "an array"});
  expect_bad(R"({"t":{"shape":[-1]}})", 0, {"'t'", "\"shape\"", "-1", "integer"});
  expect_bad(R"({"t":{"shape":[1.0]}})", 0, {"'t'", "\"shape\"", "1.0", "integer"});
  expect_bad(R"({"t":{"shape":[1e999]}})", 0, {"malformed JSON"});
  expect_bad(R"({"t":{"shape":[[1]]}})", 0, {"'t'", "\"shape\"", "an array", "integer"});
  expect_bad(R"({"t":{"shape":[true]}})", 0, {"'t'", "\"shape\"", "bool", "integer"});
  expect_bad("{\"t\":" + std::string(100000, '['), 0, {"'t'", "an array"});
  expect_bad("{\"t\":{\"x\":" + std::string(100000, '['), 0, {"malformed JSON"});
}

TEST(Safetensors, EveryTruncationIsAnError) {
  const Bytes whole = SafetensorsWriter().metadata("k", "v").tensor("t", "F32", {2}, Bytes(8)).build();
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_FALSE(Parsed(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n))).result) << n;
  EXPECT_TRUE(Parsed(whole).result);
}

class Sharded : public testing::Test {
 protected:
  void SetUp() override {
    dir.write(
        "one.safetensors",
        SafetensorsWriter().metadata("format", "pt").tensor("a", "F32", {1}, bytes_of<float>({1})).build());
    dir.write("two.safetensors", SafetensorsWriter()
                                     .tensor("b", "F32", {1}, bytes_of<float>({2}))
                                     .tensor("spare", "F32", {1}, bytes_of<float>({9}))
                                     .build());
  }
  Result<Safetensors> open(std::string_view index) {
    return Safetensors::open(dir.write("model.safetensors.index.json", index));
  }
  TempDir dir;
};

TEST_F(Sharded, ReadsTheTensorsOfTheIndex) {
  for (const bool by_directory : {false, true}) {
    auto set = open(R"({"metadata":{"total_size":8,"more":[{}]},
                        "weight_map":{"b":"two.safetensors","a":"one.safetensors"}})");
    if (by_directory) set = Safetensors::open(dir.path());
    ASSERT_TRUE(set) << set.error().message;
    ASSERT_EQ(set->tensors().size(), 2u);
    float value = 0;
    std::memcpy(&value, set->find("b")->data, 4);
    EXPECT_EQ(value, 2.0f);
    EXPECT_EQ(set->find("spare"), nullptr);
    EXPECT_EQ(set->metadata().at("format"), "pt");
    set->release(set->find("b")->span());
    set->release({});
  }
}

TEST_F(Sharded, RefusesShardsThatAreMissingOrLackATensor) {
  expect_error(open(R"({"weight_map":{"a":"none.safetensors"}})"), ErrorCode::kIo,
               {"index.json", "'a'", "none.safetensors", "No such file"});
  expect_error(open(R"({"weight_map":{"a":"one.safetensors","c":"one.safetensors"}})"), kBadFile,
               {"index.json", "'c'", "one.safetensors", "does not hold"});
  expect_error(open(R"({"weight_map":{"a":"two.safetensors"}})"), kBadFile, {"'a'", "two.safetensors"});
  dir.write("bad.safetensors", "short");
  expect_error(open(R"({"weight_map":{"a":"bad.safetensors"}})"), kBadFile, {"bad.safetensors", "5 bytes"});
}

TEST_F(Sharded, ShardsStayInTheDirectory) {
  for (const char* name : {"../one.safetensors", "/etc/passwd", "sub/one.safetensors", "..", ".", ""})
    expect_error(open(fmt::format(R"({{"weight_map":{{"a":"{}"}}}})", name)), kBadFile,
                 {"index.json", "'a'", fmt::format("'{}'", name), "plain file name"});
  expect_error(open(R"({"weight_map":{"a":"one.safetensors\u0000"}})"), kBadFile, {"one.safetensors\\x00"});
}

TEST_F(Sharded, RefusesOtherIndexes) {
  expect_error(open("{}"), kBadFile, {"index.json", "no weight_map"});
  expect_error(open(""), kBadFile, {"index.json", "malformed JSON"});
  expect_error(open("[]"), kBadFile, {"an array", "an object"});
  expect_error(open("7"), kBadFile, {"the number 7"});
  expect_error(open(R"({"weight_map":7})"), kBadFile, {"weight_map is the number 7"});
  expect_error(open(R"({"weight_map":{"a":7}})"), kBadFile, {"weight_map 'a' is the number 7", "a string"});
  expect_error(open(R"({"weight_map":{"a":{}}})"), kBadFile, {"weight_map 'a' is an object"});
  expect_error(open(R"({"weight_map":{"a":"x","a":"y"}})"), kBadFile, {"weight_map 'a' occurs twice"});
  expect_error(open(R"({"weight_map":{},"weight_map":{}})"), kBadFile, {"weight_map occurs twice"});
}

TEST(Safetensors, OpensAFileOrADirectory) {
  const TempDir dir;
  expect_error(Safetensors::open(dir.path()), ErrorCode::kIo, {"neither", "model.safetensors"});
  const std::string path =
      dir.write("model.safetensors", SafetensorsWriter().tensor("t", "U8", {9000}, Bytes(9000)).build());
  for (const std::string& name : {path, dir.path()}) {
    auto file = Safetensors::open(name);
    ASSERT_TRUE(file) << file.error().message;
    file->release(file->find("t")->span());
    EXPECT_EQ(file->find("t")->data[8999], std::byte{0});
  }
  expect_error(Safetensors::open(dir.path() + "/none"), ErrorCode::kIo, {"none", "No such file"});
}

}  // namespace
}  // namespace warpfold::formats
