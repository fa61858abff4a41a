// Hyper-parameters of a model under one set of names, from a GGUF file's metadata or a Hugging Face config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "warpfold/core/error.h"
#include "warpfold/formats/gguf.h"

namespace warpfold::models {

// A key's two spellings: without the architecture's prefix in GGUF ("block_count"), and in config.json
// ("num_hidden_layers"). Either may be empty: then that kind of file does not have it.
struct Key {
  std::string_view gguf, hf;
};

class ConfigSource {
 public:
  // Exactly one of the two; the pointed-to object must outlive this. `name` stands for the file in messages.
  ConfigSource(const formats::Gguf& file);
  ConfigSource(const nlohmann::json& config, std::string name);

  bool is_gguf() const { return gguf_ != nullptr; }
  const std::string& name() const { return name_; }
  const formats::Gguf* gguf() const { return gguf_; }
  const nlohmann::json* json() const { return json_; }

  // "llama", "gemma3", ...: general.architecture, or model_type with Hugging Face's names mapped to these.
  Result<std::string> architecture() const;

  bool has(Key key) const;
  // Fail when the key is missing or has another type, naming the file and key.
  Result<std::int64_t> integer(Key key) const;
  Result<double> number(Key key) const;
  Result<std::int64_t> size(Key key) const;  // an integer from 1 to 2^20
  Result<std::string> string(Key key) const;
  Result<std::int64_t> integer_or(Key key, std::int64_t fallback) const;
  Result<double> number_or(Key key, double fallback) const;
  Result<bool> boolean_or(Key key, bool fallback) const;

 private:
  std::string gguf_key(Key key) const;
  std::string missing(Key key) const;
  const formats::Gguf* gguf_ = nullptr;
  const nlohmann::json* json_ = nullptr;
  std::string name_, prefix_;
};

}  // namespace warpfold::models
