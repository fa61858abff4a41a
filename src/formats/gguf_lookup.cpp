// Look-ups in a parsed GGUF file: by name, and typed with an error that says what was found instead.
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "formats/quote.h"
#include "warpfold/formats/gguf.h"

namespace warpfold::formats {
namespace {

std::string describe(const GgufValue& value) {
  if (value.type != GgufType::kArray) return std::string(name(value.type));
  return fmt::format("an array of {} {}", size(std::get<GgufArray>(value.value)), name(value.element));
}

tl::unexpected<Error> wrong_type(const Gguf& file, std::string_view key, const GgufValue& found,
                                 std::string_view wanted) {
  return fail(ErrorCode::kBadFile, fmt::format("{}: metadata {} is {}, expected {}", file.name(), quote(key),
                                               describe(found), wanted));
}

// The value under the key, or the error that it is missing.
Result<const GgufValue*> require(const Gguf& file, std::string_view key) {
  const GgufValue* found = file.find_key(key);
  if (!found)
    return fail(ErrorCode::kBadFile, fmt::format("{}: metadata {} is missing", file.name(), quote(key)));
  return found;
}

template <class T>
Result<T> scalar(const Gguf& file, std::string_view key, std::string_view wanted) {
  WF_TRY(const GgufValue* found, require(file, key));
  if (const T* value = std::get_if<T>(&found->value)) return *value;
  return wrong_type(file, key, *found, wanted);
}

template <class Element>
Result<const std::vector<Element>*> array(const Gguf& file, std::string_view key, std::string_view wanted) {
  WF_TRY(const GgufValue* found, require(file, key));
  if (const GgufArray* any = std::get_if<GgufArray>(&found->value))
    if (const auto* elements = std::get_if<std::vector<Element>>(any)) return elements;
  return wrong_type(file, key, *found, wanted);
}

Result<std::int64_t> fitting(const Gguf& file, std::string_view key, std::uint64_t value) {
  if (!std::in_range<std::int64_t>(value))
    return fail(ErrorCode::kBadFile,
                fmt::format("{}: metadata {} holds {}, more than 2^63 - 1", file.name(), quote(key), value));
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::string_view name(GgufType type) {
  switch (type) {
    case GgufType::kU8:
      return "u8";
    case GgufType::kI8:
      return "i8";
    case GgufType::kU16:
      return "u16";
    case GgufType::kI16:
      return "i16";
    case GgufType::kU32:
      return "u32";
    case GgufType::kI32:
      return "i32";
    case GgufType::kF32:
      return "f32";
    case GgufType::kBool:
      return "bool";
    case GgufType::kString:
      return "string";
    case GgufType::kArray:
      return "array";
    case GgufType::kU64:
      return "u64";
    case GgufType::kI64:
      return "i64";
    case GgufType::kF64:
      return "f64";
  }
  return "?";
}

std::size_t size(const GgufArray& array) {
  return std::visit([](const auto& elements) { return elements.size(); }, array);
}

const TensorView* Gguf::find(std::string_view tensor) const {
  const auto at = tensor_index_.find(tensor);
  return at == tensor_index_.end() ? nullptr : &tensors_[at->second].view;
}

const GgufValue* Gguf::find_key(std::string_view key) const {
  const auto at = key_index_.find(key);
  return at == key_index_.end() ? nullptr : &metadata_[at->second].second;
}

Result<std::int64_t> Gguf::integer(std::string_view key) const {
  WF_TRY(const GgufValue* found, require(*this, key));
  if (const auto* value = std::get_if<std::int64_t>(&found->value)) return *value;
  if (const auto* value = std::get_if<std::uint64_t>(&found->value)) return fitting(*this, key, *value);
  return wrong_type(*this, key, *found, "an integer");
}

Result<double> Gguf::number(std::string_view key) const {
  WF_TRY(const GgufValue* found, require(*this, key));
  if (const auto* value = std::get_if<double>(&found->value)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&found->value)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::uint64_t>(&found->value)) return static_cast<double>(*value);
  return wrong_type(*this, key, *found, "a number");
}

Result<std::string_view> Gguf::string(std::string_view key) const {
  return scalar<std::string_view>(*this, key, "a string");
}

Result<bool> Gguf::boolean(std::string_view key) const { return scalar<bool>(*this, key, "a bool"); }

Result<std::int64_t> Gguf::integer_or(std::string_view key, std::int64_t fallback) const {
  return find_key(key) ? integer(key) : fallback;
}

Result<double> Gguf::number_or(std::string_view key, double fallback) const {
  return find_key(key) ? number(key) : fallback;
}

Result<std::span<const std::string_view>> Gguf::strings(std::string_view key) const {
  WF_TRY(const auto* elements, array<std::string_view>(*this, key, "an array of strings"));
  return std::span<const std::string_view>(*elements);
}

Result<std::vector<float>> Gguf::floats(std::string_view key) const {
  WF_TRY(const auto* elements, array<float>(*this, key, "an array of f32"));
  return *elements;
}

Result<std::vector<std::int64_t>> Gguf::integers(std::string_view key) const {
  WF_TRY(const GgufValue* found, require(*this, key));
  const auto* any = std::get_if<GgufArray>(&found->value);
  if (!any) return wrong_type(*this, key, *found, "an array of integers");
  if (const auto* elements = std::get_if<std::vector<std::int64_t>>(any)) return *elements;
  const auto* elements = std::get_if<std::vector<std::uint64_t>>(any);
  if (!elements) return wrong_type(*this, key, *found, "an array of integers");
  std::vector<std::int64_t> out;
  out.reserve(elements->size());
  for (const std::uint64_t element : *elements) {
    WF_TRY(const std::int64_t value, fitting(*this, key, element));
    out.push_back(value);
  }
  return out;
}

void Gguf::prefetch(std::span<const std::byte> part) const { map_.prefetch(part); }
void Gguf::release(std::span<const std::byte> part) const { map_.release(part); }

}  // namespace warpfold::formats
