// Reads and checks tokenizer.ggml.*. Every rule that a file can break is an error here with the key and the
// numbers; nothing later indexes with a value that was not checked.
#include "text/vocabulary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "text/utf8.h"

namespace warpfold::text {
namespace {

using formats::Gguf;
using formats::GgufType;

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kScores = "tokenizer.ggml.scores";
constexpr std::string_view kTypes = "tokenizer.ggml.token_type";

// Texts of control tokens that end a turn, in models whose files name only one of them as eos.
constexpr std::string_view kEndTexts[] = {"<|im_end|>",    "<|eot_id|>",    "<|eom_id|>", "<|end|>",
                                          "<end_of_turn>", "<|endoftext|>", "</s>"};

tl::unexpected<Error> bad(const Gguf& file, std::string_view key, std::string what) {
  return fail(ErrorCode::kBadFile,
              fmt::format("{}: {}{}{}", file.name(), key, what.starts_with('[') ? "" : " ", what));
}

// An array key must hold elements of the type that the format prescribes.
Status check_element(const Gguf& file, std::string_view key, std::initializer_list<GgufType> allowed,
                     std::string_view expected) {
  const formats::GgufValue* value = file.find_key(key);
  if (!value) return bad(file, key, "is missing");
  if (value->type != GgufType::kArray ||
      std::find(allowed.begin(), allowed.end(), value->element) == allowed.end())
    return bad(file, key,
               fmt::format("must be an array of {}, but is {} {}", expected,
                           value->type == GgufType::kArray ? "an array of" : "a value of type",
                           formats::name(value->type == GgufType::kArray ? value->element : value->type)));
  return {};
}

Status check_length(const Gguf& file, std::string_view key, std::size_t found, std::size_t tokens) {
  if (found != tokens)
    return bad(file, key, fmt::format("has {} entries, but {} has {}", found, kTokens, tokens));
  return {};
}

Result<bool> flag_or(const Gguf& file, std::string_view key, bool fallback) {
  if (!file.find_key(key)) return fallback;
  return file.boolean(key);
}

Status load_texts(const Gguf& file, Vocabulary& vocabulary) {
  WF_CHECK(check_element(file, kTokens, {GgufType::kString}, "strings"));
  WF_TRY(const std::span<const std::string_view> tokens, file.strings(kTokens));
  if (tokens.empty() || tokens.size() > static_cast<std::size_t>(std::numeric_limits<TokenId>::max()))
    return bad(file, kTokens, fmt::format("has {} entries", tokens.size()));
  std::size_t bytes = 0;
  for (const std::string_view token : tokens) bytes += token.size();
  vocabulary.storage.reserve(bytes);
  vocabulary.texts.reserve(tokens.size());
  for (const std::string_view token : tokens) {
    const std::size_t begin = vocabulary.storage.size();
    vocabulary.storage.insert(vocabulary.storage.end(), token.begin(), token.end());
    vocabulary.texts.emplace_back(vocabulary.storage.data() + begin, token.size());
  }
  return {};
}

Status load_types(const Gguf& file, Vocabulary& vocabulary) {
  vocabulary.types.assign(vocabulary.texts.size(), TokenType::kNormal);
  if (!file.find_key(kTypes)) return {};
  WF_CHECK(check_element(file, kTypes, {GgufType::kI32, GgufType::kU32}, "32-bit integers"));
  WF_TRY(const std::vector<std::int64_t> types, file.integers(kTypes));
  WF_CHECK(check_length(file, kTypes, types.size(), vocabulary.texts.size()));
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] < 0 || types[i] > static_cast<int>(TokenType::kByte))
      return bad(file, kTypes, fmt::format("[{}] is {}; types are 0 to 6", i, types[i]));
    vocabulary.types[i] = static_cast<TokenType>(types[i]);
  }
  return {};
}

Status load_scores(const Gguf& file, Vocabulary& vocabulary) {
  WF_CHECK(check_element(file, kScores, {GgufType::kF32}, "32-bit floats"));
  WF_TRY(vocabulary.scores, file.floats(kScores));
  WF_CHECK(check_length(file, kScores, vocabulary.scores.size(), vocabulary.texts.size()));
  for (std::size_t i = 0; i < vocabulary.scores.size(); ++i)
    if (std::isnan(vocabulary.scores[i])) return bad(file, kScores, fmt::format("[{}] is not a number", i));
  return {};
}

// "<0x0A>" -> 10.
std::optional<unsigned> parse_byte_token(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  unsigned value = 0;
  for (const char c : text.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + static_cast<unsigned>(digit);
  }
  return value;
}

