// Fields of a tokenizer.json that may be absent.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace warpfold::text {

// The value under `key`, or null when there is none or it is null itself.
inline const nlohmann::json* child(const nlohmann::json& object, const char* key) {
  const auto it = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && it != object.end() && !it->is_null() ? &*it : nullptr;
}

inline std::string string_or(const nlohmann::json* object, const char* key, std::string fallback) {
  const nlohmann::json* value = object ? child(*object, key) : nullptr;
  return value && value->is_string() ? value->get<std::string>() : fallback;
}

inline bool flag_or(const nlohmann::json* object, const char* key, bool fallback) {
  const nlohmann::json* value = object ? child(*object, key) : nullptr;
  return value && value->is_boolean() ? value->get<bool>() : fallback;
}

}  // namespace warpfold::text
