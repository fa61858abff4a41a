// The tokens of a byte-level tokenizer.json as bytes: enough to read what a model writes (Whisper), not to
// encode text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/text/tokenizer.h"

namespace warpfold::text {

class ByteVocabulary {
 public:
  // Errors: kIo, kBadFile with the field, kUnsupported for another kind of tokenizer by name.
  static Result<ByteVocabulary> open(const std::string& path);
  static Result<ByteVocabulary> parse(std::string_view json, const std::string& name);

  // The text of ordinary tokens; control tokens and ids outside of the vocabulary give nothing, ill-formed
  // UTF-8 U+FFFD.
  std::string decode(std::span<const TokenId> ids) const;
  TokenId control(std::string_view text) const;  // "<|en|>" -> its id; kNoToken when there is none
  const std::unordered_map<std::string, TokenId>& controls() const { return control_; }
  std::int64_t vocab_size() const { return static_cast<std::int64_t>(bytes_.size()); }

 private:
  std::vector<std::string> bytes_;  // (vocab)
  std::unordered_map<std::string, TokenId> control_;
};

}  // namespace warpfold::text
