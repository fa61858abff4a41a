// What every transformer is built of, as weights: linear layers, normalisation, attention, feed-forward. A
// family's file says where each comes from; stack.cpp says in which order they are applied.
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
  std::vector<float> bias;   // (outputs), or empty
};

struct Norm {                 // LayerNorm, or RMSNorm without a bias
  std::vector<float> weight;  // (d_model), or empty: no norm
  std::vector<float> bias;    // (d_model), or empty
  float epsilon = 1e-5f;

  void apply(const float* x, float* out) const {
    const auto n = static_cast<std::int64_t>(weight.size());
    if (bias.empty())
      ops::rms_norm(x, weight.data(), n, epsilon, out);
    else
      ops::layer_norm(x, weight.data(), bias.data(), n, epsilon, out);
  }
};

struct AttentionWeights {
  Linear q, k, v;  // (heads * head_dim, d_model)
  Linear o;        // (d_model, heads * head_dim)
  Norm norm;       // before the block or after its residual connection
};

struct FeedForwardWeights {
  Linear gate;  // (d_ff, d_model), or empty: not gated
  Linear up;    // (d_ff, d_model)
  Linear down;  // (d_model, d_ff)
  Norm norm;
};

struct Layer {
  AttentionWeights self;
  AttentionWeights cross;  // in decoders that read an encoder's output; else empty
  FeedForwardWeights feed_forward;
};

enum class Bias { kNone, kRequired };

// PREFIX.weight and PREFIX.bias.
inline Status load(TensorLoader& in, const std::string& prefix, std::int64_t outputs, std::int64_t inputs,
                   Linear& out, Bias bias = Bias::kRequired) {
  WF_CHECK(in.matrix(prefix + ".weight", outputs, inputs, out.weight));
  if (bias == Bias::kNone) return {};
  return in.vector(prefix + ".bias", outputs, 0, out.bias);
}
inline Status load(TensorLoader& in, const std::string& prefix, std::int64_t size, float epsilon, Norm& out,
                   Bias bias = Bias::kRequired) {
  out.epsilon = epsilon;
  WF_CHECK(in.vector(prefix + ".weight", size, 0, out.weight));
  if (bias == Bias::kNone) return {};
  return in.vector(prefix + ".bias", size, 0, out.bias);
}

}  // namespace warpfold::models
