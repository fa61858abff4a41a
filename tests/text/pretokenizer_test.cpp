// The pre-tokenisers on texts whose words follow from the published expressions by hand.
#include "text/pretokenizer.h"

#include <gtest/gtest.h>

namespace warpfold::text {
namespace {

using Words = std::vector<std::string_view>;

Words split(std::string_view name, std::string_view text) {
  auto pretokenizer = Pretokenizer::make(name);
  EXPECT_TRUE(pretokenizer);
  return *pretokenizer->split(text);
}

TEST(Pretokenizer, Gpt2) {
  EXPECT_EQ(split("gpt-2", "Hello  world's 123 !?\n\n x"),
            (Words{"Hello", " ", " world", "'s", " 123", " !?", "\n\n", " x"}));
  EXPECT_EQ(split("default", "I'LL we'll   "), (Words{"I", "'", "LL", " we", "'ll", "   "}));
}

TEST(Pretokenizer, SmolLmCutsEveryDigit) {
  EXPECT_EQ(split("smollm", " 12  3x"), (Words{" ", "1", "2", "  ", "3", "x"}));
}

TEST(Pretokenizer, Llama3) {
  EXPECT_EQ(split("llama-bpe", "I'LL pay 12345!\n\n  \n (a)\tb"),
            (Words{"I", "'LL", " pay", " ", "123", "45", "!\n\n", "  \n", " (", "a", ")", "\tb"}));
  EXPECT_TRUE(Pretokenizer::make("llama-bpe")->ignore_merges());
}

TEST(Pretokenizer, Qwen2) {
  EXPECT_EQ(split("qwen2", "a 12 'S"), (Words{"a", " ", "1", "2", " '", "S"}));
  EXPECT_EQ(split("qwen2", "it'S"), (Words{"it", "'S"}));
  EXPECT_FALSE(Pretokenizer::make("qwen2")->ignore_merges());
}

// White space is Unicode's: U+3000 is, U+180E is not.
TEST(Pretokenizer, WhiteSpaceIsUnicodes) {
  EXPECT_EQ(split("gpt-2", "a\u3000\u3000b"), (Words{"a", "\u3000", "\u3000", "b"}));
  EXPECT_EQ(split("gpt-2", "a \u180E"), (Words{"a", " \u180E"}));
}

TEST(Pretokenizer, OthersAreRefusedByName) {
  auto other = Pretokenizer::make("viking");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(other.error().message.find("\"viking\""), std::string::npos);
}

}  // namespace
}  // namespace warpfold::text
