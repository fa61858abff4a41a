// The text side of the engine with a small SentencePiece-style vocabulary: whole characters in the stream,
// stop strings, end of generation, BOS and control tokens.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/fake_decoder.h"
#include "engine/text_stream.h"
#include "support/gguf_writer.h"
#include "warpfold/engine/perplexity.h"
#include "warpfold/engine/session.h"

namespace warpfold::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Tokens = std::vector<TokenId>;

// 0 <unk>, 1 <s>, 2 </s>, 3 + b: the byte b, then words.
constexpr TokenId kBos = 1, kEos = 2, kBytes = 3, kWords = 259;
const std::vector<std::string> kWordList{"a", "b", "c", "ST", "OP", "STOP", " a", "xSTO"};
constexpr std::int64_t kVocab = 267;

TokenId byte(int b) { return kBytes + b; }
TokenId word(std::string_view text) {
  return kWords +
         static_cast<TokenId>(std::find(kWordList.begin(), kWordList.end(), text) - kWordList.begin());
}

Result<text::Tokenizer> make_tokenizer() {
  enum : std::int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kByte = 6 };
  std::vector<std::string> tokens{"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> types{kUnknown, kControl, kControl};
  for (int b = 0; b < 256; ++b) {
    tokens.push_back(fmt::format("<0x{:02X}>", b));
    types.push_back(kByte);
  }
  for (std::string text : kWordList) {
    if (text.front() == ' ') text = "\u2581" + text.substr(1);
    tokens.push_back(text);
    types.push_back(kNormal);
  }
  test::GgufWriter writer;
  writer.value("tokenizer.ggml.model", "llama");
  writer.array("tokenizer.ggml.tokens", tokens);
  writer.array("tokenizer.ggml.scores", std::vector<float>(tokens.size(), 0.0f));
  writer.array("tokenizer.ggml.token_type", types);
  writer.value("tokenizer.ggml.bos_token_id", std::uint32_t{kBos});
  writer.value("tokenizer.ggml.eos_token_id", std::uint32_t{kEos});
  writer.value("tokenizer.ggml.unknown_token_id", std::uint32_t{0});
  writer.value("tokenizer.ggml.add_bos_token", true);
  writer.value("tokenizer.ggml.add_space_prefix", false);
  const auto bytes = writer.build();
  auto file = formats::Gguf::parse(bytes, "test.gguf");
  EXPECT_TRUE(file) << file.error().message;
  return text::Tokenizer::from_gguf(*file);
}

ModelPtr make_model() {
  return fake::make_model(make_tokenizer(),
                          text::ChatTemplate::parse("{{ bos_token }}{% for m in messages %}{{ m['content'] }}"
                                                    "{{ eos_token }}{% endfor %}"),
                          kVocab, 64);
}

struct Streamed {
  Generation generation;
  std::vector<std::string> pieces;  // of each call; "" for none
  Tokens ids;
};

// Generates what `script` says.
Streamed generate(const Tokens& script, GenerateOptions options = {}) {
  const auto model = make_model();
  auto session = *Session::create(model);
  fake::control().script = script;
  fake::control().script_start = 2;
  Streamed result;
  options.max_tokens = std::min(options.max_tokens, static_cast<std::int64_t>(script.size()));
  options.on_token = [&](TokenId id, std::string_view text) {
    result.ids.push_back(id);
    result.pieces.emplace_back(text);
  };
  auto generation = session.generate(Tokens{kBos, word("a")}, options);
  EXPECT_TRUE(generation) << generation.error().message;
  result.generation = std::move(*generation);
  std::string joined;
  for (const std::string& piece : result.pieces) joined += piece;
  EXPECT_EQ(joined, result.generation.text);
  return result;
}

TEST(Text, StreamsWholeCharacters) {
  const auto result = generate({byte(0xF0), byte(0x9F), byte(0xA6), byte(0x99), word(" a"), byte('!')});
  EXPECT_THAT(result.pieces, ElementsAre("", "", "", "🦙", " a", "!"));
  EXPECT_EQ(result.generation.finish_reason, FinishReason::kLength);
}

TEST(Text, ACutCharacterBecomesTheReplacementCharacter) {
  const auto result = generate({word("a"), byte(0xF0)});
  EXPECT_THAT(result.pieces, ElementsAre("a", "", "\uFFFD"));
  EXPECT_THAT(result.ids, ElementsAre(word("a"), byte(0xF0), text::kNoToken));
  EXPECT_THAT(result.generation.tokens, ElementsAre(word("a"), byte(0xF0)));
}

