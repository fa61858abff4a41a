// Forward pass of decoder-only transformers; the formulas stand in the public header, the differences between
// families in DecoderConfig. Shapes: T tokens of a chunk, d = d_model, H heads, G KV heads, D head_dim, F =
// d_ff.
#include "warpfold/models/decoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <new>

#include <fmt/format.h>

#include "models/batch_checks.h"
#include "models/config.h"
#include "models/directory.h"
#include "models/for_tokens.h"
#include "models/weights.h"
#include "warpfold/ops/attention.h"
#include "warpfold/ops/elementwise.h"
#include "warpfold/ops/matmul.h"

namespace warpfold::models {

struct Decoder::Impl {
  DecoderConfig config;
  DecoderWeights weights;
  DecoderInfo info;
  std::vector<double> frequencies, local_frequencies;  // (rope.dims / 2) radians a position
};

class KvCache {
 public:
  std::int64_t capacity = 0, length = 0;
  std::vector<ops::KvLayer> layers;
  // Scratch of the forward pass: one set a sequence, since a sequence runs one pass at a time.
  ops::Activations input;  // the current linear layers' input
  ops::AttentionWorkspace attention;
  std::vector<float> x;                                       // (T, d) residual stream
  std::vector<float> q, k, v;                                 // (T, H * D), (T, G * D), (T, G * D)
  std::vector<float> gate, up;                                // (T, F)
  std::vector<float> branch;                                  // (T, d) a block's output before its post-norm
  std::vector<std::int64_t> positions;                        // (T)
  std::vector<float> cosine, sine, local_cosine, local_sine;  // (T, rope.dims / 2)
};

void KvCacheDeleter::operator()(KvCache* cache) const { delete cache; }

namespace {

std::vector<double> rope_frequencies(const Rope& rope) {
  std::vector<double> f;
  for (std::int64_t i = 0; i < rope.dims / 2; ++i) {
    const double factor = rope.factors.empty() ? 1 : rope.factors[static_cast<std::size_t>(i)];
    f.push_back(std::pow(rope.base, -2.0 * static_cast<double>(i) / static_cast<double>(rope.dims)) /
                rope.linear / factor);
  }
  return f;
}

void rope_table(const std::vector<double>& frequencies, double magnitude,
                const std::vector<std::int64_t>& positions, std::vector<float>& cosine,
                std::vector<float>& sine) {
  const std::size_t half = frequencies.size();
  cosine.resize(positions.size() * half);
  sine.resize(cosine.size());
  for (std::size_t t = 0; t < positions.size(); ++t)
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(positions[t]) * frequencies[i];
      cosine[t * half + i] = static_cast<float>(magnitude * std::cos(angle));
      sine[t * half + i] = static_cast<float>(magnitude * std::sin(angle));
    }
}

// The pass of the next n tokens of each sequence through the layers: a chunk of one, or a token of several.
// Row t belongs to sequence t / n.
class Pass {
 public:
  Pass(const Decoder::Impl& model, std::span<KvCache* const> sequences, std::int64_t n, ThreadPool& pool)
      : m_(model),
        c_(model.config),
        sequences_(sequences),
        s_(*sequences[0]),
        n_(n),
        tokens_(static_cast<std::int64_t>(sequences.size()) * n),
        pool_(pool) {
    const std::int64_t tokens = tokens_;
    const auto rows = [&](std::int64_t columns) { return static_cast<std::size_t>(tokens * columns); };
    grow(s_.x, rows(c_.d_model));
    grow(s_.q, rows(c_.heads * c_.head_dim));
    grow(s_.k, rows(c_.kv_heads * c_.head_dim));
    grow(s_.v, rows(c_.kv_heads * c_.head_dim));
    grow(s_.gate, rows(c_.d_ff));
    grow(s_.up, rows(c_.d_ff));
    if (c_.post_norms) grow(s_.branch, rows(c_.d_model));
    s_.positions.clear();
    for (std::int64_t t = 0; t < tokens; ++t) s_.positions.push_back(position(t));
    rope_table(m_.frequencies, c_.rope.magnitude, s_.positions, s_.cosine, s_.sine);
    if (c_.window > 0)
      rope_table(m_.local_frequencies, c_.local_rope.magnitude, s_.positions, s_.local_cosine, s_.local_sine);
  }

