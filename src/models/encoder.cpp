// Forward pass of encoders; the formulas stand in the public header. Shapes: T tokens of all sequences, d =
// d_model, H heads, D = d / H, F = d_ff.
#include "warpfold/models/encoder.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "models/encoder_model.h"
#include "models/for_tokens.h"
#include "warpfold/core/memory_map.h"
#include "warpfold/ops/attention.h"
#include "warpfold/ops/kv_cache.h"
#include "warpfold/ops/matmul.h"

namespace warpfold::models {

class EncoderWorkspace {
 public:
  ops::Activations x;                // (T, d) the states, input of most linear layers
  ops::Activations inner;            // (T, d) attention's output, then (T, F) the feed-forward's inner layer
  std::vector<float> q, k, v;        // (T, d)
  std::optional<ops::KvLayer> keys;  // of one layer; a sequence begins at a whole panel of keys
  std::int64_t capacity = 0;
  ops::AttentionWorkspace attention;
};

void EncoderWorkspaceDeleter::operator()(EncoderWorkspace* workspace) const { delete workspace; }

namespace {

std::int64_t padded(std::int64_t length) {
  return (length + ops::kKeyPanel - 1) / ops::kKeyPanel * ops::kKeyPanel;
}

class Pass {
 public:
  Pass(const EncoderModel& model, std::span<const std::int64_t> lengths, std::int64_t tokens,
       EncoderWorkspace& workspace, ThreadPool& pool)
      : m_(model), d_(model.info.d_model), lengths_(lengths), tokens_(tokens), s_(workspace), pool_(pool) {
    s_.x.reshape(tokens, d_);
    for (std::vector<float>* v : {&s_.q, &s_.k, &s_.v})
      if (v->size() < static_cast<std::size_t>(tokens * d_)) v->resize(static_cast<std::size_t>(tokens * d_));
    std::int64_t keys = 0;
    for (const std::int64_t length : lengths) keys += padded(length);
    if (keys > s_.capacity) {
      s_.keys.emplace(m_.info.heads, d_ / m_.info.heads, keys, ops::KvType::kF32);
      s_.capacity = keys;
    }
  }

  void embed(std::span<const std::int32_t> ids) {
    std::int64_t first = 0;
    for (const std::int64_t length : lengths_) {
      for_tokens(length, pool_, [&](std::int64_t i) {
        float* x = s_.x.row(first + i);
        float* position = s_.q.data() + (first + i) * d_;
        m_.tokens.unpack_row(ids[static_cast<std::size_t>(first + i)], x);
        m_.positions.unpack_row(i, position);
        ops::add(x, position, d_);
        ops::add(x, m_.type.data(), d_);
        m_.embedding_norm.apply(x, x);
      });
      first += length;
    }
  }

  void layer(const EncoderLayer& w) {
    attention(w.attention);
    feed_forward(w.feed_forward);
  }

 private:
  // x = norm(x + W inner + b)
  void add_and_norm(const Linear& w, const LayerNorm& norm) {
    const ops::MatmulTask task{&w.weight, s_.x.row(0), d_, true};
    ops::Matmul::run({&task, 1}, s_.inner, pool_);
    for_tokens(tokens_, pool_, [&](std::int64_t t) {
      ops::add(s_.x.row(t), w.bias.data(), d_);
      norm.apply(s_.x.row(t), s_.x.row(t));
    });
  }

  void attention(const AttentionWeights& w) {
    const std::array tasks{ops::MatmulTask{&w.q.weight, s_.q.data(), d_},
                           ops::MatmulTask{&w.k.weight, s_.k.data(), d_},
                           ops::MatmulTask{&w.v.weight, s_.v.data(), d_}};
    ops::Matmul::run(tasks, s_.x, pool_);
    s_.inner.reshape(tokens_, d_);
    std::int64_t first = 0, first_key = 0;
    for (const std::int64_t length : lengths_) {
      for_tokens(length, pool_, [&](std::int64_t i) {
        const std::int64_t at = (first + i) * d_;
        ops::add(s_.q.data() + at, w.q.bias.data(), d_);
        ops::add(s_.k.data() + at, w.k.bias.data(), d_);
        ops::add(s_.v.data() + at, w.v.bias.data(), d_);
        s_.keys->append(s_.k.data() + at, s_.v.data() + at, first_key + i);
      });
      ops::attention({.q = s_.q.data() + first * d_,
                      .o = s_.inner.row(first),
                      .tokens = length,
                      .heads = m_.info.heads,
                      .start = 0,
                      .window = 0,
                      .scale = 1 / std::sqrt(static_cast<float>(d_ / m_.info.heads)),
                      .keys_begin = first_key,
                      .keys_end = first_key + length},
                     *s_.keys, s_.attention, pool_);
      first += length;
      first_key += padded(length);
    }
    add_and_norm(w.o, w.norm);
  }

