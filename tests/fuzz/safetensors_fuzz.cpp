// Any bytes as a safetensors file: an error with a text, or a file whose every tensor can be read.
#include <cstdint>

#include "read_tensors.h"
#include "warpfold/formats/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warpfold;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto file = formats::Safetensors::parse(bytes, "fuzz");
  if (!file) {
    test::require(file.error().message.starts_with("fuzz: ") && file.error().message.size() > 10);
    return 0;
  }
  std::size_t covered = 0;
  for (const auto& [name, view] : file->tensors()) {
    test::require(file->find(name) != nullptr);
    covered += static_cast<std::size_t>(view.bytes());
  }
  test::require(covered <= size - 8);
  test::read_tensors(bytes, file->tensors());
  return 0;
}
