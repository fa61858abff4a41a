// The original encoder-decoder: sinusoidal positions on embeddings times sqrt(d_model), post-norm, ReLU. Its
// checkpoints are those of torch.nn.Transformer, which stores Wq, Wk and Wv one below the other and ends each
// stack with a norm, between source_embedding, target_embedding and head; a model without the latter two
// shares the first. (Vaswani et al. 2017)
#include <fmt/format.h>

#include <cmath>

#include "models/seq2seq_model.h"

namespace warpfold::models {
namespace {

constexpr float kEpsilon = 1e-5f;

Status load_attention(TensorLoader& in, const std::string& name, std::int64_t d, AttentionWeights& out) {
  Linear* const parts[] = {&out.q, &out.k, &out.v};
  for (int i = 0; i < 3; ++i) {
    WF_CHECK(in.matrix_part(name + ".in_proj_weight", i, 3, d, d, parts[i]->weight));
    WF_CHECK(in.vector_part(name + ".in_proj_bias", i, 3, d, parts[i]->bias));
  }
  return load(in, name + ".out_proj", d, d, out.o);
}

Status load_stack(TensorLoader& in, const std::string& name, bool decoder, Stack& out) {
  const std::int64_t d = out.config.d_model, f = out.config.d_ff;
  for (std::int64_t i = 0; i < out.config.layers; ++i) {
    const std::string layer = fmt::format("{}.layers.{}.", name, i);
    auto& [self, cross, feed_forward] = out.layers.emplace_back();
    WF_CHECK(load_attention(in, layer + "self_attn", d, self));
    WF_CHECK(load(in, layer + "norm1", d, kEpsilon, self.norm));
    if (decoder) {
      WF_CHECK(load_attention(in, layer + "multihead_attn", d, cross));
      WF_CHECK(load(in, layer + "norm2", d, kEpsilon, cross.norm));
    }
    WF_CHECK(load(in, layer + "linear1", f, d, feed_forward.up));
    WF_CHECK(load(in, layer + "linear2", d, f, feed_forward.down));
    WF_CHECK(load(in, layer + (decoder ? "norm3" : "norm2"), d, kEpsilon, feed_forward.norm));
  }
  if (!in.find(name + ".norm.weight")) return {};
  return load(in, name + ".norm", d, kEpsilon, out.final_norm);
}

}  // namespace

Status load_transformer(const ConfigSource& source, TensorLoader& in, Seq2SeqModel& out) {
  for (const bool decoder : {false, true}) {
    StackConfig& c = (decoder ? out.decoder : out.encoder).config;
    WF_TRY(c, read_stack(source, {decoder ? "num_decoder_layers" : "num_encoder_layers", "d_model", "nhead",
                                  "dim_feedforward", "max_length"}));
    WF_TRY(c.activation, read_activation(source, {"", "activation"}));
    WF_TRY(c.pre_norm, source.boolean_or({"", "norm_first"}, false));
    c.embedding_scale = std::sqrt(static_cast<float>(c.d_model));
  }
  const std::int64_t d = out.encoder.config.d_model;
  for (Stack* stack : {&out.encoder, &out.decoder})
    stack->positions = sinusoidal_positions(stack->config.context, d, Sinusoids::kInterleaved);
  WF_CHECK(in.matrix("source_embedding.weight", -1, d, out.source_tokens));
  if (in.find("target_embedding.weight"))
    WF_CHECK(in.matrix("target_embedding.weight", -1, d, out.target_tokens));
  WF_CHECK(load_stack(in, "transformer.encoder", false, out.encoder));
  WF_CHECK(load_stack(in, "transformer.decoder", true, out.decoder));
  const std::int64_t vocab = out.target_embedding().rows();
  if (in.find("head.weight")) WF_CHECK(in.matrix("head.weight", vocab, d, out.head));
  if (in.find("head.bias")) WF_CHECK(in.vector("head.bias", vocab, 0, out.head_bias));
  return {};
}

}  // namespace warpfold::models
