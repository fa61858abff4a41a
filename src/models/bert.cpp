// BERT and MiniLM: learned positions, LayerNorm after each residual connection, biases everywhere, GELU.
// Tensor names may begin with "bert.", as checkpoints with a head on top have it.
#include <fmt/format.h>

#include "models/encoder_model.h"

namespace warpfold::models {

Status read_bert(const ConfigSource& source, EncoderModel& out) {
  constexpr std::int64_t kMaxSize = 1 << 20;  // far beyond any model, far below overflow of products
  const auto size = [&](const char* key, std::int64_t& value) -> Status {
    WF_TRY(value, source.integer({"", key}));
    if (value >= 1 && value <= kMaxSize) return {};
    return fail(ErrorCode::kBadFile,
                fmt::format("{}: {} is {}, expected 1 to {}", source.name(), key, value, kMaxSize));
  };
  EncoderInfo& info = out.info;
  WF_CHECK(size("num_hidden_layers", info.layers));
  WF_CHECK(size("hidden_size", info.d_model));
  WF_CHECK(size("num_attention_heads", info.heads));
  WF_CHECK(size("intermediate_size", info.d_ff));
  WF_CHECK(size("max_position_embeddings", info.context));
  if (info.d_model % info.heads != 0)
    return fail(ErrorCode::kBadFile, fmt::format("{}: a width of {} is no multiple of {} heads",
                                                 source.name(), info.d_model, info.heads));
  if (source.has({"", "position_embedding_type"})) {
    WF_TRY(const std::string positions, source.string({"", "position_embedding_type"}));
    if (positions != "absolute")
      return fail(ErrorCode::kUnsupported, fmt::format("{}: position_embedding_type \"{}\" is not supported",
                                                       source.name(), positions));
  }
  WF_TRY(const std::string act, source.string({"", "hidden_act"}));
  if (act == "gelu")
    out.activation = ops::Activation::kGelu;
  else if (act == "gelu_new" || act == "gelu_pytorch_tanh")
    out.activation = ops::Activation::kGeluTanh;
  else if (act == "relu")
    out.activation = ops::Activation::kRelu;
  else if (act == "silu")
    out.activation = ops::Activation::kSilu;
  else
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: hidden_act \"{}\" is not supported", source.name(), act));
  return {};
}

Status load_bert(TensorLoader& in, float norm_epsilon, EncoderModel& out) {
  const EncoderInfo& info = out.info;
  const std::int64_t d = info.d_model;
  const std::string root = in.find("bert.embeddings.word_embeddings.weight") ? "bert." : "";
  const std::string embeddings = root + "embeddings.";
  WF_CHECK(in.matrix(embeddings + "word_embeddings.weight", -1, d, out.tokens));
  WF_CHECK(in.matrix(embeddings + "position_embeddings.weight", info.context, d, out.positions));
  ops::PackedMatrix types;
  WF_CHECK(in.matrix(embeddings + "token_type_embeddings.weight", -1, d, types));
  out.type.resize(static_cast<std::size_t>(d));
  types.unpack_row(0, out.type.data());
  WF_CHECK(load(in, embeddings + "LayerNorm", d, norm_epsilon, out.embedding_norm));
  for (std::int64_t i = 0; i < info.layers; ++i) {
    const std::string layer = fmt::format("{}encoder.layer.{}.", root, i);
    auto& [attention, feed_forward] = out.layers.emplace_back();
    WF_CHECK(load(in, layer + "attention.self.query", d, d, attention.q));
    WF_CHECK(load(in, layer + "attention.self.key", d, d, attention.k));
    WF_CHECK(load(in, layer + "attention.self.value", d, d, attention.v));
    WF_CHECK(load(in, layer + "attention.output.dense", d, d, attention.o));
    WF_CHECK(load(in, layer + "attention.output.LayerNorm", d, norm_epsilon, attention.norm));
    WF_CHECK(load(in, layer + "intermediate.dense", info.d_ff, d, feed_forward.up));
    WF_CHECK(load(in, layer + "output.dense", d, info.d_ff, feed_forward.down));
    WF_CHECK(load(in, layer + "output.LayerNorm", d, norm_epsilon, feed_forward.norm));
  }
  return {};
}

}  // namespace warpfold::models
