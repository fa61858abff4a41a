// The vocabulary of a GGUF file (tokenizer.ggml.*), checked once so that the encoders need no checks:
// arrays of one length, special ids inside the vocabulary, byte tokens well formed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/formats/gguf.h"
#include "warpfold/text/tokenizer.h"

namespace warpfold::text {

// Values of tokenizer.ggml.token_type.
enum class TokenType : std::uint8_t {
  kUndefined = 0,
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      // recognised in text only on request
  kUserDefined = 4,  // always recognised in text, before anything else
  kUnused = 5,
  kByte = 6,  // "<0x00>" to "<0xFF>": one byte of a character that has no token
};

enum class TokenizerModel { kByteLevelBpe, kSentencePiece };  // "gpt2", "llama"

struct Vocabulary {
  Vocabulary() = default;
  Vocabulary(Vocabulary&&) noexcept = default;
  Vocabulary& operator=(Vocabulary&&) noexcept = default;

  TokenizerModel model = TokenizerModel::kByteLevelBpe;
  std::string pre;                       // tokenizer.ggml.pre; "default" when absent
  std::vector<char> storage;             // all token texts, one after another
  std::vector<std::string_view> texts;   // (vocab), into storage
  std::vector<TokenType> types;          // (vocab)
  std::vector<float> scores;             // (vocab) for SentencePiece, else empty
  std::array<TokenId, 256> byte_tokens;  // byte -> id of its "<0xXX>" token, or kNoToken
  // Text -> id of the tokens that ordinary text can turn into. Control, unknown, unused and byte tokens are
  // left out: no sequence of merges may lead to them.
  std::unordered_map<std::string_view, TokenId> ids;

  TokenId bos = kNoToken;
  TokenId eos = kNoToken;
  TokenId unknown = kNoToken;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;
  std::vector<TokenId> end_of_generation;  // sorted

  TokenId size() const { return static_cast<TokenId>(texts.size()); }
  bool contains(TokenId id) const { return id >= 0 && id < size(); }
  TokenId find(std::string_view text) const {
    const auto found = ids.find(text);
    return found == ids.end() ? kNoToken : found->second;
  }
};

// Errors: kBadFile, kUnsupported (tokenizer.ggml.model by name).
Result<Vocabulary> load_vocabulary(const formats::Gguf& file);

}  // namespace warpfold::text
