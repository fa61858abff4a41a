#include "models/stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/for_tokens.h"

namespace warpfold::models {
namespace {

void grow(std::vector<float>& v, std::int64_t n) {
  if (v.size() < static_cast<std::size_t>(n)) v.resize(static_cast<std::size_t>(n));
}

void add_bias(float* y, const Linear& w) {
  if (!w.bias.empty()) ops::add(y, w.bias.data(), static_cast<std::int64_t>(w.bias.size()));
}

void quantise(ops::Activations& x, bool wanted, ThreadPool& pool) {
  if (wanted) for_tokens(x.tokens(), pool, [&](std::int64_t t) { x.quantise(t); });
}

}  // namespace

StackPass::StackPass(const Stack& stack, std::span<const std::int64_t> lengths, std::int64_t first_position,
                     StackWorkspace& workspace, ThreadPool& pool)
    : m_(stack),
      c_(stack.config),
      lengths_(lengths),
      first_position_(first_position),
      s_(workspace),
      pool_(pool) {
  for (const std::int64_t length : lengths) tokens_ += length;
  s_.input.reshape(tokens_, c_.d_model);
  if (c_.pre_norm) grow(s_.residual, tokens_ * c_.d_model);
  for (std::vector<float>* v : {&s_.q, &s_.k, &s_.v}) grow(*v, tokens_ * c_.heads * c_.head_dim);
}

float* StackPass::state(std::int64_t t) const {
  return c_.pre_norm ? s_.residual.data() + t * c_.d_model : s_.input.row(t);
}

void StackPass::embed(std::span<const std::int32_t> ids) {
  std::int64_t first = 0;
  for (const std::int64_t length : lengths_) {
    for_tokens(length, pool_, [&](std::int64_t i) {
      float* x = state(first + i);
      m_.tokens->unpack_row(ids[static_cast<std::size_t>(first + i)], x);
      if (c_.embedding_scale != 1) ops::scale(x, c_.embedding_scale, c_.d_model);
      if (!m_.positions.empty())
        ops::add(x, m_.positions.data() + (first_position_ + i) * c_.d_model, c_.d_model);
      if (!m_.embedding_norm.weight.empty()) m_.embedding_norm.apply(x, x);
    });
    first += length;
  }
}

void StackPass::start(const float* states) {
  std::int64_t first = 0;
  for (const std::int64_t length : lengths_) {
    for_tokens(length, pool_, [&](std::int64_t i) {
      std::copy_n(states + (first + i) * c_.d_model, c_.d_model, state(first + i));
      if (!m_.positions.empty())
        ops::add(state(first + i), m_.positions.data() + (first_position_ + i) * c_.d_model, c_.d_model);
    });
    first += length;
  }
}

// input = n(x) with pre-norm; with post-norm it is x already.
void StackPass::begin_block(const Norm& norm, bool quantised) {
  if (!c_.pre_norm && !quantised) return;
  for_tokens(tokens_, pool_, [&](std::int64_t t) {
    if (c_.pre_norm) norm.apply(state(t), s_.input.row(t));
    if (quantised) s_.input.quantise(t);
  });
}

// x += W inner + b, and x = n(x) with post-norm.
void StackPass::end_block(const Linear& w, const Norm& norm) {
  quantise(s_.inner, w.weight.quantised(), pool_);
  const ops::MatmulTask task{&w.weight, state(0), c_.d_model, true};
  ops::Matmul::run({&task, 1}, s_.inner, pool_);
  if (w.bias.empty() && c_.pre_norm) return;
  for_tokens(tokens_, pool_, [&](std::int64_t t) {
    add_bias(state(t), w);
    if (!c_.pre_norm) norm.apply(state(t), state(t));
  });
}

// Queries, keys and values of all tokens; append(t, k, v) puts a token's keys and values (H D each) into its
// cache.
template <class Append>
void StackPass::queries_keys_values(const AttentionWeights& w, Append append) {
  const std::int64_t width = c_.heads * c_.head_dim;
  begin_block(w.norm, w.q.weight.quantised() || w.k.weight.quantised() || w.v.weight.quantised());
  const std::array tasks{ops::MatmulTask{&w.q.weight, s_.q.data(), width},
                         ops::MatmulTask{&w.k.weight, s_.k.data(), width},
                         ops::MatmulTask{&w.v.weight, s_.v.data(), width}};
  ops::Matmul::run(tasks, s_.input, pool_);
  for_tokens(tokens_, pool_, [&](std::int64_t t) {
    float *k = s_.k.data() + t * width, *v = s_.v.data() + t * width;
    add_bias(s_.q.data() + t * width, w.q);
    add_bias(k, w.k);
    add_bias(v, w.v);
    append(t, k, v);
  });
  s_.inner.reshape(tokens_, width);
}

void StackPass::attend(const ops::AttentionProblem& problem, const ops::KvLayer& keys, std::int64_t layer,
                       bool cross) {
  ops::attention(problem, keys, s_.attention, pool_);
  if (!observe_ || !*observe_) return;
  std::vector<float> weights;
  ops::attention_weights(problem, keys, weights);
  (*observe_)({layer, cross, problem.tokens, problem.heads,
               static_cast<std::int64_t>(weights.size()) / (problem.tokens * problem.heads), weights});
}

void StackPass::encode_layer(std::int64_t layer, ops::KvLayer& keys, std::span<const KeySpan> spans) {
  const Layer& w = m_.layers[static_cast<std::size_t>(layer)];
  const std::int64_t width = c_.heads * c_.head_dim;
  std::vector<std::int64_t>& place = s_.place;
  place.clear();
  for (const KeySpan& span : spans)
    for (std::int64_t i = span.begin; i < span.end; ++i) place.push_back(i);
  queries_keys_values(w.self, [&](std::int64_t t, float* k, float* v) {
    keys.append(k, v, place[static_cast<std::size_t>(t)]);
  });
  std::int64_t first = 0;
  for (const KeySpan& span : spans) {
    attend({.q = s_.q.data() + first * width,
            .o = s_.inner.row(first),
            .tokens = span.end - span.begin,
            .heads = c_.heads,
            .start = 0,
            .window = 0,
            .scale = c_.attention_scale,
            .keys_begin = span.begin,
            .keys_end = span.end,
            .bias = m_.relative ? &*m_.relative : nullptr},
           keys, layer, false);
    first += span.end - span.begin;
  }
  end_block(w.self.o, w.self.norm);
  feed_forward(w.feed_forward);
}

void StackPass::decode_layer(std::int64_t layer, std::span<ops::KvLayer* const> own,
                             const ops::KvLayer& memory, std::span<const KeySpan> memory_spans) {
  const Layer& w = m_.layers[static_cast<std::size_t>(layer)];
  const std::int64_t width = c_.heads * c_.head_dim, each = lengths_[0];
  queries_keys_values(w.self, [&](std::int64_t t, float* k, float* v) {
    own[static_cast<std::size_t>(t / each)]->append(k, v, first_position_ + t % each);
  });
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::int64_t first = static_cast<std::int64_t>(i) * each;
    attend({.q = s_.q.data() + first * width,
            .o = s_.inner.row(first),
            .tokens = each,
            .heads = c_.heads,
            .start = first_position_,
            .window = 0,
            .scale = c_.attention_scale,
            .bias = m_.relative ? &*m_.relative : nullptr},
           *own[i], layer, false);
  }
  end_block(w.self.o, w.self.norm);

