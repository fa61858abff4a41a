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

// Byte by byte: GCC 12 takes insert() and resize() of small constant sizes for writes out of bounds.
inline void put_bytes(Bytes& out, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) out.push_back(byte);
}

inline void put_text(Bytes& out, std::string_view text) { put_bytes(out, std::as_bytes(std::span(text))); }

template <class T>
void put(Bytes& out, T value) {
  put_bytes(out, std::as_bytes(std::span(&value, 1)));
}

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes out(values.size() * sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

}  // namespace warpfold::test
