// Names that come from files, made fit for an error message: quoted, control bytes escaped, long ones cut.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace warpfold::formats {

inline std::string quote(std::string_view text) {
  constexpr std::size_t kLongest = 96;
  std::string out = "'";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  out += '\'';
  if (text.size() > kLongest) out += fmt::format("... ({} bytes)", text.size());
  return out;
}

}  // namespace warpfold::formats
