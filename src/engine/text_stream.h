// The text of a token stream while it grows: whole UTF-8 characters only, cut before the first stop string.
// Text that may still become a stop string is held back, so what was handed out never has to be taken back.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "warpfold/text/tokenizer.h"

namespace warpfold::engine {

class TextStream {
 public:
  // stops: non-empty strings, which must outlive the stream.
  explicit TextStream(std::span<const std::string> stops) : stops_(stops) {}

  // Appends the bytes of one token; returns the text that became certain, valid until the next call.
  std::string_view push(std::string_view bytes);
  // The end: whatever was held back, a cut character as U+FFFD.
  std::string_view finish();

  bool stopped() const { return stopped_; }  // a stop string was found; nothing follows it
  std::string take_text() { return std::move(text_); }

 private:
  std::string_view release();
  std::size_t held_back() const;

  std::span<const std::string> stops_;
  text::Utf8Stream characters_;
  std::string text_;
  std::size_t released_ = 0;  // text_ up to here was handed out
  bool stopped_ = false;
};

}  // namespace warpfold::engine
