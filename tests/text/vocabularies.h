// Tiny vocabularies for tests: a byte-level one in the manner of SmolLM or Llama 3, and a SentencePiece-style
// one in the manner of Llama 2.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "text/bpe.h"
#include "text/gguf_builder.h"
#include "text/utf8.h"

namespace warpfold::text {

struct TestVocabulary {
  std::vector<std::string> tokens;
  std::vector<std::int32_t> types;
  std::vector<float> scores;
  std::vector<std::string> merges;

  std::int32_t add(std::string text, std::int32_t type = 1, float score = 0) {
    tokens.push_back(std::move(text));
    types.push_back(type);
    scores.push_back(score);
    return static_cast<std::int32_t>(tokens.size()) - 1;
  }
  // Adds the merge and its result.
  void merge(const std::string& left, const std::string& right) {
    merges.push_back(left + " " + right);
    add(left + right);
  }
};

// ids 0 to 255 are the bytes in order.
inline TestVocabulary byte_level_vocabulary() {
  TestVocabulary vocabulary;
  for (unsigned b = 0; b < 256; ++b) {
    std::string character;
    append_utf8(character, byte_to_character(static_cast<std::uint8_t>(b)));
    vocabulary.add(character);
  }
  vocabulary.merge("a", "a");
  vocabulary.merge("aa", "aa");
  vocabulary.merge("h", "e");
  vocabulary.merge("l", "l");
  vocabulary.merge("he", "ll");
  vocabulary.merge("hell", "o");
  vocabulary.merge("\xC4\xA0", "hello");  // " hello"
  return vocabulary;
}

inline GgufBuilder byte_level_file(const TestVocabulary& vocabulary, const std::string& pre = "gpt-2") {
  GgufBuilder file;
  file.string("tokenizer.ggml.model", "gpt2").string("tokenizer.ggml.pre", pre);
  file.strings("tokenizer.ggml.tokens", vocabulary.tokens);
  file.numbers("tokenizer.ggml.token_type", formats::GgufType::kI32, vocabulary.types);
  file.strings("tokenizer.ggml.merges", vocabulary.merges);
  return file;
}

// <unk> 0, <s> 1, </s> 2, bytes from 3 on, then pieces.
inline TestVocabulary sentence_piece_vocabulary() {
  TestVocabulary vocabulary;
  vocabulary.add("<unk>", 2);
  vocabulary.add("<s>", 3);
  vocabulary.add("</s>", 3);
  constexpr char kHex[] = "0123456789ABCDEF";
  for (unsigned b = 0; b < 256; ++b)
    vocabulary.add(std::string("<0x") + kHex[b / 16] + kHex[b % 16] + ">", 6);
  for (const char* piece :
       {"\xE2\x96\x81", "a", "b", "c", "h", "e", "l", "o", "<", "/", "s", ">", "0", "x", "A"})
    vocabulary.add(piece, 1, -100);
  vocabulary.add(
      "\xE2\x96\x81"
      "a",
      1, -1);
  vocabulary.add("ab", 1, -2);
  vocabulary.add("bc", 1, -3);
  vocabulary.add("abc", 1, -4);
  vocabulary.add("aa", 1, -5);
  vocabulary.add("aaaa", 1, -6);
  vocabulary.add("</", 1, -7);
  vocabulary.add("s>", 1, -8);
  return vocabulary;
}

inline GgufBuilder sentence_piece_file(const TestVocabulary& vocabulary) {
  GgufBuilder file;
  file.string("tokenizer.ggml.model", "llama");
  file.strings("tokenizer.ggml.tokens", vocabulary.tokens);
  file.numbers("tokenizer.ggml.scores", formats::GgufType::kF32, vocabulary.scores);
  file.numbers("tokenizer.ggml.token_type", formats::GgufType::kI32, vocabulary.types);
  return file;
}

}  // namespace warpfold::text
