// Writes safetensors files for tests: valid ones tensor by tensor, or any header text over any data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "support/bytes.h"

namespace warpfold::test {

// header_length: claimed instead of the header's real length.
inline Bytes safetensors_file(std::string_view header, const Bytes& data,
                              std::optional<std::uint64_t> header_length = {}) {
  Bytes out;
  put(out, header_length.value_or(header.size()));
  put_text(out, header);
  put_bytes(out, data);
  return out;
}

class SafetensorsWriter {
 public:
  SafetensorsWriter& metadata(std::string_view key, std::string_view value) {
    metadata_ += fmt::format("{}\"{}\":\"{}\"", metadata_.empty() ? "" : ",", key, value);
    return *this;
  }
  SafetensorsWriter& tensor(std::string_view name, std::string_view dtype,
                            const std::vector<std::int64_t>& shape, const Bytes& data) {
    tensors_ += fmt::format(R"(,"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", name, dtype,
                            fmt::join(shape, ","), data_.size(), data_.size() + data.size());
    put_bytes(data_, data);
    return *this;
  }
  Bytes build() const {
    std::string header = fmt::format("{{\"__metadata__\":{{{}}}{}}}", metadata_, tensors_);
    header.append((8 - header.size() % 8) % 8, ' ');
    return safetensors_file(header, data_);
  }

 private:
  std::string metadata_, tensors_;
  Bytes data_;
};

}  // namespace warpfold::test
