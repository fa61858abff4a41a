// Encoders on the CPU (BERT, MiniLM): every token sees every token of its sequence.
//
//   x = n(E[token] + P[position] + S);  for each layer: x = n(x + Wo attention(Wq x, Wk x, Wv x));
//                                                       x = n(x + W2 act(W1 x))         n = LayerNorm, biases
//                                                       not shown
// A batch's sequences lie one after another, without padding: linear layers run over all tokens at once,
// attention over each sequence alone, so that no token of one can reach another. (Vaswani et al. 2017; Devlin
// et al. 2018)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "warpfold/core/error.h"
#include "warpfold/core/thread_pool.h"
#include "warpfold/models/observe.h"

namespace warpfold::models {

struct EncoderInfo {
  std::string architecture;  // "bert"
  std::string name;
  std::int64_t layers, d_model, heads, d_ff, vocab;
  std::int64_t context;  // longest sequence
  std::int64_t parameters;
};

// Memory of forward passes, reused from one to the next; one for each thread of callers.
class EncoderWorkspace;
struct EncoderWorkspaceDeleter {
  void operator()(EncoderWorkspace*) const;
};
using EncoderWorkspacePtr = std::unique_ptr<EncoderWorkspace, EncoderWorkspaceDeleter>;

struct EncoderModel;

class Encoder {
 public:
  // path: a directory with config.json and safetensors.
  // Errors: what is missing or contradictory, with the tensor's or key's name; kUnsupported by architecture
  // name.
  static Result<Encoder> load(const std::string& path, ThreadPool& pool,
                              const std::function<void(std::int64_t, std::int64_t)>& progress = {});

  const EncoderInfo& info() const;
  EncoderWorkspacePtr make_workspace() const;

  // tokens (T): all sequences, of lengths (B) that add up to T. Writes the last layer's states to hidden (T,
  // d_model). observe and attention see what models/observe.h says. Errors: kInvalidArgument for no or an
  // empty sequence, one longer than the context, lengths that do not add up, an id outside the vocabulary, a
  // hidden of another size.
  Status forward(std::span<const std::int32_t> tokens, std::span<const std::int64_t> lengths,
                 std::span<float> hidden, EncoderWorkspace& workspace, ThreadPool& pool,
                 const ObserveStates& observe = {}, const ObserveAttention& attention = {}) const;

  Encoder(Encoder&&) noexcept;
  Encoder& operator=(Encoder&&) noexcept;
  ~Encoder();

 private:
  explicit Encoder(std::unique_ptr<EncoderModel> model);
  std::unique_ptr<EncoderModel> model_;
};

}  // namespace warpfold::models
