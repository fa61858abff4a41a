#include "engine/text_stream.h"

#include <algorithm>

namespace warpfold::engine {

std::string_view TextStream::push(std::string_view bytes) {
  if (stopped_) return {};
  text_ += characters_.push(bytes);
  return release();
}

std::string_view TextStream::finish() {
  if (stopped_) return {};
  text_ += characters_.finish();
  const std::size_t start = released_;
  release();
  released_ = text_.size();
  return std::string_view(text_).substr(start);
}

std::string_view TextStream::release() {
  // A stop string cannot begin before released_: its first characters would have been held back.
  std::size_t end = std::string::npos;
  for (const std::string& stop : stops_) end = std::min(end, text_.find(stop, released_));
  stopped_ = end != std::string::npos;
  if (stopped_)
    text_.resize(end);
  else
    end = text_.size() - held_back();
  const std::size_t start = released_;
  released_ = end;
  return std::string_view(text_).substr(start, end - start);
}

// The length of the longest end of the text that begins a stop string.
std::size_t TextStream::held_back() const {
  const std::string_view fresh = std::string_view(text_).substr(released_);
  std::size_t longest = 0;
  for (const std::string& stop : stops_) {
    for (std::size_t n = std::min(stop.size() - 1, fresh.size()); n > longest; --n) {
      if (fresh.ends_with(std::string_view(stop).substr(0, n))) longest = n;
    }
  }
  return longest;
}

}  // namespace warpfold::engine