  void embed(std::span<const std::int32_t> ids) {
    for_tokens(tokens_, pool_, [&](std::int64_t t) {
      float* row = s_.x.data() + t * c_.d_model;
      m_.weights.embedding.unpack_row(ids[static_cast<std::size_t>(t)], row);
      if (c_.embedding_scale != 1) ops::scale(row, c_.embedding_scale, c_.d_model);
    });
  }

  void layer(std::int64_t i) {
    const LayerWeights& w = m_.weights.layers[static_cast<std::size_t>(i)];
    attention_block(w, static_cast<std::size_t>(i), c_.is_local(i));
    feed_forward_block(w);
  }

  void observe_attention(const ObserveAttention& observe) {
    observe_ = &observe;
  }  // of each layer from here on
  std::span<const float> states() const {
    return std::span(s_.x).first(static_cast<std::size_t>(tokens_ * c_.d_model));
  }

  // logits (rows, vocab) of the chunk's last rows.
  void head(std::int64_t rows, float* logits) {
    const ops::PackedMatrix& w = m_.weights.head.rows() > 0 ? m_.weights.head : m_.weights.embedding;
    s_.input.reshape(rows, c_.d_model);
    for_tokens(rows, pool_, [&](std::int64_t r) {
      ops::rms_norm(s_.x.data() + (tokens_ - rows + r) * c_.d_model, m_.weights.final_norm.data(), c_.d_model,
                    c_.norm_epsilon, s_.input.row(r));
      if (w.quantised()) s_.input.quantise(r);
    });
    const ops::MatmulTask task{&w, logits, w.rows()};
    ops::Matmul::run({&task, 1}, s_.input, pool_);
  }

 private:
  std::int64_t position(std::int64_t t) const {
    return sequences_[static_cast<std::size_t>(t / n_)]->length + t % n_;
  }

  static void grow(std::vector<float>& v, std::size_t n) {
    if (v.size() < n) v.resize(n);
  }

  // input (T, d) = norm(x)
  void normalised_input(const std::vector<float>& weight, bool quantise) {
    s_.input.reshape(tokens_, c_.d_model);
    for_tokens(tokens_, pool_, [&](std::int64_t t) {
      ops::rms_norm(s_.x.data() + t * c_.d_model, weight.data(), c_.d_model, c_.norm_epsilon,
                    s_.input.row(t));
      if (quantise) s_.input.quantise(t);
    });
  }

  // x += W input, or x += norm(W input)
  void add_projection(const ops::PackedMatrix& w, const std::vector<float>& post_norm) {
    if (!c_.post_norms) {
      const ops::MatmulTask task{&w, s_.x.data(), c_.d_model, true};
      ops::Matmul::run({&task, 1}, s_.input, pool_);
      return;
    }
    const ops::MatmulTask task{&w, s_.branch.data(), c_.d_model};
    ops::Matmul::run({&task, 1}, s_.input, pool_);
    for_tokens(tokens_, pool_, [&](std::int64_t t) {
      float* b = s_.branch.data() + t * c_.d_model;
      ops::rms_norm(b, post_norm.data(), c_.d_model, c_.norm_epsilon, b);
      ops::add(s_.x.data() + t * c_.d_model, b, c_.d_model);
    });
  }

  // Bias, norm and rotation of one token's heads of q or k: x (heads, D).
  void finish_heads(float* x, std::int64_t heads, const std::vector<float>& bias,
                    const std::vector<float>& norm, std::int64_t t, bool local) {
    if (c_.qkv_bias) ops::add(x, bias.data(), heads * c_.head_dim);
    const Rope& rope = local ? c_.local_rope : c_.rope;
    const float* cosine = (local ? s_.local_cosine : s_.cosine).data() + t * (rope.dims / 2);
    const float* sine = (local ? s_.local_sine : s_.sine).data() + t * (rope.dims / 2);
    for (std::int64_t h = 0; h < heads; ++h) {
      float* head = x + h * c_.head_dim;
      if (c_.qk_norm) ops::rms_norm(head, norm.data(), c_.head_dim, c_.norm_epsilon, head);
      ops::rotate(head, cosine, sine, rope.dims, rope.interleaved);
    }
  }

