#include "models/config_source.h"

#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace warpfold::models {

ConfigSource::ConfigSource(const formats::Gguf& file) : gguf_(&file), name_(file.name()) {
  if (const auto architecture = file.string("general.architecture")) prefix_ = std::string(*architecture) + ".";
}

ConfigSource::ConfigSource(const nlohmann::json& config, std::string name) : json_(&config), name_(std::move(name)) {}

Result<std::string> ConfigSource::architecture() const {
  if (gguf_) {
    WF_TRY(const auto name, gguf_->string("general.architecture"));
    return std::string(name);
  }
  WF_TRY(std::string type, string({"", "model_type"}));
  if (type == "gemma3_text") return std::string("gemma3");
  return type;
}

std::string ConfigSource::gguf_key(Key key) const { return prefix_ + std::string(key.gguf); }

std::string ConfigSource::missing(Key key) const {
  return fmt::format("{}: key {} is missing", name_, gguf_ ? gguf_key(key) : std::string(key.hf));
}

bool ConfigSource::has(Key key) const {
  if (gguf_) return !key.gguf.empty() && gguf_->find_key(gguf_key(key)) != nullptr;
  if (key.hf.empty()) return false;
  const auto it = json_->find(key.hf);
  return it != json_->end() && !it->is_null();
}

Result<std::int64_t> ConfigSource::integer(Key key) const {
  if (!has(key)) return fail(ErrorCode::kBadFile, missing(key));
  if (gguf_) return gguf_->integer(gguf_key(key));
  const auto& value = *json_->find(key.hf);
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
                        : value.is_number_integer();
  if (!fits) return fail(ErrorCode::kBadFile, fmt::format("{}: {} is {}, not an integer", name_, key.hf, value.dump()));
  return value.get<std::int64_t>();
}

Result<std::int64_t> ConfigSource::size(Key key) const {
  constexpr std::int64_t kMost = 1 << 20;  // far beyond any model, far below overflow of products
  WF_TRY(const std::int64_t value, integer(key));
  if (value >= 1 && value <= kMost) return value;
  return fail(ErrorCode::kBadFile, fmt::format("{}: {} is {}, expected 1 to {}", name_, gguf_ ? gguf_key(key) : std::string(key.hf),
                                               value, kMost));
}

Result<double> ConfigSource::number(Key key) const {
  if (!has(key)) return fail(ErrorCode::kBadFile, missing(key));
  if (gguf_) return gguf_->number(gguf_key(key));
  const auto& value = *json_->find(key.hf);
  if (!value.is_number()) return fail(ErrorCode::kBadFile, fmt::format("{}: {} is {}, not a number", name_, key.hf, value.dump()));
  return value.get<double>();
}

Result<std::string> ConfigSource::string(Key key) const {
  if (!has(key)) return fail(ErrorCode::kBadFile, missing(key));
  if (gguf_) {
    WF_TRY(const auto text, gguf_->string(gguf_key(key)));
    return std::string(text);
  }
  const auto& value = *json_->find(key.hf);
  if (!value.is_string()) return fail(ErrorCode::kBadFile, fmt::format("{}: {} is {}, not a string", name_, key.hf, value.dump()));
  return value.get<std::string>();
}

Result<std::int64_t> ConfigSource::integer_or(Key key, std::int64_t fallback) const {
  if (!has(key)) return fallback;
  return integer(key);
}

Result<double> ConfigSource::number_or(Key key, double fallback) const {
  if (!has(key)) return fallback;
  return number(key);
}

Result<bool> ConfigSource::boolean_or(Key key, bool fallback) const {
  if (!has(key)) return fallback;
  if (gguf_) return gguf_->boolean(gguf_key(key));
  const auto& value = *json_->find(key.hf);
  if (!value.is_boolean()) return fail(ErrorCode::kBadFile, fmt::format("{}: {} is {}, not a boolean", name_, key.hf, value.dump()));
  return value.get<bool>();
}

}  // namespace warpfold::models
