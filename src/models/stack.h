// A stack of transformer layers, as an encoder or a decoder: its weights as a family's file fills them in,
// and its pass, the same for all. (Vaswani et al. 2017)
//
//   x = s E[token] + P[position];  x = n(x) where there is such a norm
//   for each layer and each of its blocks f = self-attention, cross-attention, feed-forward:
//     x = n(x + f(x))      post-norm: the original, BERT, BART
//     x = x + f(n(x))      pre-norm: T5, Whisper; n(x) once more at the end
//   attention(x) = Wo softmax(c (Wq x) (Wk y)^T + B) (Wv y) for each head, y = x, or the encoder's states
//   feed-forward(x) = Wd act(Wu x), or Wd (act(Wg x) * Wu x)      linear layers' biases not shown
//
// Sequences of a batch lie one after another, without padding: linear layers run over all tokens at once,
// attention over each sequence alone, so that no token of one can reach another. Shapes: T tokens of all
// sequences, d = d_model, H heads, D head_dim, F = d_ff.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "models/blocks.h"
#include "models/config_source.h"
#include "warpfold/core/thread_pool.h"
#include "warpfold/models/observe.h"
#include "warpfold/ops/attention.h"
#include "warpfold/ops/kv_cache.h"
#include "warpfold/ops/matmul.h"

namespace warpfold::models {

struct StackConfig {
  std::int64_t layers = 0, d_model = 0, heads = 0, head_dim = 0, d_ff = 0;
  std::int64_t context = 0;  // longest sequence
  bool pre_norm = false;
  float attention_scale = 0;
  float embedding_scale = 1;
  ops::Activation activation = ops::Activation::kRelu;
};

struct Stack {
  StackConfig config;
  const ops::PackedMatrix* tokens =
      nullptr;                   // (vocab, d): of the model, which may share it; null: states are given
  std::vector<float> positions;  // (context, d), or empty
  Norm embedding_norm;
  std::vector<Layer> layers;
  Norm final_norm;
  std::optional<ops::RelativeBias> relative;  // of self-attention
};

// Keys and values of sequences that lie in one cache, each beginning at a whole panel of keys.
struct KeySpan {
  std::int64_t begin, end;
};

// Memory of passes, reused from one to the next.
struct StackWorkspace {
  ops::Activations input;       // (T, d) of the linear layers; with post-norm it is the residual stream too
  ops::Activations inner;       // (T, H D) attention's output, then (T, F)
  std::vector<float> residual;  // (T, d) with pre-norm
  std::vector<float> q, k, v;   // (T, H D)
  std::vector<float> gate;      // (T, F)
  std::vector<std::int64_t> place;  // (T) of a token's keys
  ops::AttentionWorkspace attention;
};

class StackPass {
 public:
  // lengths (B) add up to T. With first_position > 0 the sequences continue where as many tokens went before.
  StackPass(const Stack& stack, std::span<const std::int64_t> lengths, std::int64_t first_position,
            StackWorkspace& workspace, ThreadPool& pool);

  void embed(std::span<const std::int32_t> tokens);  // (T)
  void start(const float* states);                   // (T, d) in place of token embeddings
  // Every token sees every token of its sequence; keys holds one layer, spans say where each sequence has its
  // place.
  void encode_layer(std::int64_t layer, ops::KvLayer& keys, std::span<const KeySpan> spans);
  // Every token sees those before it: `own` (B) caches, to which its keys are appended; and the encoder's
  // states of its sequence, as keys in `memory` at memory_spans (B).
  void decode_layer(std::int64_t layer, std::span<ops::KvLayer* const> own, const ops::KvLayer& memory,
                    std::span<const KeySpan> memory_spans);
  void finish();  // the final norm
  void observe_attention(const ObserveAttention& observe) {
    observe_ = &observe;
  }  // of each call from here on

  const float* states() const { return state(0); }  // (T, d)
  std::int64_t tokens() const { return tokens_; }

 private:
  float* state(std::int64_t t) const;
  void begin_block(const Norm& norm, bool quantised);
  void end_block(const Linear& w, const Norm& norm);
  void feed_forward(const FeedForwardWeights& w);
  void attend(const ops::AttentionProblem& problem, const ops::KvLayer& keys, std::int64_t layer, bool cross);
  template <class Append>
  void queries_keys_values(const AttentionWeights& w, Append append);

  const Stack& m_;
  const StackConfig& c_;
  std::span<const std::int64_t> lengths_;
  std::int64_t first_position_, tokens_ = 0;
  StackWorkspace& s_;
  ThreadPool& pool_;
  const ObserveAttention* observe_ = nullptr;
};

// Writes the keys and values of one layer's cross-attention: Wk y + b and Wv y + b of states y (T, d).
void append_memory(const AttentionWeights& w, const ops::Activations& states, std::span<const KeySpan> spans,
                   ops::KvLayer& memory, StackWorkspace& workspace, ThreadPool& pool);

// Places for sequences of these lengths, each at a whole panel of keys; the last one's end is the room they
// need.
std::vector<KeySpan> key_spans(std::span<const std::int64_t> lengths);

// sin and cos of position / 10000^(2 i / d), i < d / 2: neighbours in the original, first all sines then all
// cosines in Marian. (context, d)
enum class Sinusoids { kInterleaved, kHalves };
std::vector<float> sinusoidal_positions(std::int64_t context, std::int64_t d_model, Sinusoids order);

// "gelu", "relu", "silu", "swish", "gelu_new", ... by name. Errors: kUnsupported with the key and the name.
Result<ops::Activation> read_activation(const ConfigSource& source, Key key);
// Sizes of a stack under the family's keys, checked. heads must divide d_model unless head_dim has a key.
struct StackKeys {
  const char *layers, *d_model, *heads, *d_ff, *context, *head_dim = "";
};
Result<StackConfig> read_stack(const ConfigSource& source, const StackKeys& keys);

}  // namespace warpfold::models