TEST(Text, OverlongFormsAndSurrogatesBecomeReplacementCharacters) {
  EXPECT_EQ(generate({byte(0xC0), byte(0x80)}).generation.text, "\uFFFD\uFFFD");
  EXPECT_EQ(generate({byte(0xED), byte(0xA0), byte(0x80)}).generation.text, "\uFFFD\uFFFD\uFFFD");
}

TEST(Text, EndsAtTheEndOfGenerationToken) {
  const auto result = generate({word("a"), word("b"), kEos, word("c")});
  EXPECT_THAT(result.generation.tokens, ElementsAre(word("a"), word("b")));
  EXPECT_EQ(result.generation.text, "ab");
  EXPECT_EQ(result.generation.finish_reason, FinishReason::kStop);
}

TEST(Text, StopStringsEndTheTextBeforeThem) {
  const GenerateOptions options{.stop = {"STOP"}};
  auto result = generate({word("a"), word("ST"), word("OP"), word("b")}, options);
  EXPECT_THAT(result.pieces, ElementsAre("a", "", ""));
  EXPECT_THAT(result.generation.tokens, ElementsAre(word("a"), word("ST"), word("OP")));
  EXPECT_EQ(result.generation.text, "a");
  EXPECT_EQ(result.generation.finish_reason, FinishReason::kStop);

  // What began like a stop string but is none comes late, none of it lost.
  result = generate({word("ST"), word("b"), word("ST"), word("STOP"), word("c")}, options);
  EXPECT_THAT(result.pieces, ElementsAre("", "STb", "", "ST"));
  EXPECT_EQ(result.generation.text, "STbST");

  result = generate({word("a"), word("xSTO")}, options);  // the end comes first
  EXPECT_THAT(result.pieces, ElementsAre("a", "x", "STO"));
  EXPECT_EQ(result.generation.finish_reason, FinishReason::kLength);
}

TEST(TextStream, TheEarliestOfSeveralStopStringsCounts) {
  const std::vector<std::string> stops{"world", "lo w", "é"};
  TextStream stream(stops);
  EXPECT_EQ(stream.push("hel"), "he");  // "l" may begin "lo w"
  EXPECT_EQ(stream.push("lo world"), "l");
  EXPECT_TRUE(stream.stopped());
  EXPECT_EQ(stream.push("more"), "");
  EXPECT_EQ(stream.finish(), "");
  EXPECT_EQ(stream.take_text(), "hel");

  TextStream split(stops);
  EXPECT_EQ(split.push("caf\xC3"), "caf");
  EXPECT_EQ(split.push("\xA9"), "");
  EXPECT_TRUE(split.stopped());
}

TEST(Text, EmptyStopStringsAreRejected) {
  auto session = *Session::create(make_model());
  EXPECT_THAT(session.generate(Tokens{1}, {.stop = {"a", ""}}).error().message,
              HasSubstr("stop string is empty"));
}

TEST(Text, BosComesExactlyOnce) {
  const auto model = make_model();
  EXPECT_EQ(model->added_bos(), kBos);
  EXPECT_THAT(*model->encode("a"), ElementsAre(kBos, word("a")));
  const std::vector<text::ChatMessage> messages{{"user", "a"}};  // the template begins with BOS itself
  EXPECT_THAT(*model->encode_chat(messages), ElementsAre(kBos, word("a"), kEos));
}

TEST(Text, UserTextNeverBecomesControlTokens) {
  const auto model = make_model();
  const std::vector<text::ChatMessage> messages{{"user", "a</s>"}};
  const auto ids = *model->encode_chat(messages);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), kEos), 1);  // the template's own
  EXPECT_EQ(ids.back(), kEos);
  const auto plain = *model->encode("</s>");
  EXPECT_EQ(std::count(plain.begin(), plain.end(), kEos), 0);
}

TEST(Text, ATokenizerWithMoreTokensThanTheDecoderIsAnError) {
  auto pool = std::make_unique<ThreadPool>(1);
  auto decoder = models::Decoder::load("266 64", *pool);
  const auto model = Model::assemble(std::move(*decoder), make_tokenizer(),
                                     fail(ErrorCode::kUnsupported, "none"), std::move(pool));
  EXPECT_EQ(model.error().message, "the tokenizer has 267 tokens, the decoder embeds 266");
}

TEST(Perplexity, TheFirstTokenOfEachChunkIsBos) {
  const auto with_bos = make_model();
  Tokens tokens(20, word("a")), replaced = tokens;
  replaced[0] = replaced[10] = kBos;
  const double value = perplexity(*with_bos, tokens, {.context = 10})->value;
  const auto without = fake::make_model(kVocab, 64);
  EXPECT_EQ(value, perplexity(*without, replaced, {.context = 10})->value);
  EXPECT_NE(value, perplexity(*without, tokens, {.context = 10})->value);
}

}  // namespace
}  // namespace warpfold::engine
