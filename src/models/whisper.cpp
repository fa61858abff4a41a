// Whisper: speech to text. Two convolutions turn the spectrogram into the encoder's input; the blocks are
// pre-norm, with GELU and no bias on keys; the decoder learns its positions and shares its embedding with the
// head. (Radford et al. 2022)
#include <fmt/format.h>

#include "models/seq2seq_model.h"

namespace warpfold::models {
namespace {

constexpr float kEpsilon = 1e-5f;

Status load_stack(TensorLoader& in, const std::string& name, bool decoder, Stack& out) {
  const StackConfig& c = out.config;
  WF_CHECK(in.table(name + ".embed_positions.weight", c.context, c.d_model, out.positions));
  for (std::int64_t i = 0; i < c.layers; ++i)
    WF_CHECK(load_bart_layer(in, fmt::format("{}.layers.{}.", name, i), decoder, Bias::kNone, c,
                             out.layers.emplace_back()));
  return load(in, name + ".layer_norm", c.d_model, kEpsilon, out.final_norm);
}

}  // namespace

Status load_whisper(const ConfigSource& source, TensorLoader& in, Seq2SeqModel& out) {
  WF_TRY(out.encoder.config, read_stack(source, {"encoder_layers", "d_model", "encoder_attention_heads",
                                                 "encoder_ffn_dim", "max_source_positions"}));
  WF_TRY(out.decoder.config, read_stack(source, {"decoder_layers", "d_model", "decoder_attention_heads",
                                                 "decoder_ffn_dim", "max_target_positions"}));
  WF_TRY(const auto activation, read_activation(source, {"", "activation_function"}));
  for (Stack* stack : {&out.encoder, &out.decoder}) {
    stack->config.pre_norm = true;
    stack->config.activation = activation;
  }
  WF_TRY(out.audio.mels, source.size({"", "num_mel_bins"}));
  const std::int64_t d = out.decoder.config.d_model;
  WF_CHECK(in.convolution("model.encoder.conv1.weight", d, out.audio.mels, 3, out.audio.conv1.weight));
  WF_CHECK(in.vector("model.encoder.conv1.bias", d, 0, out.audio.conv1.bias));
  WF_CHECK(in.convolution("model.encoder.conv2.weight", d, d, 3, out.audio.conv2.weight));
  WF_CHECK(in.vector("model.encoder.conv2.bias", d, 0, out.audio.conv2.bias));
  WF_CHECK(in.matrix("model.decoder.embed_tokens.weight", -1, d, out.target_tokens));
  WF_CHECK(load_stack(in, "model.encoder", false, out.encoder));
  return load_stack(in, "model.decoder", true, out.decoder);
}

}  // namespace warpfold::models
