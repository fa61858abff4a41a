// What every transformer is built of, as weights: linear layers with bias, normalisation, attention,
// feed-forward. A family's file says where each comes from; the passes (encoder.cpp) say in which order they
// are applied.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/tensor_loader.h"
#include "warpfold/core/error.h"
#include "warpfold/ops/elementwise.h"
#include "warpfold/ops/packed_matrix.h"

namespace warpfold::models {

struct Linear {              // y = W x + b
  ops::PackedMatrix weight;  // (outputs, inputs)
  std::vector<float> bias;   // (outputs)
};

struct LayerNorm {
  std::vector<float> weight, bias;  // (d_model)
  float epsilon = 1e-5f;

  void apply(const float* x, float* out) const {
    ops::layer_norm(x, weight.data(), bias.data(), static_cast<std::int64_t>(weight.size()), epsilon, out);
  }
};

struct AttentionWeights {
  Linear q, k, v;  // (d_model, d_model)
  Linear o;        // (d_model, d_model)
  LayerNorm norm;  // after the residual connection
};

struct FeedForwardWeights {
  Linear up;    // (d_ff, d_model)
  Linear down;  // (d_model, d_ff)
  LayerNorm norm;
};

// PREFIX.weight and PREFIX.bias.
inline Status load(TensorLoader& in, const std::string& prefix, std::int64_t outputs, std::int64_t inputs,
                   Linear& out) {
  WF_CHECK(in.matrix(prefix + ".weight", outputs, inputs, out.weight));
  return in.vector(prefix + ".bias", outputs, 0, out.bias);
}
inline Status load(TensorLoader& in, const std::string& prefix, std::int64_t size, float epsilon,
                   LayerNorm& out) {
  out.epsilon = epsilon;
  WF_CHECK(in.vector(prefix + ".weight", size, 0, out.weight));
  return in.vector(prefix + ".bias", size, 0, out.bias);
}

}  // namespace warpfold::models
