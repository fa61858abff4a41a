// The JSON parts of safetensors: one file's header, and the index of a sharded set.
// Both are read event by event, without a document tree, so that a duplicate key, a deep nesting or a wrong
// type is refused where it stands and memory stays proportional to the tensors described.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "warpfold/core/error.h"

namespace warpfold::formats {

// A tensor's entry, as written; nothing is checked but JSON types and that each field occurs once.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> data_offsets;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  // in header order
  std::map<std::string, std::string> metadata;
};

// `file` stands for the file in messages. Errors: kBadFile.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, const std::string& file);

// Tensor name -> shard file name, from "weight_map". Errors: kBadFile.
Result<std::map<std::string, std::string>> parse_safetensors_index(std::string_view json,
                                                                   const std::string& file);

}  // namespace warpfold::formats
