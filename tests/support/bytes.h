// Little-endian byte strings for tests that write files, right or broken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace warpfold::test {

using Bytes = std::vector<std::byte>;

template <class T>
void put(Bytes& out, T value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof(T));
  std::memcpy(out.data() + at, &value, sizeof(T));
}

inline void put_text(Bytes& out, std::string_view text) {
  const auto* from = reinterpret_cast<const std::byte*>(text.data());
  out.insert(out.end(), from, from + text.size());
}

inline void put_bytes(Bytes& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes out(values.size() * sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

}  // namespace warpfold::test
