// Which kind of transformer a file or directory holds, so that tools can pick what runs it.
#pragma once

#include <string>

#include "warpfold/core/error.h"

namespace warpfold::models {

enum class Kind { kDecoder, kEncoder, kSeq2Seq, kSpeech };

// By config.json's model_type of a directory; files, and architectures that no table knows, are decoders,
// whose loader names those that it supports. Errors: those of reading config.json and the safetensors'
// headers.
Result<Kind> kind_of(const std::string& path);

}  // namespace warpfold::models
