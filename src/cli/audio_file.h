// Sound files (WAV, FLAC, Ogg and what else libsndfile reads) as mono samples at one rate.
#pragma once

#include <string>
#include <vector>

#include "warpfold/core/error.h"

namespace warpfold::cli {

// Channels are averaged, other rates are converted (band-limited). Errors: kIo, kBadFile with the path.
Result<std::vector<float>> read_audio(const std::string& path, int rate);

}  // namespace warpfold::cli
