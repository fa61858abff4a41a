// safetensors: one file, or a sharded set described by model.safetensors.index.json, read in place.
// Layout of a file: 8-byte little-endian header length, JSON header, data. As in the reference reader, the
// header has at most 100 MB and begins with '{', no name occurs twice, and the tensors tile the data exactly:
// no hole, overlap or trailing byte. At most 4 dimensions; a tensor may have no elements, its data is then
// null. The data starts where the writer put it, perhaps not on a multiple of the element's size: copy
// elements out, or check the pointer. In a sharded set the index's weight_map says which tensors exist and in
// which file of its directory.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/core/memory_map.h"
#include "warpfold/core/tensor.h"
#include "warpfold/formats/gguf.h"

namespace warpfold::formats {

class Safetensors {
 public:
  // path: a .safetensors file, a .safetensors.index.json file, or a directory that holds either.
  // Errors: kIo, kBadFile (file, tensor, field and numbers), kUnsupported (dtype by name).
  static Result<Safetensors> open(const std::string& path);
  static Result<Safetensors> parse(std::span<const std::byte> bytes, std::string name);

  const std::vector<NamedTensor>& tensors() const { return tensors_; }
  const TensorView* find(std::string_view tensor) const;  // nullptr when absent
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // Advice about stretches of tensor data, see MemoryMap; bytes that the caller owns are left alone.
  void prefetch(std::span<const std::byte> part) const;
  void release(std::span<const std::byte> part) const;

 private:
  std::vector<MemoryMap> maps_;
  std::vector<NamedTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace warpfold::formats