Status index_tokens(const Gguf& file, Vocabulary& vocabulary) {
  vocabulary.byte_tokens.fill(kNoToken);
  vocabulary.ids.reserve(vocabulary.texts.size());
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const std::string_view text = vocabulary.texts[id];
    switch (vocabulary.types[id]) {
      case TokenType::kByte: {
        const auto byte = parse_byte_token(text);
        if (!byte)
          return bad(file, kTokens,
                     fmt::format("[{}] is a byte token, but its text is \"{}\", not <0x00> to <0xFF>", id,
                                 to_valid_utf8(text.substr(0, 32))));
        if (vocabulary.byte_tokens[*byte] == kNoToken) vocabulary.byte_tokens[*byte] = id;
        break;
      }
      case TokenType::kUndefined:
      case TokenType::kNormal:
      case TokenType::kUserDefined:
        if (!text.empty()) vocabulary.ids.emplace(text, id);  // of two equal texts the first counts
        break;
      case TokenType::kUnknown:
      case TokenType::kControl:
      case TokenType::kUnused:
        break;
    }
  }
  return {};
}

// An id the file states must be in the vocabulary. `fallback` is what the format assumes when the key is
// absent; it counts only where the vocabulary has such a token.
Result<TokenId> special_id(const Gguf& file, const Vocabulary& vocabulary, std::string_view key,
                           TokenId fallback) {
  if (!file.find_key(key)) {
    const bool usable = vocabulary.contains(fallback) && (vocabulary.types[fallback] == TokenType::kControl ||
                                                          vocabulary.types[fallback] == TokenType::kUnknown);
    return usable ? fallback : kNoToken;
  }
  WF_TRY(const std::int64_t id, file.integer(key));
  if (id < 0 || id >= vocabulary.size())
    return bad(file, key, fmt::format("is {}, but the vocabulary has {} tokens", id, vocabulary.size()));
  return static_cast<TokenId>(id);
}

Status load_special(const Gguf& file, Vocabulary& vocabulary) {
  const bool sentence_piece = vocabulary.model == TokenizerModel::kSentencePiece;
  const auto id = [&](std::string_view name, TokenId fallback = kNoToken) {
    return special_id(file, vocabulary, fmt::format("tokenizer.ggml.{}_token_id", name), fallback);
  };
  WF_TRY(vocabulary.bos, id("bos", sentence_piece ? 1 : kNoToken));
  WF_TRY(vocabulary.eos, id("eos", sentence_piece ? 2 : kNoToken));
  WF_TRY(vocabulary.unknown, id("unknown", sentence_piece ? 0 : kNoToken));
  WF_TRY(const TokenId end_of_turn, id("eot"));
  WF_TRY(const TokenId end_of_message, id("eom"));
  WF_CHECK(id("padding"));
  for (const TokenId end : {vocabulary.eos, end_of_turn, end_of_message})
    if (end != kNoToken) vocabulary.end_of_generation.push_back(end);
  for (TokenId i = 0; i < vocabulary.size(); ++i)
    if (vocabulary.types[i] == TokenType::kControl &&
        std::find(std::begin(kEndTexts), std::end(kEndTexts), vocabulary.texts[i]) != std::end(kEndTexts))
      vocabulary.end_of_generation.push_back(i);
  std::sort(vocabulary.end_of_generation.begin(), vocabulary.end_of_generation.end());

  const bool llama3 = !sentence_piece && vocabulary.pre == "llama-bpe";
  WF_TRY(vocabulary.add_bos, flag_or(file, "tokenizer.ggml.add_bos_token", sentence_piece || llama3));
  WF_TRY(vocabulary.add_eos, flag_or(file, "tokenizer.ggml.add_eos_token", false));
  WF_TRY(vocabulary.add_space_prefix, flag_or(file, "tokenizer.ggml.add_space_prefix", sentence_piece));
  vocabulary.add_space_prefix = vocabulary.add_space_prefix && sentence_piece;
  return {};
}

}  // namespace

Result<Vocabulary> load_vocabulary(const Gguf& file) {
  Vocabulary vocabulary;
  WF_TRY(const std::string_view model, file.string("tokenizer.ggml.model"));
  if (model == "gpt2") {
    vocabulary.model = TokenizerModel::kByteLevelBpe;
  } else if (model == "llama") {
    vocabulary.model = TokenizerModel::kSentencePiece;
  } else {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: tokenizer.ggml.model \"{}\" is not supported (gpt2 and llama are)",
                            file.name(), to_valid_utf8(model)));
  }
  vocabulary.pre = "default";
  if (file.find_key("tokenizer.ggml.pre")) {
    WF_TRY(vocabulary.pre, file.string("tokenizer.ggml.pre"));
  }
  WF_CHECK(load_texts(file, vocabulary));
  WF_CHECK(load_types(file, vocabulary));
  if (vocabulary.model == TokenizerModel::kSentencePiece) WF_CHECK(load_scores(file, vocabulary));
  WF_CHECK(index_tokens(file, vocabulary));
  WF_CHECK(load_special(file, vocabulary));
  return vocabulary;
}

}  // namespace warpfold::text
