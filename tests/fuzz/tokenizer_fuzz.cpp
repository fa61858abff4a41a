// Tokenizers. An input that begins with "GGUF" is a vocabulary, and what it can load encodes a fixed text.
// One that begins with "{" is a tokenizer.json. Any other input is a text for four fixed vocabularies, which
// must come back as it was.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "text/utf8.h"
#include "text/vocabularies.h"
#include "warpfold/text/tokenizer.h"
#include "warpfold/text/unigram.h"
#include "warpfold/text/wordpiece.h"

namespace {

using namespace warpfold;
using namespace warpfold::text;

void check_vocabulary(std::string_view file) {
  const auto gguf = formats::Gguf::parse(std::as_bytes(std::span(file)), "fuzz.gguf");
  if (!gguf) return;
  const auto tokenizer = Tokenizer::from_gguf(*gguf);
  if (!tokenizer) return;
  for (const bool special : {false, true}) {
    const auto ids = tokenizer->encode("hello <s>aaa</s> 12\n\xF0\x9F\xA6\x99 <0x0A>",
                                       {.parse_special = special, .add_eos = true});
    if (!ids) continue;
    for (const TokenId id : *ids)
      if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
    const std::string text = tokenizer->decode(*ids, special);
    if (to_valid_utf8(text) != text) std::abort();
  }
  for (const TokenId id : {kNoToken, TokenId{0}, TokenId{1000}, tokenizer->vocab_size(), tokenizer->bos()})
    tokenizer->piece(id, true), tokenizer->token_text(id), tokenizer->is_end_of_generation(id);
}

void check_json(std::string_view file) {
  const std::string text = "Hello, the unaffable c\u0301at! \u6771\xFF ##s [SEP] </s>";
  if (const auto words = WordPiece::parse(file, "fuzz.json")) {
    for (const std::int64_t most : {2, 5, 1000}) {
      const auto ids = words->encode(text, most);
      if (static_cast<std::int64_t>(ids.size()) > most) std::abort();
      for (const TokenId id : ids)
        if (id < 0 || id >= words->vocab_size()) std::abort();
    }
  }
  if (const auto pieces = Unigram::parse(file, "fuzz.json")) {
    const auto ids = pieces->encode(text);
    for (const TokenId id : ids)
      if (id < 0 || id >= pieces->vocab_size()) std::abort();
    pieces->decode(ids);
  }
}

Tokenizer load(GgufBuilder file) { return std::move(*Tokenizer::from_gguf(*file.parse())); }

Tokenizer byte_level(const char* pre) {
  TestVocabulary vocabulary = byte_level_vocabulary();
  vocabulary.add("<s>", 3);
  vocabulary.add("<t>", 4);
  vocabulary.add("<t><t>a", 4);
  return load(byte_level_file(vocabulary, pre));
}

void check_text(std::string_view bytes) {
  static const Tokenizer tokenizers[] = {byte_level("smollm"), byte_level("llama-bpe"), byte_level("qwen2"),
                                         load(sentence_piece_file(sentence_piece_vocabulary()))};
  std::string text = to_valid_utf8(bytes);
  for (const Tokenizer& tokenizer : tokenizers) {
    // SentencePiece writes spaces as U+2581, so that character comes back as a space.
    const bool pieces = &tokenizer == &tokenizers[3];
    if (pieces && text.find("\xE2\x96\x81") != std::string::npos) continue;
    for (const bool special : {false, true}) {
      const auto ids = tokenizer.encode(text, {.add_bos = false, .parse_special = special});

      if (!ids || tokenizer.decode(*ids, special) != text) std::abort();
    }
    const std::size_t half = text.size() / 2;
    const TextPart parts[] = {{std::string_view(text).substr(0, half), true},
                              {std::string_view(text).substr(half), false}};
    const auto ids = tokenizer.encode(parts, EncodeOptions{.add_bos = false});
    if (!ids) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with("GGUF"))
    check_vocabulary(input);
  else if (input.starts_with("{"))
    check_json(input);
  else
    check_text(input);
  return 0;
}
