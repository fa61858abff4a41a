// A decoder's weights: found by name in a GGUF file or a safetensors set, checked for shape, packed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/config.h"
#include "models/tensor_loader.h"
#include "warpfold/core/thread_pool.h"
#include "warpfold/formats/gguf.h"
#include "warpfold/formats/safetensors.h"
#include "warpfold/ops/packed_matrix.h"

namespace warpfold::models {

struct LayerWeights {
  std::vector<float> attention_norm, ffn_norm;              // (d_model)
  std::vector<float> post_attention_norm, post_ffn_norm;    // (d_model), with post_norms
  std::vector<float> q_norm, k_norm;                        // (head_dim), with qk_norm
  std::vector<float> q_bias, k_bias, v_bias;                // (heads or kv_heads * head_dim), with qkv_bias
  ops::PackedMatrix q, k, v;                                // (heads or kv_heads * head_dim, d_model)
  ops::PackedMatrix o;                                      // (d_model, heads * head_dim)
  ops::PackedMatrix gate, up;                               // (d_ff, d_model)
  ops::PackedMatrix down;                                   // (d_model, d_ff)
};

struct DecoderWeights {
  ops::WeightArena arena;  // holds all matrices
  ops::PackedMatrix embedding;  // (vocab, d_model)
  ops::PackedMatrix head;       // (vocab, d_model); empty when tied to the embedding
  std::vector<float> final_norm;
  std::vector<LayerWeights> layers;
  std::int64_t parameters = 0;
};

// Either source; the other is null. Errors: kBadFile with the tensor's name and shapes.
Result<DecoderWeights> load_weights(const DecoderConfig& config, const formats::Gguf* gguf,
                                    const formats::Safetensors* safetensors, const std::string& name, ThreadPool& pool,
                                    const LoadProgress& progress);

}  // namespace warpfold::models
