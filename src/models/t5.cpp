// T5 and its gated successors (v1.1, Flan): RMSNorm before each block, no biases, scores without a scale but
// with a bias by distance that all layers share, one embedding; a tied head reads states divided by
// sqrt(d_model). (Raffel et al. 2019; Shazeer 2020)
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/seq2seq_model.h"

namespace warpfold::models {
namespace {

// The bucket of a key at distance j - i. Half of the buckets are single distances, the others grow with the
// logarithm up to `most`, beyond which all are one. An encoder splits them between keys before and after the
// query. In float, as the checkpoints were trained.
std::int64_t bucket(std::int64_t distance, bool causal, std::int64_t buckets, std::int64_t most) {
  std::int64_t first = 0;
  if (!causal) {
    buckets /= 2;
    if (distance > 0) first = buckets;
  }
  const std::int64_t n = causal ? std::max<std::int64_t>(-distance, 0) : std::abs(distance),
                     exact = buckets / 2;
  if (n < exact) return first + n;
  const float octaves = std::log(static_cast<float>(n) / static_cast<float>(exact)) /
                        static_cast<float>(std::log(static_cast<double>(most) / static_cast<double>(exact)));
  return first + std::min(exact + static_cast<std::int64_t>(octaves * static_cast<float>(buckets - exact)),
                          buckets - 1);
}

struct Distances {
  std::int64_t buckets, most;
};

Status load_stack(TensorLoader& in, const std::string& name, bool decoder, bool gated, Distances distances,
                  float epsilon, Stack& out) {
  const StackConfig& c = out.config;
  const std::int64_t d = c.d_model, width = c.heads * c.head_dim;
  const auto attention = [&](const std::string& prefix, AttentionWeights& w) -> Status {
    WF_CHECK(load(in, prefix + ".q", width, d, w.q, Bias::kNone));
    WF_CHECK(load(in, prefix + ".k", width, d, w.k, Bias::kNone));
    WF_CHECK(load(in, prefix + ".v", width, d, w.v, Bias::kNone));
    return load(in, prefix + ".o", d, width, w.o, Bias::kNone);
  };
  for (std::int64_t i = 0; i < c.layers; ++i) {
    const std::string layer = fmt::format("{}.block.{}.layer.", name, i);
    const std::string last = layer + (decoder ? "2" : "1"), dense = last + ".DenseReluDense.";
    auto& [self, cross, feed_forward] = out.layers.emplace_back();
    WF_CHECK(attention(layer + "0.SelfAttention", self));
    WF_CHECK(load(in, layer + "0.layer_norm", d, epsilon, self.norm, Bias::kNone));
    if (decoder) {
      WF_CHECK(attention(layer + "1.EncDecAttention", cross));
      WF_CHECK(load(in, layer + "1.layer_norm", d, epsilon, cross.norm, Bias::kNone));
    }
    if (gated) WF_CHECK(load(in, dense + "wi_0", c.d_ff, d, feed_forward.gate, Bias::kNone));
    WF_CHECK(load(in, dense + (gated ? "wi_1" : "wi"), c.d_ff, d, feed_forward.up, Bias::kNone));
    WF_CHECK(load(in, dense + "wo", d, c.d_ff, feed_forward.down, Bias::kNone));
    WF_CHECK(load(in, last + ".layer_norm", d, epsilon, feed_forward.norm, Bias::kNone));
  }
  WF_CHECK(load(in, name + ".final_layer_norm", d, epsilon, out.final_norm, Bias::kNone));
  std::vector<float> table;  // (buckets, heads)
  WF_CHECK(in.table(name + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight", distances.buckets,
                    c.heads, table));
  out.relative.emplace(c.heads, c.context);
  for (std::int64_t n = 1 - c.context; n < c.context; ++n)
    for (std::int64_t h = 0; h < c.heads; ++h)
      out.relative->at(h)[n] = table[static_cast<std::size_t>(
          bucket(n, decoder, distances.buckets, distances.most) * c.heads + h)];
  return {};
}

}  // namespace

Status load_t5(const ConfigSource& source, TensorLoader& in, Seq2SeqModel& out) {
  WF_TRY(StackConfig c,
         read_stack(source, {"num_layers", "d_model", "num_heads", "d_ff", "n_positions", "d_kv"}));
  c.pre_norm = true;
  c.attention_scale = 1;
  bool gated = false;
  if (source.has({"", "feed_forward_proj"})) {
    WF_TRY(std::string kind, source.string({"", "feed_forward_proj"}));
    gated = kind.starts_with("gated-");
    if (gated) kind = kind.substr(6);
    if (kind == "gelu" && gated)
      c.activation = ops::Activation::kGeluTanh;  // as the checkpoints were trained
    else if (kind == "gelu")
      c.activation = ops::Activation::kGelu;
    else if (kind == "silu")
      c.activation = ops::Activation::kSilu;
    else if (kind != "relu")
      return fail(ErrorCode::kUnsupported,
                  fmt::format("{}: feed_forward_proj \"{}\" is not supported", source.name(), kind));
  }
  out.encoder.config = out.decoder.config = c;
  if (source.has({"", "num_decoder_layers"})) {
    WF_TRY(out.decoder.config.layers, source.size({"", "num_decoder_layers"}));
  }
  WF_TRY(const double epsilon, source.number_or({"", "layer_norm_epsilon"}, 1e-6));
  Distances distances{32, 128};
  WF_TRY(distances.buckets, source.integer_or({"", "relative_attention_num_buckets"}, distances.buckets));
  WF_TRY(distances.most, source.integer_or({"", "relative_attention_max_distance"}, distances.most));
  if (distances.buckets < 4 || distances.buckets > 4096 || distances.most <= distances.buckets / 2)
    return fail(ErrorCode::kBadFile, fmt::format("{}: {} buckets for distances up to {} are impossible",
                                                 source.name(), distances.buckets, distances.most));
  WF_CHECK(in.matrix("shared.weight", -1, c.d_model, out.source_tokens));
  WF_CHECK(load_stack(in, "encoder", false, gated, distances, static_cast<float>(epsilon), out.encoder));
  WF_CHECK(load_stack(in, "decoder", true, gated, distances, static_cast<float>(epsilon), out.decoder));
  // Files of v1.1 and Flan untie the head, and its input is then not scaled; newer ones say the latter by
  // itself.
  WF_TRY(const bool tied, source.boolean_or({"", "tie_word_embeddings"}, true));
  WF_TRY(const bool scaled, source.boolean_or({"", "scale_decoder_outputs"}, tied));
  if (scaled) out.head_scale = 1 / std::sqrt(static_cast<float>(c.d_model));
  if (!tied || in.find("lm_head.weight"))
    WF_CHECK(in.matrix("lm_head.weight", out.source_tokens.rows(), c.d_model, out.head));
  return {};
}

}  // namespace warpfold::models
