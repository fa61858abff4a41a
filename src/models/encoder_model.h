// An encoder's sizes and weights, as a family's file fills them in.
#pragma once

#include <string_view>

#include "models/stack.h"
#include "warpfold/models/encoder.h"

namespace warpfold::models {

struct EncoderModel {
  ops::WeightArena arena;  // holds all matrices
  EncoderInfo info;
  ops::PackedMatrix tokens;  // (vocab, d_model)
  Stack stack;
};

bool is_encoder(std::string_view architecture);

// The sizes, then the weights. Errors: kBadFile, kUnsupported, with the key or tensor.
Status load_bert(const ConfigSource& source, TensorLoader& in, EncoderModel& out);

}  // namespace warpfold::models
