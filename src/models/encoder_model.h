// An encoder's sizes and weights, as a family's file fills them in.
#pragma once

#include "models/blocks.h"
#include "models/config_source.h"
#include "warpfold/models/encoder.h"

namespace warpfold::models {

struct EncoderLayer {
  AttentionWeights attention;
  FeedForwardWeights feed_forward;
};

struct EncoderModel {
  ops::WeightArena arena;  // holds all matrices
  EncoderInfo info;
  ops::Activation activation = ops::Activation::kGelu;
  ops::PackedMatrix tokens;     // (vocab, d_model)
  ops::PackedMatrix positions;  // (context, d_model)
  std::vector<float> type;      // (d_model) added to every token: the first segment's embedding
  LayerNorm embedding_norm;
  std::vector<EncoderLayer> layers;
};

// The sizes and the activation, then the weights. Errors: kBadFile, kUnsupported, with the key or tensor.
Status read_bert(const ConfigSource& source, EncoderModel& out);
Status load_bert(TensorLoader& in, float norm_epsilon, EncoderModel& out);

}  // namespace warpfold::models