  void attention_block(const LayerWeights& w, std::size_t layer, bool local) {
    const std::int64_t q_size = c_.heads * c_.head_dim, kv_size = c_.kv_heads * c_.head_dim;
    normalised_input(w.attention_norm, w.q.quantised() || w.k.quantised() || w.v.quantised());
    const std::array tasks{ops::MatmulTask{&w.q, s_.q.data(), q_size},
                           ops::MatmulTask{&w.k, s_.k.data(), kv_size},
                           ops::MatmulTask{&w.v, s_.v.data(), kv_size}};
    ops::Matmul::run(tasks, s_.input, pool_);
    for_tokens(tokens_, pool_, [&](std::int64_t t) {
      float* k = s_.k.data() + t * kv_size;
      float* v = s_.v.data() + t * kv_size;
      finish_heads(s_.q.data() + t * q_size, c_.heads, w.q_bias, w.q_norm, t, local);
      finish_heads(k, c_.kv_heads, w.k_bias, w.k_norm, t, local);
      if (c_.qkv_bias) ops::add(v, w.v_bias.data(), kv_size);
      sequences_[static_cast<std::size_t>(t / n_)]->layers[layer].append(k, v, position(t));
    });
    s_.input.reshape(tokens_, q_size);
    for (std::int64_t t = 0; t < tokens_; t += n_) {
      const ops::KvLayer& cache = sequences_[static_cast<std::size_t>(t / n_)]->layers[layer];
      const ops::AttentionProblem problem{
          s_.q.data() + t * q_size, s_.input.row(t),   n_, c_.heads, position(t),
          local ? c_.window : 0,    c_.attention_scale};
      ops::attention(problem, cache, s_.attention, pool_);
      if (observe_ && *observe_) {
        std::vector<float> weights;
        ops::attention_weights(problem, cache, weights);
        (*observe_)({static_cast<std::int64_t>(layer), false, n_, c_.heads, position(t) + n_, weights});
      }
    }
    if (w.o.quantised()) for_tokens(tokens_, pool_, [&](std::int64_t t) { s_.input.quantise(t); });
    add_projection(w.o, w.post_attention_norm);
  }

  void feed_forward_block(const LayerWeights& w) {
    normalised_input(w.ffn_norm, w.gate.quantised() || w.up.quantised());
    const std::array tasks{ops::MatmulTask{&w.gate, s_.gate.data(), c_.d_ff},
                           ops::MatmulTask{&w.up, s_.up.data(), c_.d_ff}};
    ops::Matmul::run(tasks, s_.input, pool_);
    s_.input.reshape(tokens_, c_.d_ff);
    for_tokens(tokens_, pool_, [&](std::int64_t t) {
      ops::gated(c_.activation, s_.gate.data() + t * c_.d_ff, s_.up.data() + t * c_.d_ff, c_.d_ff,
                 s_.input.row(t));
      if (w.down.quantised()) s_.input.quantise(t);
    });
    add_projection(w.down, w.post_ffn_norm);
  }

  const Decoder::Impl& m_;
  const DecoderConfig& c_;
  std::span<KvCache* const> sequences_;
  KvCache& s_;  // the first sequence: its scratch memory serves all
  std::int64_t n_, tokens_;
  ThreadPool& pool_;
  const ObserveAttention* observe_ = nullptr;
};

// Tokens a chunk: enough that weights are read rarely, few enough that scratch memory stays near 24 MiB.
std::int64_t chunk_tokens(const DecoderConfig& c) {
  const std::int64_t widest = std::max(c.d_ff, c.heads * c.head_dim);
  const std::int64_t bytes =
      4 * (c.d_model + (c.heads + 2 * c.kv_heads) * c.head_dim + 2 * c.d_ff) + 6 * widest;
  return std::clamp<std::int64_t>((std::int64_t{24} << 20) / bytes / 8 * 8, 32, 512);
}

// Bytes that one decoded token reads: every matrix once, the embedding only when it is the head too.
std::int64_t weight_bytes(const DecoderWeights& w) {
  std::int64_t n = w.head.rows() > 0 ? w.head.bytes() : w.embedding.bytes();
  for (const LayerWeights& l : w.layers)
    n += l.q.bytes() + l.k.bytes() + l.v.bytes() + l.o.bytes() + l.gate.bytes() + l.up.bytes() +
         l.down.bytes();
  return n;
}

Status check_input(const Decoder::Impl& m, std::span<const std::int32_t> tokens, const KvCache& cache,
                   std::span<float> logits, std::int64_t logit_rows) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  const std::int64_t vocab = m.info.vocab;
  if (count == 0) return fail(ErrorCode::kInvalidArgument, "no tokens to process");
  if (count > cache.capacity - cache.length)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} tokens do not fit: the context holds {} and {} are used", count,
                            cache.capacity, cache.length));
  WF_CHECK(check_ids(tokens, vocab));
  if (logit_rows < 0 || logit_rows > count || static_cast<std::int64_t>(logits.size()) < logit_rows * vocab)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} rows of logits for {} tokens do not fit {} values", logit_rows, count,
                            logits.size()));
  return {};
}

