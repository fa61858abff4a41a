// Writes small GGUF files (metadata only) for tokenizer tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpfold/formats/gguf.h"

namespace warpfold::text {

class GgufBuilder {
 public:
  GgufBuilder& string(std::string_view key, std::string_view value) {
    begin(key, formats::GgufType::kString);
    put_string(value);
    return *this;
  }
  GgufBuilder& u32(std::string_view key, std::uint32_t value) {
    begin(key, formats::GgufType::kU32);
    put(value);
    return *this;
  }
  GgufBuilder& i32(std::string_view key, std::int32_t value) {
    begin(key, formats::GgufType::kI32);
    put(value);
    return *this;
  }
  GgufBuilder& boolean(std::string_view key, bool value) {
    begin(key, formats::GgufType::kBool);
    put(static_cast<std::uint8_t>(value));
    return *this;
  }
  GgufBuilder& strings(std::string_view key, const std::vector<std::string>& values) {
    begin_array(key, formats::GgufType::kString, values.size());
    for (const std::string& value : values) put_string(value);
    return *this;
  }
  // T: float, std::int32_t, std::uint8_t, std::int64_t
  template <class T>
  GgufBuilder& numbers(std::string_view key, formats::GgufType type, const std::vector<T>& values) {
    begin_array(key, type, values.size());
    for (const T value : values) put(value);
    return *this;
  }

  // Valid as long as this builder and unchanged.
  std::span<const std::byte> bytes() {
    file_ = "GGUF";
    append(file_, std::uint32_t{3});
    append(file_, std::uint64_t{0});
    append(file_, count_);
    file_ += body_;
    file_.resize((file_.size() + 31) / 32 * 32, '\0');
    return std::as_bytes(std::span(file_.data(), file_.size()));
  }
  Result<formats::Gguf> parse() { return formats::Gguf::parse(bytes(), "test.gguf"); }

 private:
  template <class T>
  static void append(std::string& out, T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    out.append(raw, sizeof(T));
  }
  template <class T>
  void put(T value) {
    append(body_, value);
  }
  void put_string(std::string_view value) {
    put(std::uint64_t{value.size()});
    body_ += value;
  }
  void begin(std::string_view key, formats::GgufType type) {
    put_string(key);
    put(static_cast<std::uint32_t>(type));
    ++count_;
  }
  void begin_array(std::string_view key, formats::GgufType element, std::size_t size) {
    begin(key, formats::GgufType::kArray);
    put(static_cast<std::uint32_t>(element));
    put(std::uint64_t{size});
  }

  std::string body_, file_;
  std::uint64_t count_ = 0;
};

}  // namespace warpfold::text
