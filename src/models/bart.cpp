// BART and Marian: the original's blocks with biases, GELU or SiLU, one embedding for source, target and
// head, a bias on the logits. BART learns its positions, whose table begins two rows early, and normalises
// embeddings; Marian's are sinusoidal and multiplied by sqrt(d_model). (Lewis et al. 2019; Junczys-Dowmunt et
// al. 2018)
#include <fmt/format.h>

#include <cmath>

#include "models/seq2seq_model.h"

namespace warpfold::models {
namespace {

constexpr float kEpsilon = 1e-5f;

Status load_attention(TensorLoader& in, const std::string& name, std::int64_t d, Bias key_bias,
                      AttentionWeights& out) {
  WF_CHECK(load(in, name + ".q_proj", d, d, out.q));
  WF_CHECK(load(in, name + ".k_proj", d, d, out.k, key_bias));
  WF_CHECK(load(in, name + ".v_proj", d, d, out.v));
  WF_CHECK(load(in, name + ".out_proj", d, d, out.o));
  return load(in, name + "_layer_norm", d, kEpsilon, out.norm);
}

Status load_stack(TensorLoader& in, const std::string& name, bool decoder, bool marian, Stack& out) {
  const StackConfig& c = out.config;
  const std::int64_t d = c.d_model;
  if (marian) {
    out.positions = sinusoidal_positions(c.context, d, Sinusoids::kHalves);
  } else {
    constexpr std::int64_t kUnused = 2;
    WF_CHECK(in.table(name + ".embed_positions.weight", c.context + kUnused, d, out.positions));
    out.positions.erase(out.positions.begin(), out.positions.begin() + kUnused * d);
    WF_CHECK(load(in, name + ".layernorm_embedding", d, kEpsilon, out.embedding_norm));
  }
  for (std::int64_t i = 0; i < c.layers; ++i)
    WF_CHECK(load_bart_layer(in, fmt::format("{}.layers.{}.", name, i), decoder, Bias::kRequired, c,
                             out.layers.emplace_back()));
  return {};
}

}  // namespace

Status load_bart_layer(TensorLoader& in, const std::string& prefix, bool decoder, Bias key_bias,
                       const StackConfig& c, Layer& out) {
  const std::int64_t d = c.d_model;
  WF_CHECK(load_attention(in, prefix + "self_attn", d, key_bias, out.self));
  if (decoder) WF_CHECK(load_attention(in, prefix + "encoder_attn", d, key_bias, out.cross));
  WF_CHECK(load(in, prefix + "fc1", c.d_ff, d, out.feed_forward.up));
  WF_CHECK(load(in, prefix + "fc2", d, c.d_ff, out.feed_forward.down));
  return load(in, prefix + "final_layer_norm", d, kEpsilon, out.feed_forward.norm);
}

Status load_bart(const ConfigSource& source, TensorLoader& in, Seq2SeqModel& out) {
  WF_TRY(const std::string architecture, source.architecture());
  const bool marian = architecture == "marian";
  WF_TRY(const bool scaled, source.boolean_or({"", "scale_embedding"}, false));
  WF_TRY(const bool shared, source.boolean_or({"", "share_encoder_decoder_embeddings"}, true));
  if (!shared)
    return fail(ErrorCode::kUnsupported,
                source.name() + ": embeddings of their own for encoder and decoder are not supported");
  for (const bool decoder : {false, true}) {
    StackConfig& c = (decoder ? out.decoder : out.encoder).config;
    const StackKeys keys = decoder ? StackKeys{"decoder_layers", "d_model", "decoder_attention_heads",
                                               "decoder_ffn_dim", "max_position_embeddings"}
                                   : StackKeys{"encoder_layers", "d_model", "encoder_attention_heads",
                                               "encoder_ffn_dim", "max_position_embeddings"};
    WF_TRY(c, read_stack(source, keys));
    WF_TRY(c.activation, read_activation(source, {"", "activation_function"}));
    if (scaled) c.embedding_scale = std::sqrt(static_cast<float>(c.d_model));
  }
  WF_CHECK(in.matrix("model.shared.weight", -1, out.encoder.config.d_model, out.source_tokens));
  WF_CHECK(load_stack(in, "model.encoder", false, marian, out.encoder));
  WF_CHECK(load_stack(in, "model.decoder", true, marian, out.decoder));
  if (!in.find("final_logits_bias")) return {};
  return in.table("final_logits_bias", 1, out.source_tokens.rows(), out.head_bias);
}

}  // namespace warpfold::models
