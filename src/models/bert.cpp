// BERT and MiniLM: learned positions, LayerNorm after each residual connection, biases everywhere, GELU.
// Tensor names may begin with "bert.", as checkpoints with a head on top have it. (Devlin et al. 2018)
#include <fmt/format.h>

#include "models/encoder_model.h"

namespace warpfold::models {

Status load_bert(const ConfigSource& source, TensorLoader& in, EncoderModel& out) {
  Stack& stack = out.stack;
  WF_TRY(stack.config, read_stack(source, {"num_hidden_layers", "hidden_size", "num_attention_heads",
                                           "intermediate_size", "max_position_embeddings"}));
  WF_TRY(stack.config.activation, read_activation(source, {"", "hidden_act"}));
  WF_TRY(const double layer_norm_eps, source.number_or({"", "layer_norm_eps"}, 1e-12));
  if (source.has({"", "position_embedding_type"})) {
    WF_TRY(const std::string positions, source.string({"", "position_embedding_type"}));
    if (positions != "absolute")
      return fail(ErrorCode::kUnsupported, fmt::format("{}: position_embedding_type \"{}\" is not supported",
                                                       source.name(), positions));
  }

  const auto epsilon = static_cast<float>(layer_norm_eps);
  const std::int64_t d = stack.config.d_model, f = stack.config.d_ff;
  const std::string root = in.find("bert.embeddings.word_embeddings.weight") ? "bert." : "";
  const std::string embeddings = root + "embeddings.";
  WF_CHECK(in.matrix(embeddings + "word_embeddings.weight", -1, d, out.tokens));
  WF_CHECK(in.table(embeddings + "position_embeddings.weight", stack.config.context, d, stack.positions));
  // Every token is of the first segment: its embedding goes into the positions.
  std::vector<float> segments;  // (segments, d)
  WF_CHECK(in.table(embeddings + "token_type_embeddings.weight", -1, d, segments));
  for (std::int64_t p = 0; p < stack.config.context; ++p)
    ops::add(stack.positions.data() + p * d, segments.data(), d);
  WF_CHECK(load(in, embeddings + "LayerNorm", d, epsilon, stack.embedding_norm));
  for (std::int64_t i = 0; i < stack.config.layers; ++i) {
    const std::string layer = fmt::format("{}encoder.layer.{}.", root, i);
    auto& [self, cross, feed_forward] = stack.layers.emplace_back();
    WF_CHECK(load(in, layer + "attention.self.query", d, d, self.q));
    WF_CHECK(load(in, layer + "attention.self.key", d, d, self.k));
    WF_CHECK(load(in, layer + "attention.self.value", d, d, self.v));
    WF_CHECK(load(in, layer + "attention.output.dense", d, d, self.o));
    WF_CHECK(load(in, layer + "attention.output.LayerNorm", d, epsilon, self.norm));
    WF_CHECK(load(in, layer + "intermediate.dense", f, d, feed_forward.up));
    WF_CHECK(load(in, layer + "output.dense", d, f, feed_forward.down));
    WF_CHECK(load(in, layer + "output.LayerNorm", d, epsilon, feed_forward.norm));
  }
  return {};
}

}  // namespace warpfold::models
