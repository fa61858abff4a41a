#include "models/weights.h"

#include <fmt/format.h>

namespace warpfold::models {
namespace {

// A tensor's name in GGUF files and in Hugging Face checkpoints; {} stands for the layer.
struct TensorName {
  const char *gguf, *hf;
};
constexpr TensorName kEmbedding{"token_embd.weight", "model.embed_tokens.weight"};
constexpr TensorName kHead{"output.weight", "lm_head.weight"};
constexpr TensorName kFinalNorm{"output_norm.weight", "model.norm.weight"};
constexpr TensorName kAttentionNorm{"blk.{}.attn_norm.weight", "model.layers.{}.input_layernorm.weight"};
constexpr TensorName kQ{"blk.{}.attn_q.weight", "model.layers.{}.self_attn.q_proj.weight"};
constexpr TensorName kK{"blk.{}.attn_k.weight", "model.layers.{}.self_attn.k_proj.weight"};
constexpr TensorName kV{"blk.{}.attn_v.weight", "model.layers.{}.self_attn.v_proj.weight"};
constexpr TensorName kO{"blk.{}.attn_output.weight", "model.layers.{}.self_attn.o_proj.weight"};
constexpr TensorName kQBias{"blk.{}.attn_q.bias", "model.layers.{}.self_attn.q_proj.bias"};
constexpr TensorName kKBias{"blk.{}.attn_k.bias", "model.layers.{}.self_attn.k_proj.bias"};
constexpr TensorName kVBias{"blk.{}.attn_v.bias", "model.layers.{}.self_attn.v_proj.bias"};
constexpr TensorName kQNorm{"blk.{}.attn_q_norm.weight", "model.layers.{}.self_attn.q_norm.weight"};
constexpr TensorName kKNorm{"blk.{}.attn_k_norm.weight", "model.layers.{}.self_attn.k_norm.weight"};
constexpr TensorName kGate{"blk.{}.ffn_gate.weight", "model.layers.{}.mlp.gate_proj.weight"};
constexpr TensorName kUp{"blk.{}.ffn_up.weight", "model.layers.{}.mlp.up_proj.weight"};
constexpr TensorName kDown{"blk.{}.ffn_down.weight", "model.layers.{}.mlp.down_proj.weight"};
constexpr TensorName kFfnNorm{"blk.{}.ffn_norm.weight", "model.layers.{}.post_attention_layernorm.weight"};
// With post-norms, Hugging Face's "post_attention_layernorm" is the one after attention.
constexpr TensorName kPreFfnNorm{"blk.{}.ffn_norm.weight", "model.layers.{}.pre_feedforward_layernorm.weight"};
constexpr TensorName kPostAttentionNorm{"blk.{}.post_attention_norm.weight", "model.layers.{}.post_attention_layernorm.weight"};
constexpr TensorName kPostFfnNorm{"blk.{}.post_ffw_norm.weight", "model.layers.{}.post_feedforward_layernorm.weight"};

// The loader, by this file's pairs of names.
class Loader {
 public:
  explicit Loader(TensorLoader& tensors) : tensors_(tensors) {}

  bool has(const TensorName& n) const { return tensors_.find(full_name(n, 0)) != nullptr; }
  Status vector(const TensorName& n, std::int64_t layer, std::int64_t size, float offset, std::vector<float>& out) {
    return tensors_.vector(full_name(n, layer), size, offset, out);
  }
  Status matrix(const TensorName& n, std::int64_t layer, std::int64_t rows, std::int64_t columns, ops::PackedMatrix& out) {
    return tensors_.matrix(full_name(n, layer), rows, columns, out);
  }

 private:
  std::string full_name(const TensorName& n, std::int64_t layer) const {
    return fmt::format(fmt::runtime(tensors_.is_gguf() ? n.gguf : n.hf), layer);
  }
  TensorLoader& tensors_;
};

Status load_layer(Loader& in, const DecoderConfig& c, std::int64_t i, LayerWeights& w) {
  const std::int64_t q_size = c.heads * c.head_dim, kv_size = c.kv_heads * c.head_dim;
  const float offset = c.norm_weight_offset;
  WF_CHECK(in.vector(kAttentionNorm, i, c.d_model, offset, w.attention_norm));
  WF_CHECK(in.matrix(kQ, i, q_size, c.d_model, w.q));
  WF_CHECK(in.matrix(kK, i, kv_size, c.d_model, w.k));
  WF_CHECK(in.matrix(kV, i, kv_size, c.d_model, w.v));
  WF_CHECK(in.matrix(kO, i, c.d_model, q_size, w.o));
  if (c.qkv_bias) {
    WF_CHECK(in.vector(kQBias, i, q_size, 0, w.q_bias));
    WF_CHECK(in.vector(kKBias, i, kv_size, 0, w.k_bias));
    WF_CHECK(in.vector(kVBias, i, kv_size, 0, w.v_bias));
  }
  if (c.qk_norm) {
    WF_CHECK(in.vector(kQNorm, i, c.head_dim, offset, w.q_norm));
    WF_CHECK(in.vector(kKNorm, i, c.head_dim, offset, w.k_norm));
  }
  WF_CHECK(in.vector(c.post_norms ? kPreFfnNorm : kFfnNorm, i, c.d_model, offset, w.ffn_norm));
  if (c.post_norms) {
    WF_CHECK(in.vector(kPostAttentionNorm, i, c.d_model, offset, w.post_attention_norm));
    WF_CHECK(in.vector(kPostFfnNorm, i, c.d_model, offset, w.post_ffn_norm));
  }
  WF_CHECK(in.matrix(kGate, i, c.d_ff, c.d_model, w.gate));
  WF_CHECK(in.matrix(kUp, i, c.d_ff, c.d_model, w.up));
  return in.matrix(kDown, i, c.d_model, c.d_ff, w.down);
}

}  // namespace

Result<DecoderWeights> load_weights(const DecoderConfig& c, const formats::Gguf* gguf,
                                    const formats::Safetensors* safetensors, const std::string& name, ThreadPool& pool,
                                    const LoadProgress& progress) {
  DecoderWeights w;
  TensorLoader tensors(gguf, safetensors, name, w.arena, pool, progress);
  Loader in(tensors);
  WF_CHECK(in.matrix(kEmbedding, 0, -1, c.d_model, w.embedding));
  for (std::int64_t i = 0; i < c.layers; ++i) WF_CHECK(load_layer(in, c, i, w.layers.emplace_back()));
  WF_CHECK(in.vector(kFinalNorm, 0, c.d_model, c.norm_weight_offset, w.final_norm));
  if (in.has(kHead) || !c.may_tie_head) WF_CHECK(in.matrix(kHead, 0, w.embedding.rows(), c.d_model, w.head));
  w.parameters = tensors.parameters();
  return w;
}

}  // namespace warpfold::models