Result<std::unique_ptr<Decoder::Impl>> build(
    const ConfigSource& source, const formats::Gguf* gguf, const formats::Safetensors* safetensors,
    const std::string& name, ThreadPool& pool,
    const std::function<void(std::int64_t, std::int64_t)>& progress) {
  auto m = std::make_unique<Decoder::Impl>();
  WF_TRY(m->config, read_config(source));
  WF_TRY(m->weights, load_weights(m->config, gguf, safetensors, name, pool, progress));
  const DecoderConfig& c = m->config;
  m->frequencies = rope_frequencies(c.rope);
  if (c.window > 0) m->local_frequencies = rope_frequencies(c.local_rope);
  m->info = {c.architecture,
             name,
             c.layers,
             c.d_model,
             c.heads,
             c.kv_heads,
             c.head_dim,
             c.d_ff,
             m->weights.embedding.rows(),
             c.context,
             m->weights.parameters,
             weight_bytes(m->weights)};
  return m;
}

}  // namespace

Decoder::Decoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;
Decoder::~Decoder() = default;

const DecoderInfo& Decoder::info() const { return impl_->info; }

Result<Decoder> Decoder::load(const formats::Gguf& file, ThreadPool& pool,
                              const std::function<void(std::int64_t, std::int64_t)>& progress) {
  WF_TRY(auto impl, build(ConfigSource(file), &file, nullptr, file.name(), pool, progress));
  if (const auto name = file.string("general.name")) impl->info.name = std::string(*name);
  return Decoder(std::move(impl));
}

Result<Decoder> Decoder::load(const std::string& path, ThreadPool& pool,
                              const std::function<void(std::int64_t, std::int64_t)>& progress) {
  std::error_code ec;
  if (!std::filesystem::is_directory(path, ec)) {
    WF_TRY(const formats::Gguf file, formats::Gguf::open(path));
    return load(file, pool, progress);
  }
  WF_TRY(const ModelDirectory directory, ModelDirectory::open(path));
  WF_TRY(auto impl, build(directory.source(), nullptr, &directory.tensors, path, pool, progress));
  return Decoder(std::move(impl));
}

Result<KvCachePtr> Decoder::make_cache(std::int64_t capacity, KvType type) const {
  const DecoderConfig& c = impl_->config;
  if (capacity < 1 || capacity > c.context)
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("a KV cache of {} tokens is impossible: the model takes 1 to {}", capacity, c.context));
  KvCachePtr cache(new KvCache);
  cache->capacity = capacity;
  try {
    for (std::int64_t i = 0; i < c.layers; ++i)
      cache->layers.emplace_back(c.kv_heads, c.head_dim, capacity, type);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("out of memory for a KV cache of {} tokens in {} layers", capacity, c.layers));
  }
  return cache;
}

std::int64_t Decoder::length(const KvCache& cache) { return cache.length; }
std::int64_t Decoder::capacity(const KvCache& cache) { return cache.capacity; }
std::int64_t Decoder::bytes(const KvCache& cache) {
  std::int64_t n = 0;
  for (const auto& layer : cache.layers) n += layer.bytes();
  return n;
}
void Decoder::truncate(KvCache& cache, std::int64_t length) {
  cache.length = std::clamp<std::int64_t>(length, 0, cache.length);
}

