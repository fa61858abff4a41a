// Unigram against the tokenizers library (tests/reference/make_unigram.py), and the files it refuses.
#include "warpfold/text/unigram.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/expect_error.h"

namespace warpfold::text {
namespace {

using Ids = std::vector<TokenId>;
using Json = nlohmann::json;
using test::expect_error;

std::string read(const std::string& path) {
  std::ifstream file(std::string(WARPFOLD_SOURCE_DIR) + "/tests/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Unigram, EqualsTheTokenizersLibrary) {
  const auto tokenizer = Unigram::parse(read("text/unigram/tokenizer.json"), "t.json");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  for (const Json& c : Json::parse(read("text/unigram/cases.json"))) {
    const std::string text = c["text"];
    EXPECT_EQ(tokenizer->encode(text), c["ids"].get<Ids>()) << text;
    EXPECT_EQ(tokenizer->decode(c["ids"].get<Ids>()), c["decoded"].get<std::string>()) << text;
  }
}

TEST(Unigram, TextIsNoControlToken) {
  const auto tokenizer = Unigram::parse(read("text/unigram/tokenizer.json"), "t.json");
  ASSERT_TRUE(tokenizer);
  const Ids ids = tokenizer->encode("a </s> <pad>");
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 1), 1) << "the one that ends every text";
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 0), 0);
}

TEST(Unigram, LettersOfTheReversingModel) {
  const auto tokenizer = Unigram::parse(read("models/reverse/tokenizer.json"), "t.json");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(tokenizer->encode("ab c"), (Ids{4, 5, 3, 6, 1}));
  EXPECT_EQ(tokenizer->encode("aÉÉ1b"), (Ids{4, 2, 5, 1})) << "unknown characters in a row are one token";
  EXPECT_EQ(tokenizer->decode(Ids{4, 5, 3, 6, 1}), "ab c");
  EXPECT_EQ(tokenizer->decode(Ids{3, 4, -1, 99, 0}), " a");
  EXPECT_EQ(tokenizer->encode("\xFF"), (Ids{2, 1}));
  EXPECT_EQ(tokenizer->token_text(3), "\u2581");
  EXPECT_EQ(tokenizer->token_text(-1), "");
}

TEST(UnigramFile, BrokenOnesAreNamed) {
  const Json good = Json::parse(read("models/reverse/tokenizer.json"));
  const auto parse = [](const Json& json) { return Unigram::parse(json.dump(), "t.json"); };
  const auto with = [&](const char* pointer, const Json& value) {
    Json json = good;
    json[Json::json_pointer(pointer)] = value;
    return json;
  };
  expect_error(Unigram::parse("{", "t.json"), ErrorCode::kBadFile, {"t.json"});
  expect_error(parse(with("/model/type", "BPE")), ErrorCode::kUnsupported, {"\"BPE\""});
  expect_error(parse(with("/model/byte_fallback", true)), ErrorCode::kUnsupported, {"byte_fallback"});
  expect_error(parse(with("/normalizer", {{"type", "Lowercase"}})), ErrorCode::kUnsupported,
               {"\"Lowercase\""});
  expect_error(parse(with("/pre_tokenizer/type", "Digits")), ErrorCode::kUnsupported, {"\"Digits\""});
  expect_error(parse(with("/model/vocab", Json::array())), ErrorCode::kBadFile, {"model.vocab"});
  expect_error(parse(with("/model/vocab/4", "a")), ErrorCode::kBadFile, {"entry 4"});
  expect_error(parse(with("/model/vocab/4", {"a", "b"})), ErrorCode::kBadFile, {"entry 4"});
  expect_error(parse(with("/model/vocab/4", {"a", -1e300})), ErrorCode::kBadFile, {"entry 4"});
  expect_error(parse(with("/model/unk_id", 30)), ErrorCode::kBadFile, {"unk_id is 30", "30 tokens"});
  expect_error(parse(with("/model/unk_id", nullptr)), ErrorCode::kBadFile, {"unk_id is missing"});
  expect_error(parse(with("/added_tokens/1/id", 31)), ErrorCode::kBadFile, {"31"});
  expect_error(parse(with("/post_processor/single/1/SpecialToken/id", "<end>")), ErrorCode::kBadFile,
               {"<end>"});
  expect_error(Unigram::open("/nonexistent/t.json"), ErrorCode::kIo, {"/nonexistent/t.json"});
}

}  // namespace
}  // namespace warpfold::text