  void feed_forward(const FeedForwardWeights& w) {
    const std::int64_t f = m_.info.d_ff;
    s_.inner.reshape(tokens_, f);
    const ops::MatmulTask task{&w.up.weight, s_.inner.row(0), f};
    ops::Matmul::run({&task, 1}, s_.x, pool_);
    for_tokens(tokens_, pool_,
               [&](std::int64_t t) { ops::activate(m_.activation, w.up.bias.data(), f, s_.inner.row(t)); });
    add_and_norm(w.down, w.norm);
  }

  const EncoderModel& m_;
  const std::int64_t d_;
  const std::span<const std::int64_t> lengths_;
  const std::int64_t tokens_;
  EncoderWorkspace& s_;
  ThreadPool& pool_;
};

Status check_input(const EncoderInfo& info, std::span<const std::int32_t> tokens,
                   std::span<const std::int64_t> lengths, std::size_t hidden) {
  if (lengths.empty()) return fail(ErrorCode::kInvalidArgument, "the batch has no sequences");
  std::int64_t total = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 1 || lengths[i] > info.context)
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("sequence {} has {} tokens; the model takes 1 to {}", i, lengths[i], info.context));
    total += lengths[i];
  }
  if (total != static_cast<std::int64_t>(tokens.size()))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the lengths add up to {}, but there are {} tokens", total, tokens.size()));
  if (static_cast<std::int64_t>(hidden) != total * info.d_model)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the states of {} tokens are {} values, but there is room for {}", total,
                            total * info.d_model, hidden));
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0 || tokens[i] >= info.vocab)
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("token {} at position {} is outside the vocabulary of {}", tokens[i], i, info.vocab));
  return {};
}

}  // namespace

Encoder::Encoder(std::unique_ptr<EncoderModel> model) : model_(std::move(model)) {}
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder& Encoder::operator=(Encoder&&) noexcept = default;
Encoder::~Encoder() = default;

const EncoderInfo& Encoder::info() const { return model_->info; }
EncoderWorkspacePtr Encoder::make_workspace() const { return EncoderWorkspacePtr(new EncoderWorkspace); }

Result<Encoder> Encoder::load(const std::string& path, ThreadPool& pool, const LoadProgress& progress) {
  const std::string config_path = path + "/config.json";
  WF_TRY(const MemoryMap map, MemoryMap::open(config_path));
  const auto* text = reinterpret_cast<const char*>(map.bytes().data());
  const auto json = nlohmann::json::parse(text, text + map.bytes().size(), nullptr, false);
  if (!json.is_object()) return fail(ErrorCode::kBadFile, config_path + ": not a JSON object");
  const ConfigSource source(json, config_path);
  auto model = std::make_unique<EncoderModel>();
  WF_TRY(model->info.architecture, source.architecture());
  if (model->info.architecture != "bert")
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: architecture \"{}\" is not an encoder that is supported; bert is",
                            config_path, model->info.architecture));
  WF_CHECK(read_bert(source, *model));
  WF_TRY(const double epsilon, source.number_or({"", "layer_norm_eps"}, 1e-12));
  WF_TRY(const formats::Safetensors tensors, formats::Safetensors::open(path));
  TensorLoader in(nullptr, &tensors, path, model->arena, pool, progress);
  WF_CHECK(load_bert(in, static_cast<float>(epsilon), *model));
  model->info.name = path;
  model->info.vocab = model->tokens.rows();
  model->info.parameters = in.parameters();
  return Encoder(std::move(model));
}

Status Encoder::forward(std::span<const std::int32_t> tokens, std::span<const std::int64_t> lengths,
                        std::span<float> hidden, EncoderWorkspace& workspace, ThreadPool& pool,
                        const std::function<void(std::int64_t, std::span<const float>)>& observe) const {
  WF_CHECK(check_input(model_->info, tokens, lengths, hidden.size()));
  Pass pass(*model_, lengths, static_cast<std::int64_t>(tokens.size()), workspace, pool);
  const std::span<const float> states(workspace.x.row(0), hidden.size());
  pass.embed(tokens);
  if (observe) observe(0, states);
  std::int64_t done = 0;
  for (const EncoderLayer& w : model_->layers) {
    pass.layer(w);
    if (observe) observe(++done, states);
  }
  std::copy(states.begin(), states.end(), hidden.begin());
  return {};
}

}  // namespace warpfold::models
