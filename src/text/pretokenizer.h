// Cuts text into the words that byte-level BPE never merges across, by the regular expressions that the
// models' tokenizers publish (PCRE2 with UTF and Unicode properties, compiled to machine code where the CPU
// allows).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "warpfold/core/error.h"

namespace warpfold::text {

class Pretokenizer {
 public:
  // name: tokenizer.ggml.pre. Errors: kUnsupported by name.
  static Result<Pretokenizer> make(std::string_view name);

  // The words of `text` (valid UTF-8), which together are the text. Errors: kInvalidArgument when the
  // expression's work limit, a multiple of the text's length, is passed.
  Result<std::vector<std::string_view>> split(std::string_view text) const;

  // Whether a word that is a token as a whole is taken before any merge is tried.
  bool ignore_merges() const { return ignore_merges_; }

  Pretokenizer(Pretokenizer&&) noexcept;
  Pretokenizer& operator=(Pretokenizer&&) noexcept;
  ~Pretokenizer();

 private:
  struct Expression;
  Pretokenizer();
  std::unique_ptr<Expression> words_;
  std::unique_ptr<Expression>
      digits_;  // when present: each match is a word of its own, before `words_` is run
  bool ignore_merges_ = false;
};

}  // namespace warpfold::text
