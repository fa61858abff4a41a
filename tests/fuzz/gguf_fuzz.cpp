// Any bytes as a GGUF file: an error with a text, or a file whose every key and tensor can be read.
#include <cstdint>

#include "read_tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warpfold;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto file = formats::Gguf::parse(bytes, "fuzz");
  if (!file) {
    test::require(file.error().message.starts_with("fuzz: ") && file.error().message.size() > 10);
    return 0;
  }
  for (const auto& [key, value] : file->metadata()) {
    test::require(file->find_key(key) == &value);
    // Exactly one kind of look-up fits a value, but for integers, which are numbers too.
    const int fits = file->integer(key).has_value() + file->string(key).has_value() +
                     file->boolean(key).has_value() + file->strings(key).has_value() +
                     file->floats(key).has_value() + file->integers(key).has_value();
    test::require(fits <= 1 && (!file->integer(key) || file->number(key)));
    if (const auto strings = file->strings(key))
      for (const std::string_view text : *strings) test::require(text.size() <= size);
  }
  for (const auto& [name, view] : file->tensors()) test::require(file->find(name) != nullptr);
  test::read_tensors(bytes, file->tensors());
  return 0;
}
