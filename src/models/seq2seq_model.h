// An encoder-decoder's sizes and weights, as a family's file fills them in.
#pragma once

#include <string_view>

#include "models/stack.h"
#include "warpfold/models/seq2seq.h"

namespace warpfold::models {

// What turns a spectrogram into the encoder's input, x (frames, mels) into (frames / 2, d_model):
//   x = gelu(conv1(x));  x = gelu(conv2(x)), every other place      three taps each, zeros beyond the ends
struct AudioFront {
  std::int64_t mels = 0;  // 0: the encoder reads tokens
  Linear conv1;           // (d_model, mels * 3)
  Linear conv2;           // (d_model, d_model * 3)
};

struct Seq2SeqModel {
  ops::WeightArena arena;  // holds all matrices
  Seq2SeqInfo info;
  ops::PackedMatrix source_tokens;  // (source vocab, d_model)
  ops::PackedMatrix target_tokens;  // (vocab, d_model), or empty: the source's
  AudioFront audio;
  Stack encoder, decoder;
  // logits = head (scale x) + bias
  ops::PackedMatrix head;  // (vocab, d_model), or empty: the target's embedding
  float head_scale = 1;
  std::vector<float> head_bias;  // (vocab), or empty

  const ops::PackedMatrix& target_embedding() const {
    return target_tokens.rows() > 0 ? target_tokens : source_tokens;
  }
};

bool is_seq2seq(std::string_view architecture);  // one of the table's

// One function a family; see the table in seq2seq.cpp. Errors: kBadFile, kUnsupported, with the key or
// tensor.
Status load_transformer(const ConfigSource& source, TensorLoader& in, Seq2SeqModel& out);
Status load_t5(const ConfigSource& source, TensorLoader& in, Seq2SeqModel& out);
Status load_bart(const ConfigSource& source, TensorLoader& in, Seq2SeqModel& out);
Status load_whisper(const ConfigSource& source, TensorLoader& in, Seq2SeqModel& out);

// A layer by BART's names, which Whisper uses too, but for the bias of its keys.
Status load_bart_layer(TensorLoader& in, const std::string& prefix, bool decoder, Bias key_bias,
                       const StackConfig& config, Layer& out);

}  // namespace warpfold::models
