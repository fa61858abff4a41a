// Gemma 3 (text): few KV heads of 256 dimensions, RMSNorm of queries and keys, norms before and after each block,
// GELU-gated feed-forward, embeddings scaled by sqrt(width); five sliding-window layers for each global one, with
// rotary bases of their own.
#include <cmath>

#include <fmt/format.h>

#include "models/config.h"

namespace warpfold::models {

Result<DecoderConfig> read_gemma3(const ConfigSource& source) {
  WF_TRY(DecoderConfig c, read_common(source));
  if (!source.has({"rope.freq_base", "rope_theta"})) c.rope.base = 1e6;
  WF_TRY(c.window, source.integer({"attention.sliding_window", "sliding_window"}));
  WF_TRY(c.global_every, source.integer_or({"attention.sliding_window_pattern", "sliding_window_pattern"}, 6));
  if (c.window < 1 || c.global_every < 1)
    return fail(ErrorCode::kBadFile, fmt::format("{}: a sliding window of {} tokens, global every {} layers, is impossible",
                                                 source.name(), c.window, c.global_every));
  c.local_rope.dims = c.rope.dims;
  WF_TRY(c.local_rope.base, source.number_or({"rope.freq_base_swa", "rope_local_base_freq"}, 10000));
  // The 27B model (62 layers) scales scores by its width a head; files of Hugging Face say so, GGUF files do not.
  const double fallback = static_cast<double>(c.layers == 62 ? c.d_model / c.heads : c.head_dim);
  WF_TRY(const double scalar, source.number_or({"", "query_pre_attn_scalar"}, fallback));
  c.attention_scale = static_cast<float>(1.0 / std::sqrt(scalar));
  c.embedding_scale = std::sqrt(static_cast<float>(c.d_model));
  c.norm_weight_offset = source.is_gguf() ? 0.0f : 1.0f;
  c.qk_norm = true;
  c.post_norms = true;
  c.activation = ops::Activation::kGeluTanh;
  return c;
}

}  // namespace warpfold::models
