// Writes GGUF files for tests. By default the file is valid: counts, offsets and padding are filled in. A
// test that wants a broken one sets `tensor_count`, `key_count` or a tensor's offset, or adds raw metadata.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/bytes.h"
#include "warpfold/formats/gguf.h"

namespace warpfold::test {

// ggml's numbers of the types that Warpfold reads.
enum GgmlType : std::uint32_t {
  kGgmlF32 = 0,
  kGgmlF16 = 1,
  kGgmlQ4_0 = 2,
  kGgmlQ4_1 = 3,
  kGgmlQ5_0 = 6,
  kGgmlQ5_1 = 7,
  kGgmlQ8_0 = 8,
  kGgmlQ4_K = 12,
  kGgmlQ5_K = 13,
  kGgmlQ6_K = 14,
  kGgmlI8 = 24,
  kGgmlI16 = 25,
  kGgmlI32 = 26,
  kGgmlI64 = 27,
  kGgmlF64 = 28,
  kGgmlBF16 = 30,
};

template <class T>
constexpr formats::GgufType gguf_type_of() {
  using formats::GgufType;
  if constexpr (std::is_same_v<T, bool>)
    return GgufType::kBool;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return GgufType::kU8;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return GgufType::kI8;
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return GgufType::kU16;
  else if constexpr (std::is_same_v<T, std::int16_t>)
    return GgufType::kI16;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return GgufType::kU32;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return GgufType::kI32;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return GgufType::kU64;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return GgufType::kI64;
  else if constexpr (std::is_same_v<T, float>)
    return GgufType::kF32;
  else if constexpr (std::is_same_v<T, double>)
    return GgufType::kF64;
  else
    static_assert(std::is_convertible_v<T, std::string_view>, "not a GGUF type");
  return GgufType::kString;
}

class GgufWriter {
 public:
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;  // of the data; written to the metadata only by a test that does so
  std::optional<std::uint64_t> tensor_count;  // claimed instead of the real ones
  std::optional<std::uint64_t> key_count;

  template <class T>
  GgufWriter& value(std::string_view key, const T& v) {
    Bytes payload;
    put_value(payload, v);
    return raw(key, static_cast<std::uint32_t>(gguf_type_of<T>()), payload);
  }
  template <class T>
  GgufWriter& array(std::string_view key, const std::vector<T>& elements) {
    Bytes payload;
    put(payload, gguf_type_of<T>());
    put(payload, static_cast<std::uint64_t>(elements.size()));
    for (const T& element : elements) put_value(payload, element);
    return raw(key, static_cast<std::uint32_t>(formats::GgufType::kArray), payload);
  }
  // A value of any type number with any bytes after it.
  GgufWriter& raw(std::string_view key, std::uint32_t type, const Bytes& payload) {
    put_value(metadata_, key);
    put(metadata_, type);
    put_bytes(metadata_, payload);
    ++keys_;
    return *this;
  }

  // shape outermost first, as in TensorView; `offset` in place of the right one.
  GgufWriter& tensor(std::string_view name, std::uint32_t type, const std::vector<std::int64_t>& shape,
                     const Bytes& data, std::optional<std::uint64_t> offset = {}) {
    put_value(table_, name);
    put(table_, static_cast<std::uint32_t>(shape.size()));
    for (auto extent = shape.rbegin(); extent != shape.rend(); ++extent) put(table_, *extent);
    put(table_, type);
    pad(data_);
    put(table_, offset.value_or(data_.size()));
    put_bytes(data_, data);
    ++tensors_;
    return *this;
  }

  Bytes build() const {
    Bytes out;
    put_text(out, "GGUF");
    put(out, version);
    put(out, tensor_count.value_or(tensors_));
    put(out, key_count.value_or(keys_));
    put_bytes(out, metadata_);
    put_bytes(out, table_);
    if (tensors_ > 0) pad(out);
    put_bytes(out, data_);
    return out;
  }

 private:
  static void put_value(Bytes& out, std::string_view text) {
    put(out, static_cast<std::uint64_t>(text.size()));
    put_text(out, text);
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  static void put_value(Bytes& out, T number) { put(out, number); }
  void pad(Bytes& out) const { out.resize((out.size() + alignment - 1) / alignment * alignment); }

  Bytes metadata_, table_, data_;
  std::uint64_t keys_ = 0, tensors_ = 0;
};

}  // namespace warpfold::test
