// JSON files beside a model, which may be absent.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "warpfold/core/error.h"
#include "warpfold/core/memory_map.h"

namespace warpfold::engine {

// Null when there is no such file. Errors: kIo, kBadFile with the path.
inline Result<nlohmann::json> read_json_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return nlohmann::json();
  WF_TRY(const MemoryMap map, MemoryMap::open(path));
  const auto* text = reinterpret_cast<const char*>(map.bytes().data());
  auto json = nlohmann::json::parse(text, text + map.bytes().size(), nullptr, false);
  if (json.is_discarded()) return fail(ErrorCode::kBadFile, path + ": not JSON");
  return json;
}

}  // namespace warpfold::engine
