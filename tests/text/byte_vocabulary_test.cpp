// The tokens of a byte-level tokenizer.json as bytes.
#include "warpfold/text/byte_vocabulary.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace warpfold::text {
namespace {

using test::expect_error;

std::string json(const std::string& vocab, const std::string& added = "[]", const std::string& type = "BPE") {
  return R"({"model": {"type": ")" + type + R"(", "vocab": )" + vocab +
         R"(}, "decoder": {"type": "ByteLevel"}, "added_tokens": )" + added + "}";
}

TEST(ByteVocabulary, Decodes) {
  const auto vocabulary = ByteVocabulary::parse(
      json(
          R"({"a": 0, "Ġthe": 1, "Ã": 2, "©": 3})",
          R"([{"id": 4, "content": "<|en|>", "special": true}, {"id": 5, "content": "  ", "special": false}])"),
      "t.json");
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  using Ids = std::vector<TokenId>;
  EXPECT_EQ(vocabulary->decode(Ids{0, 1, 4, 2, 3, 5}), "a the\u00E9  ");
  EXPECT_EQ(vocabulary->decode(Ids{2, 0}), "\uFFFDa") << "half a character";
  EXPECT_EQ(vocabulary->decode(Ids{-1, 6}), "");
  EXPECT_EQ(vocabulary->control("<|en|>"), 4);
  EXPECT_EQ(vocabulary->control("a"), kNoToken);
}

TEST(ByteVocabulary, BrokenFilesAreNamed) {
  const auto parse = [](const std::string& text) { return ByteVocabulary::parse(text, "t.json"); };
  expect_error(parse("["), ErrorCode::kBadFile, {"t.json"});
  expect_error(parse(json("{}", "[]", "Unigram")), ErrorCode::kUnsupported, {"\"Unigram\""});
  expect_error(parse(json("{}")), ErrorCode::kBadFile, {"model.vocab"});
  expect_error(parse(json(R"({"a": 1})")), ErrorCode::kBadFile, {"\"a\" is 1", "1 tokens"});
  expect_error(parse(json(R"({"a": 0})", R"([{"content": "x"}])")), ErrorCode::kBadFile,
               {"\"x\" is missing"});
  expect_error(ByteVocabulary::open("/nonexistent"), ErrorCode::kIo, {"/nonexistent"});
}

}  // namespace
}  // namespace warpfold::text
