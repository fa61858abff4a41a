// A model's directory as Hugging Face has it: config.json and safetensors.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "models/config_source.h"
#include "warpfold/core/error.h"
#include "warpfold/formats/safetensors.h"

namespace warpfold::models {

struct ModelDirectory {
  std::string config_path;
  nlohmann::json config;
  formats::Safetensors tensors;

  // Errors: kIo, kBadFile with the file.
  static Result<ModelDirectory> open(const std::string& path);
  ConfigSource source() const { return {config, config_path}; }
};

}  // namespace warpfold::models