  begin_block(w.cross.norm, w.cross.q.weight.quantised());
  const ops::MatmulTask queries{&w.cross.q.weight, s_.q.data(), width};
  ops::Matmul::run({&queries, 1}, s_.input, pool_);
  for_tokens(tokens_, pool_, [&](std::int64_t t) { add_bias(s_.q.data() + t * width, w.cross.q); });
  s_.inner.reshape(tokens_, width);
  // Neighbours with the same source, such as the hypotheses of a beam, read its keys together.
  for (std::size_t i = 0; i < memory_spans.size();) {
    std::size_t end = i + 1;
    while (end < memory_spans.size() && memory_spans[end].begin == memory_spans[i].begin) ++end;
    const std::int64_t first = static_cast<std::int64_t>(i) * each;
    attend({.q = s_.q.data() + first * width,
            .o = s_.inner.row(first),
            .tokens = static_cast<std::int64_t>(end - i) * each,
            .heads = c_.heads,
            .start = 0,
            .window = 0,
            .scale = c_.attention_scale,
            .keys_begin = memory_spans[i].begin,
            .keys_end = memory_spans[i].end},
           memory, layer, true);
    i = end;
  }
  end_block(w.cross.o, w.cross.norm);
  feed_forward(w.feed_forward);
}

void StackPass::feed_forward(const FeedForwardWeights& w) {
  const bool gated = w.gate.weight.rows() > 0;
  begin_block(w.norm, w.up.weight.quantised() || w.gate.weight.quantised());
  s_.inner.reshape(tokens_, c_.d_ff);
  if (gated) grow(s_.gate, tokens_ * c_.d_ff);
  const std::array tasks{ops::MatmulTask{&w.up.weight, s_.inner.row(0), c_.d_ff},
                         ops::MatmulTask{&w.gate.weight, s_.gate.data(), c_.d_ff}};
  ops::Matmul::run(std::span(tasks).first(gated ? 2 : 1), s_.input, pool_);
  for_tokens(tokens_, pool_, [&](std::int64_t t) {
    float* up = s_.inner.row(t);
    if (gated) {
      float* gate = s_.gate.data() + t * c_.d_ff;
      add_bias(up, w.up);
      add_bias(gate, w.gate);
      ops::gated(c_.activation, gate, up, c_.d_ff, up);
    } else {
      ops::activate(c_.activation, w.up.bias.empty() ? nullptr : w.up.bias.data(), c_.d_ff, up);
    }
  });
  end_block(w.down, w.norm);
}

