// Decoder-only transformer on the CPU: weights, KV cache and forward pass, shared by all families.
//
//   x = E[tokens]; for each layer: x += Wo attention(rope(Wq n1(x)), cache); x += Wd (act(Wg n2(x)) * Wu
//   n2(x)) logits = H n(x)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/core/thread_pool.h"
#include "warpfold/formats/gguf.h"
#include "warpfold/models/observe.h"
#include "warpfold/ops/kv_cache.h"

namespace warpfold::models {

using KvType = ops::KvType;  // kF16, or kInt8 with one scale a token and KV head

// What callers may want to know of a model; a family's file fills it in.
struct DecoderInfo {
  std::string architecture;  // "llama", "gemma3", "qwen2"
  std::string name;
  std::int64_t layers, d_model, heads, kv_heads, head_dim, d_ff, vocab;
  std::int64_t context;  // positions the model was trained for
  std::int64_t parameters;
  std::int64_t weight_bytes;  // read once for each decoded token
};

// Keys and values of one sequence. Memory for `capacity` tokens is taken at construction.
class KvCache;

struct KvCacheDeleter {
  void operator()(KvCache*) const;
};
using KvCachePtr = std::unique_ptr<KvCache, KvCacheDeleter>;

class Decoder {
 public:
  // path: a GGUF file or a directory with config.json and safetensors. progress(done, total) counts bytes.
  // Errors: what is missing or contradictory, with the tensor's or key's name; kUnsupported by architecture
  // name.
  static Result<Decoder> load(const std::string& path, ThreadPool& pool,
                              const std::function<void(std::int64_t, std::int64_t)>& progress = {});
  static Result<Decoder> load(const formats::Gguf& file, ThreadPool& pool,
                              const std::function<void(std::int64_t, std::int64_t)>& progress = {});

  const DecoderInfo& info() const;

  // Errors: kInvalidArgument for capacity < 1 or above info().context.
  Result<KvCachePtr> make_cache(std::int64_t capacity, KvType type) const;
  static std::int64_t length(const KvCache& cache);  // tokens held
  static std::int64_t capacity(const KvCache& cache);
  static std::int64_t bytes(const KvCache& cache);
  static void truncate(KvCache& cache, std::int64_t length);  // forgets tokens from `length` on

  // Appends tokens (T) to the cache and writes the logits of the last `logit_rows` of them to
  // logits (logit_rows, vocab). Long inputs are processed in chunks; `progress(done)` is called after each
  // and may return false to stop (kCancelled; the cache then holds the finished chunks). Errors:
  // kInvalidArgument for no tokens, an id outside the vocabulary, more tokens than the cache has room for.
  Status forward(std::span<const std::int32_t> tokens, KvCache& cache, std::span<float> logits,
                 std::int64_t logit_rows, ThreadPool& pool,
                 const std::function<bool(std::int64_t)>& progress = {}) const;

  // forward() of a short input, at most 32 tokens, that shows what happens: the residual stream, not normed,
  // and each layer's attention. The cache is not int8. Errors: those of forward(); kInvalidArgument for more
  // tokens, an int8 cache.
  Status observe(std::span<const std::int32_t> tokens, KvCache& cache, std::span<float> logits,
                 std::int64_t logit_rows, ThreadPool& pool, const ObserveStates& states,
                 const ObserveAttention& attention) const;

  // Appends one token to each of S sequences and writes the logits of what follows, logits (S, vocab): the
  // weights are read once for all. Errors: kInvalidArgument for no sequences, one of them given twice,
  // another number of tokens, an id outside the vocabulary, a full cache, logits of another size.
  Status step(std::span<const std::int32_t> tokens, std::span<KvCache* const> caches, std::span<float> logits,
              ThreadPool& pool) const;

  // `to` becomes the sequence in `from`. Errors: kInvalidArgument when it has no room, or keeps another type.
  static Status copy(const KvCache& from, KvCache& to);

  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;
  ~Decoder();
  struct Impl;

 private:
  explicit Decoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace warpfold::models
