// GGUF v2 and v3 files: metadata (typed key-value pairs) and tensors, read in place from a memory map.
// Format: the byte-exact description in ggml's gguf.h. Everything is bounded by the file's size before use.
//
// Rules where the format leaves a choice:
// - general.alignment is a power of two from 8 to 2^21 (the largest page a writer would align to), or 32;
// - tensors tile the data section in file order: each starts at the first multiple of the alignment past the
//   one before it (ggml's own rule), so neither holes nor overlaps can occur;
// - bytes after the last tensor are ignored, since the format does not bound the file's end;
// - an array of arrays in the metadata is refused with its key;
// - a tensor may have no elements; its data is then null.
// The data of a file opened by path is aligned to at least 8 bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/core/memory_map.h"
#include "warpfold/core/tensor.h"

namespace warpfold::formats {

struct NamedTensor {
  std::string name;
  TensorView view;  // shape outermost first: a GGUF tensor with ne = {K, N} has shape (N, K)
};

// Arrays of numbers keep their file type; strings are views into the file.
using GgufArray = std::variant<std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<float>,
                               std::vector<double>, std::vector<bool>, std::vector<std::string_view>>;
enum class GgufType : std::uint32_t {
  kU8 = 0,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64
};
std::string_view name(GgufType type);      // "u8", "f32", "string", "array"
std::size_t size(const GgufArray& array);  // elements

struct GgufValue {
  GgufType type;                     // of the value, or kArray
  GgufType element = GgufType::kU8;  // of an array's elements
  std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view, GgufArray> value;
};

class Gguf {
 public:
  // Errors: kIo, kBadFile (file, field and numbers), kUnsupported (version, tensor type by name).
  static Result<Gguf> open(const std::string& path);
  // `bytes` must outlive the result; `name` stands for the file in messages.
  static Result<Gguf> parse(std::span<const std::byte> bytes, std::string name);

  const std::string& name() const { return name_; }
  std::uint32_t version() const { return version_; }
  const std::vector<NamedTensor>& tensors() const { return tensors_; }  // in file order
  const TensorView* find(std::string_view tensor) const;                // nullptr when absent
  // In file order.
  const std::vector<std::pair<std::string, GgufValue>>& metadata() const { return metadata_; }
  const GgufValue* find_key(std::string_view key) const;  // nullptr when absent

  // Typed look-ups. The Result forms fail with the file, the key, and what was found or missing.
  Result<std::int64_t> integer(std::string_view key) const;  // any integer type that fits
  Result<double> number(std::string_view key) const;         // any integer or floating type
  Result<std::string_view> string(std::string_view key) const;
  Result<bool> boolean(std::string_view key) const;
  // The _or forms take the fallback for a missing key only: a value of the wrong type still fails.
  Result<std::int64_t> integer_or(std::string_view key, std::int64_t fallback) const;
  Result<double> number_or(std::string_view key, double fallback) const;
  Result<std::span<const std::string_view>> strings(std::string_view key) const;
  Result<std::vector<float>> floats(std::string_view key) const;
  Result<std::vector<std::int64_t>> integers(std::string_view key) const;

  // Advice about stretches of tensor data, see MemoryMap; bytes that the caller owns are left alone.
  void prefetch(std::span<const std::byte> part) const;
  void release(std::span<const std::byte> part) const;

 private:
  std::string name_;
  std::uint32_t version_ = 0;
  MemoryMap map_;
  std::vector<std::pair<std::string, GgufValue>> metadata_;
  std::vector<NamedTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> tensor_index_;
  std::map<std::string, std::size_t, std::less<>> key_index_;
};

}  // namespace warpfold::formats
