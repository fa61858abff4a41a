// UTF-8 steps, and the stream that holds back the beginning of an unfinished character.
#include "text/utf8.h"

#include "warpfold/text/tokenizer.h"

namespace warpfold::text {

Utf8Step next_utf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(at);
  if (lead < 0x80) return {1, lead, true, false};
  if (lead < 0xC2 || lead > 0xF4) return {};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms, surrogates and values above U+10FFFF.
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t code_point = lead & (0x7Fu >> length);
  for (std::size_t k = 1; k < length; ++k) {
    if (at + k >= text.size()) return {k, 0xFFFD, false, true};
    const unsigned next = byte(at + k);
    if (next < (k == 1 ? low : 0x80) || next > (k == 1 ? high : 0xBF)) return {k, 0xFFFD, false, false};
    code_point = code_point << 6 | (next & 0x3F);
  }
  return {length, code_point, true, false};
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&](char32_t bits) { out += static_cast<char>(bits); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

std::string to_valid_utf8(std::string_view text) {
  Utf8Stream stream;
  std::string out = stream.push(text);
  out += stream.finish();
  return out;
}

std::string Utf8Stream::push(std::string_view bytes) {
  held_ += bytes;
  std::string out;
  out.reserve(held_.size());
  std::size_t at = 0;
  while (at < held_.size()) {
    const Utf8Step step = next_utf8(held_, at);
    if (step.cut) break;
    out += step.valid ? std::string_view(held_).substr(at, step.length) : kReplacementCharacter;
    at += step.length;
  }
  held_.erase(0, at);
  return out;
}

std::string Utf8Stream::finish() {
  std::string out(held_.empty() ? std::string_view() : kReplacementCharacter);
  held_.clear();
  return out;
}

}  // namespace warpfold::text
