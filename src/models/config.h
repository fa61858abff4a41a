// What distinguishes one decoder-only family from another, as values: every family fills in this struct and the
// forward pass in decoder.cpp reads it. A family's file is models/<family>.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/config_source.h"
#include "warpfold/core/error.h"
#include "warpfold/ops/elementwise.h"

namespace warpfold::models {

// Rotary positions: angle of pair i at position p = p * base^(-2i / dims) / linear / factor[i]; cosine and sine are
// multiplied by `magnitude`.
struct Rope {
  double base = 10000;
  double linear = 1;             // positions are divided by it
  std::int64_t dims = 0;         // leading dimensions of a head that are rotated
  bool interleaved = false;      // pairs (2i, 2i + 1) instead of (i, i + dims / 2)
  std::vector<double> factors;   // (dims / 2), or empty
  double magnitude = 1;          // above 1 in YaRN (Peng et al. 2023)
};

struct DecoderConfig {
  std::string architecture;
  std::int64_t layers = 0, d_model = 0, heads = 0, kv_heads = 0, head_dim = 0, d_ff = 0, context = 0;
  float norm_epsilon = 1e-5f;
  float attention_scale = 0;  // 1 / sqrt(head_dim) in most families
  Rope rope;                  // of layers that see all positions before them
  Rope local_rope;            // of sliding-window layers; used where window > 0
  std::int64_t window = 0;          // keys a query of a sliding-window layer sees, itself included
  std::int64_t global_every = 0;    // layer i sees all when (i + 1) % global_every == 0; 0: no layer does
  float embedding_scale = 1;
  float norm_weight_offset = 0;     // added to stored norm weights (1 in Gemma checkpoints of Hugging Face)
  bool may_tie_head = true;         // without an output matrix, the embedding serves as one
  bool qkv_bias = false;
  bool qk_norm = false;             // RMSNorm of each query and key head before rotation
  bool post_norms = false;          // RMSNorm of the attention's and the feed-forward's output before the residual
  ops::Activation activation = ops::Activation::kSilu;

  bool is_local(std::int64_t layer) const { return window > 0 && (global_every == 0 || (layer + 1) % global_every != 0); }
};

// One function a family; see the table in families.cpp.
Result<DecoderConfig> read_llama(const ConfigSource& source);
Result<DecoderConfig> read_mistral(const ConfigSource& source);
Result<DecoderConfig> read_qwen2(const ConfigSource& source);
Result<DecoderConfig> read_qwen3(const ConfigSource& source);
Result<DecoderConfig> read_gemma3(const ConfigSource& source);

// The family's config by the source's architecture name. Errors: kUnsupported with the name and those supported.
Result<DecoderConfig> read_config(const ConfigSource& source);

// What the families share: sizes, epsilon, rotary base and scaling, the usual attention scale.
Result<DecoderConfig> read_common(const ConfigSource& source);

}  // namespace warpfold::models
