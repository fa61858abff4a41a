#include "models/directory.h"

#include "warpfold/core/memory_map.h"

namespace warpfold::models {

Result<ModelDirectory> ModelDirectory::open(const std::string& path) {
  std::string config_path = path + "/config.json";
  WF_TRY(const MemoryMap map, MemoryMap::open(config_path));
  const auto* text = reinterpret_cast<const char*>(map.bytes().data());
  auto json = nlohmann::json::parse(text, text + map.bytes().size(), nullptr, false);
  if (!json.is_object()) return fail(ErrorCode::kBadFile, config_path + ": not a JSON object");
  WF_TRY(auto tensors, formats::Safetensors::open(path));
  return ModelDirectory{std::move(config_path), std::move(json), std::move(tensors)};
}

}  // namespace warpfold::models
