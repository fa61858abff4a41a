// What a caller may see of a pass, for explanation and tests.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace warpfold::models {

// The states (T, d_model) after the embedding (layer 0) and after each layer; with pre-norm the last one of
// encoders and encoder-decoders has the final norm applied.
using ObserveStates = std::function<void(std::int64_t layer, std::span<const float> states)>;

// The weights of one layer's attention over one sequence, softmax of its scores: (queries, heads, keys), rows
// add up to 1.
struct AttentionMap {
  std::int64_t layer;  // from 0
  bool cross;          // over the encoder's states
  std::int64_t queries, heads, keys;
  std::span<const float> weights;
};
using ObserveAttention = std::function<void(const AttentionMap&)>;

}  // namespace warpfold::models