Status Decoder::forward(std::span<const std::int32_t> tokens, KvCache& cache, std::span<float> logits,
                        std::int64_t logit_rows, ThreadPool& pool,
                        const std::function<bool(std::int64_t)>& progress) const {
  WF_CHECK(check_input(*impl_, tokens, cache, logits, logit_rows));
  const auto count = static_cast<std::int64_t>(tokens.size());
  const std::int64_t vocab = impl_->info.vocab;
  const std::int64_t chunk = chunk_tokens(impl_->config);
  try {
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t n = std::min(chunk, count - done);
      KvCache* const sequence = &cache;
      Pass pass(*impl_, {&sequence, 1}, n, pool);
      pass.embed(tokens.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(n)));
      for (std::int64_t i = 0; i < impl_->config.layers; ++i) pass.layer(i);
      // Rows of logits that fall into this chunk.
      const std::int64_t first = std::max(count - logit_rows, done);
      if (first < done + n)
        pass.head(done + n - first, logits.data() + (first - (count - logit_rows)) * vocab);
      cache.length += n;
      done += n;
      if (progress && !progress(done) && done < count)
        return fail(ErrorCode::kCancelled, fmt::format("stopped after {} of {} tokens", done, count));
    }
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("out of memory for a pass over {} tokens", std::min(chunk, count)));
  }
  return {};
}

Status Decoder::observe(std::span<const std::int32_t> tokens, KvCache& cache, std::span<float> logits,
                        std::int64_t logit_rows, ThreadPool& pool, const ObserveStates& states,
                        const ObserveAttention& attention) const {
  constexpr std::int64_t kMost = 32;  // one chunk in every model
  WF_CHECK(check_input(*impl_, tokens, cache, logits, logit_rows));
  const auto count = static_cast<std::int64_t>(tokens.size());
  if (count > kMost)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} tokens are too many to be shown; at most {} are", count, kMost));
  if (cache.layers[0].type() == KvType::kInt8)
    return fail(ErrorCode::kInvalidArgument, "the weights of attention over an int8 cache cannot be shown");
  KvCache* const sequence = &cache;
  Pass pass(*impl_, {&sequence, 1}, count, pool);
  pass.observe_attention(attention);
  pass.embed(tokens);
  if (states) states(0, pass.states());
  for (std::int64_t i = 0; i < impl_->config.layers; ++i) {
    pass.layer(i);
    if (states) states(i + 1, pass.states());
  }
  if (logit_rows > 0) pass.head(logit_rows, logits.data());
  cache.length += count;
  return {};
}

Status Decoder::step(std::span<const std::int32_t> tokens, std::span<KvCache* const> caches,
                     std::span<float> logits, ThreadPool& pool) const {
  const std::int64_t vocab = impl_->info.vocab, count = static_cast<std::int64_t>(caches.size());
  if (caches.empty()) return fail(ErrorCode::kInvalidArgument, "there are no sequences to extend");
  if (tokens.size() != caches.size() || static_cast<std::int64_t>(logits.size()) != count * vocab)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} tokens and {} logits for {} sequences and a vocabulary of {}", tokens.size(),
                            logits.size(), count, vocab));
  WF_CHECK(check_ids(tokens, vocab));
  for (std::size_t i = 0; i < caches.size(); ++i) {
    if (caches[i]->length >= caches[i]->capacity)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("sequence {} is full: its cache holds {} tokens", i, caches[i]->capacity));
    if (std::find(caches.begin(), caches.begin() + static_cast<std::ptrdiff_t>(i), caches[i]) !=
        caches.begin() + static_cast<std::ptrdiff_t>(i))
      return fail(ErrorCode::kInvalidArgument, fmt::format("sequence {} is given twice", i));
  }
  try {
    Pass pass(*impl_, caches, 1, pool);
    pass.embed(tokens);
    for (std::int64_t i = 0; i < impl_->config.layers; ++i) pass.layer(i);
    pass.head(count, logits.data());
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("out of memory for a token of {} sequences", count));
  }
  for (KvCache* cache : caches) ++cache->length;
  return {};
}

Status Decoder::copy(const KvCache& from, KvCache& to) {
  if (from.length > to.capacity)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} tokens do not fit a cache of {}", from.length, to.capacity));
  if (from.layers.size() != to.layers.size() || from.layers[0].type() != to.layers[0].type())
    return fail(ErrorCode::kInvalidArgument, "the caches have another number of layers or another type");
  for (std::size_t i = 0; i < from.layers.size(); ++i) to.layers[i].copy(from.layers[i], from.length);
  to.length = from.length;
  return {};
}

}  // namespace warpfold::models
