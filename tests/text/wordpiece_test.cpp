// WordPiece on a small vocabulary; a real one is checked by tests/engine/embedder_test.cpp.
#include "warpfold/text/wordpiece.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

#include "support/expect_error.h"

namespace warpfold::text {
namespace {

using test::expect_error;

std::string tokenizer_json() {
  std::ifstream file(std::string(WARPFOLD_SOURCE_DIR) + "/tests/models/fixtures/bert/tokenizer.json");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// The pieces, joined by a space.
std::string pieces(const WordPiece& tokenizer, std::string_view text, std::int64_t max_tokens = 64) {
  std::string out;
  for (const TokenId id : tokenizer.encode(text, max_tokens))
    out += std::string(tokenizer.token_text(id)) + " ";
  return out.empty() ? out : out.substr(0, out.size() - 1);
}

class WordPieceTest : public ::testing::Test {
 protected:
  static WordPiece load(const std::string& json) {
    auto tokenizer = WordPiece::parse(json, "t.json");
    if (!tokenizer) throw std::runtime_error(tokenizer.error().message);
    return std::move(*tokenizer);
  }
  WordPiece tokenizer_ = load(tokenizer_json());
};

TEST_F(WordPieceTest, LongestPiecesFromTheLeft) {
  EXPECT_EQ(pieces(tokenizer_, "The cat sat."), "[CLS] the cat sat . [SEP]");
  EXPECT_EQ(pieces(tokenizer_, "unaffable cats"), "[CLS] un ##aff ##able cat ##s [SEP]");
  EXPECT_EQ(pieces(tokenizer_, "cat,dog!"), "[CLS] cat , dog ! [SEP]");
  EXPECT_EQ(pieces(tokenizer_, "xyz xyzq"), "[CLS] x ##y ##z [UNK] [SEP]")
      << "a word is known as a whole or not at all";
  EXPECT_EQ(
      pieces(tokenizer_, "x" + std::string(19, 'y')), "[CLS] x" + [] {
        std::string y;
        for (int i = 0; i < 19; ++i) y += " ##y";
        return y;
      }() + " [SEP]");
  EXPECT_EQ(pieces(tokenizer_, "x" + std::string(20, 'y')), "[CLS] [UNK] [SEP]")
      << "longer than 20 characters";
}

TEST_F(WordPieceTest, Cleaning) {
  EXPECT_EQ(pieces(tokenizer_, ""), "[CLS] [SEP]");
  EXPECT_EQ(pieces(tokenizer_, " \t\n\r "), "[CLS] [SEP]");
  EXPECT_EQ(pieces(tokenizer_, "CAFÉ cafe\u0301"), "[CLS] cafe cafe [SEP]");
  EXPECT_EQ(pieces(tokenizer_, "c\u200Ba\u0000t"), "[CLS] [UNK] [SEP]") << "the literal ends at U+0000";
  EXPECT_EQ(pieces(tokenizer_, "c\u00ADa\u200Bt"), "[CLS] cat [SEP]");
  EXPECT_EQ(pieces(tokenizer_, "the\u00A0cat\u3000dog"), "[CLS] the cat dog [SEP]");
  EXPECT_EQ(pieces(tokenizer_, "cat\u6771dog"), "[CLS] cat [UNK] dog [SEP]") << "an ideograph stands alone";
  EXPECT_EQ(pieces(tokenizer_,
                   "a\xFF\xFE"
                   "cat"),
            "[CLS] [UNK] [SEP]")
      << "ill-formed UTF-8 goes";
}

TEST_F(WordPieceTest, TextIsNoControlToken) {
  EXPECT_EQ(pieces(tokenizer_, "[CLS] a [SEP] [MASK]"),
            "[CLS] [UNK] [UNK] [UNK] a [UNK] [UNK] [UNK] [UNK] [UNK] [UNK] [SEP]");
}

TEST_F(WordPieceTest, CutsAtTheRight) {
  EXPECT_EQ(pieces(tokenizer_, "the cats sat", 5), "[CLS] the cat ##s [SEP]");
  EXPECT_EQ(pieces(tokenizer_, "the cats sat", 4), "[CLS] the cat [SEP]");
  EXPECT_EQ(pieces(tokenizer_, "the cats sat", 2), "[CLS] [SEP]");
  EXPECT_EQ(tokenizer_.encode(std::string(1 << 20, 'a'), 8).size(), 3u);
}

TEST_F(WordPieceTest, CaseAndAccentsStayWhereTheFileSaysSo) {
  const WordPiece cased = load(replaced(tokenizer_json(), "\"lowercase\": true", "\"lowercase\": false"));
  EXPECT_EQ(pieces(cased, "cat Cat"), "[CLS] cat [UNK] [SEP]");
  EXPECT_EQ(pieces(cased, "café"), "[CLS] [UNK] [SEP]")
      << "accents follow the case unless the file says otherwise";
  const WordPiece stripped =
      load(replaced(replaced(tokenizer_json(), "\"lowercase\": true", "\"lowercase\": false"),
                    "\"strip_accents\": null", "\"strip_accents\": true"));
  EXPECT_EQ(pieces(stripped, "café"), "[CLS] cafe [SEP]");
}

TEST_F(WordPieceTest, TokenTextOutsideOfTheVocabulary) {
  EXPECT_EQ(tokenizer_.token_text(-1), "");
  EXPECT_EQ(tokenizer_.token_text(static_cast<TokenId>(tokenizer_.vocab_size())), "");
}

TEST(WordPieceFile, BrokenOnesAreNamed) {
  const std::string good = tokenizer_json();
  const auto parse = [](const std::string& json) { return WordPiece::parse(json, "t.json"); };
  expect_error(parse("[]"), ErrorCode::kBadFile, {"t.json", "JSON object"});
  expect_error(parse(good.substr(0, good.size() / 2)), ErrorCode::kBadFile, {"t.json"});
  expect_error(parse("{}"), ErrorCode::kUnsupported, {"model.type"});
  expect_error(parse(replaced(good, "\"WordPiece\"", "\"BPE\"")), ErrorCode::kUnsupported, {"\"BPE\""});
  expect_error(parse(replaced(good, "\"BertNormalizer\"", "\"NFC\"")), ErrorCode::kUnsupported, {"\"NFC\""});
  expect_error(parse(replaced(good, "\"cat\": 7", "\"cat\": 6")), ErrorCode::kBadFile, {"\"cat\"", "6"});
  expect_error(parse(replaced(good, "\"cat\": 7", "\"cat\": 700")), ErrorCode::kBadFile,
               {"\"cat\"", "700", "27 tokens"});
  expect_error(parse(replaced(good, "\"cat\": 7", "\"cat\": -7")), ErrorCode::kBadFile, {"\"cat\"", "-7"});
  expect_error(parse(replaced(good, "\"[SEP]\": 3", "\"[SEQ]\": 3")), ErrorCode::kBadFile, {"no [SEP]"});
  expect_error(WordPiece::open("/nonexistent/t.json"), ErrorCode::kIo, {"/nonexistent/t.json"});
}

}  // namespace
}  // namespace warpfold::text