void StackPass::finish() {
  if (m_.final_norm.weight.empty()) return;
  for_tokens(tokens_, pool_, [&](std::int64_t t) { m_.final_norm.apply(state(t), state(t)); });
}

void append_memory(const AttentionWeights& w, const ops::Activations& states, std::span<const KeySpan> spans,
                   ops::KvLayer& memory, StackWorkspace& s, ThreadPool& pool) {
  const std::int64_t width = w.k.weight.rows();
  grow(s.k, states.tokens() * width);
  grow(s.v, states.tokens() * width);
  const std::array tasks{ops::MatmulTask{&w.k.weight, s.k.data(), width},
                         ops::MatmulTask{&w.v.weight, s.v.data(), width}};
  ops::Matmul::run(tasks, states, pool);
  std::int64_t first = 0;
  for (const KeySpan& span : spans) {
    for_tokens(span.end - span.begin, pool, [&](std::int64_t i) {
      float *k = s.k.data() + (first + i) * width, *v = s.v.data() + (first + i) * width;
      add_bias(k, w.k);
      add_bias(v, w.v);
      memory.append(k, v, span.begin + i);
    });
    first += span.end - span.begin;
  }
}

std::vector<KeySpan> key_spans(std::span<const std::int64_t> lengths) {
  std::vector<KeySpan> spans;
  std::int64_t begin = 0;
  for (const std::int64_t length : lengths) {
    spans.push_back({begin, begin + length});
    begin += (length + ops::kKeyPanel - 1) / ops::kKeyPanel * ops::kKeyPanel;
  }
  return spans;
}

std::vector<float> sinusoidal_positions(std::int64_t context, std::int64_t d, Sinusoids order) {
  std::vector<float> table(static_cast<std::size_t>(context * d));
  const std::int64_t sines = (d + 1) / 2;
  for (std::int64_t p = 0; p < context; ++p)
    for (std::int64_t c = 0; c < d; ++c) {
      const std::int64_t i = order == Sinusoids::kInterleaved ? c / 2 : c < sines ? c : c - sines;
      const bool sine = order == Sinusoids::kInterleaved ? c % 2 == 0 : c < sines;
      const double angle =
          static_cast<double>(p) / std::pow(10000.0, 2.0 * static_cast<double>(i) / static_cast<double>(d));
      table[static_cast<std::size_t>(p * d + c)] =
          static_cast<float>(sine ? std::sin(angle) : std::cos(angle));
    }
  return table;
}

Result<ops::Activation> read_activation(const ConfigSource& source, Key key) {
  using enum ops::Activation;
  struct Name {
    std::string_view name;
    ops::Activation activation;
  };
  constexpr std::array kNames{
      Name{"gelu", kGelu}, Name{"gelu_new", kGeluTanh}, Name{"gelu_pytorch_tanh", kGeluTanh},
      Name{"relu", kRelu}, Name{"silu", kSilu},         Name{"swish", kSilu}};
  WF_TRY(const std::string wanted, source.string(key));
  for (const Name& n : kNames)
    if (n.name == wanted) return n.activation;
  return fail(ErrorCode::kUnsupported,
              fmt::format("{}: {} \"{}\" is not supported", source.name(), key.hf, wanted));
}

Result<StackConfig> read_stack(const ConfigSource& source, const StackKeys& keys) {
  StackConfig c;
  WF_TRY(c.layers, source.size({"", keys.layers}));
  WF_TRY(c.d_model, source.size({"", keys.d_model}));
  WF_TRY(c.heads, source.size({"", keys.heads}));
  WF_TRY(c.d_ff, source.size({"", keys.d_ff}));
  WF_TRY(c.context, source.size({"", keys.context}));
  if (source.has({"", keys.head_dim})) {
    WF_TRY(c.head_dim, source.size({"", keys.head_dim}));
  } else if (c.d_model % c.heads != 0) {
    return fail(ErrorCode::kBadFile, fmt::format("{}: a width of {} is no multiple of {} heads",
                                                 source.name(), c.d_model, c.heads));
  } else {
    c.head_dim = c.d_model / c.heads;
  }
  c.attention_scale = 1 / std::sqrt(static_cast<float>(c.head_dim));
  return c;
}

}  // namespace warpfold::models
