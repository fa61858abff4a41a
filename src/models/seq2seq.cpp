// Encoder-decoders as users see them: the table of families, checks, hypotheses and their memory.
#include "warpfold/models/seq2seq.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>

#include "models/batch_checks.h"
#include "models/directory.h"
#include "models/for_tokens.h"
#include "models/seq2seq_model.h"

namespace warpfold::models {

class Seq2SeqBatch {
 public:
  using Hypothesis = std::vector<ops::KvLayer>;  // its own keys and values, a layer each

  StackWorkspace pass;
  std::optional<ops::KvLayer> encoder_keys;  // of one layer
  std::vector<ops::KvLayer> memory;          // of the cross-attention, a layer each
  std::int64_t capacity = 0;                 // keys that both have room for
  ops::Activations states;  // (T, d) what the encoder made; then the rows that the head reads
  std::vector<KeySpan> sources;
  std::vector<std::size_t> source_of;                   // (S)
  std::vector<std::unique_ptr<Hypothesis>> hypotheses;  // (S)
  std::vector<std::unique_ptr<Hypothesis>> unused;
  std::int64_t length = 0;
};

void Seq2SeqBatchDeleter::operator()(Seq2SeqBatch* batch) const { delete batch; }

namespace {

struct Family {
  std::string_view architecture;
  Status (*load)(const ConfigSource&, TensorLoader&, Seq2SeqModel&);
};
constexpr std::array kFamilies{
    Family{"transformer", load_transformer},
    Family{"t5", load_t5},
    Family{"bart", load_bart},
    Family{"marian", load_bart},
    Family{"whisper", load_whisper},
};

std::unique_ptr<Seq2SeqBatch::Hypothesis> take_hypothesis(const Stack& decoder, Seq2SeqBatch& batch) {
  if (!batch.unused.empty()) {
    auto hypothesis = std::move(batch.unused.back());
    batch.unused.pop_back();
    return hypothesis;
  }
  auto hypothesis = std::make_unique<Seq2SeqBatch::Hypothesis>();
  const StackConfig& c = decoder.config;
  for (std::int64_t i = 0; i < c.layers; ++i)
    hypothesis->emplace_back(c.heads, c.head_dim, c.context, ops::KvType::kF32);
  return hypothesis;
}

void set_hypotheses(std::vector<std::unique_ptr<Seq2SeqBatch::Hypothesis>> next, Seq2SeqBatch& batch) {
  for (auto& hypothesis : batch.hypotheses)
    if (hypothesis) batch.unused.push_back(std::move(hypothesis));
  batch.hypotheses = std::move(next);
}

// One empty hypothesis for each source.
void empty_hypotheses(const Stack& decoder, Seq2SeqBatch& batch) {
  std::vector<std::unique_ptr<Seq2SeqBatch::Hypothesis>> empty;
  batch.source_of.clear();
  set_hypotheses({}, batch);
  for (std::size_t i = 0; i < batch.sources.size(); ++i) {
    batch.source_of.push_back(i);
    empty.push_back(take_hypothesis(decoder, batch));
  }
  set_hypotheses(std::move(empty), batch);
  batch.length = 0;
}

// From the encoder's states in `pass`: the keys and values of every layer's cross-attention, and empty
// hypotheses.
void start_decoding(const Seq2SeqModel& m, const StackPass& pass, Seq2SeqBatch& batch, ThreadPool& pool) {
  const std::int64_t tokens = pass.tokens(), d = m.encoder.config.d_model;
  batch.states.reshape(tokens, d);
  for_tokens(tokens, pool, [&](std::int64_t t) {
    std::copy_n(pass.states() + t * d, d, batch.states.row(t));
    if (d % ops::kGroup == 0) batch.states.quantise(t);
  });
  for (std::size_t i = 0; i < m.decoder.layers.size(); ++i)
    append_memory(m.decoder.layers[i].cross, batch.states, batch.sources, batch.memory[i], batch.pass, pool);
  empty_hypotheses(m.decoder, batch);
}

void make_room(const Seq2SeqModel& m, std::span<const std::int64_t> lengths, Seq2SeqBatch& batch) {
  batch.sources = key_spans(lengths);
  const std::int64_t keys = batch.sources.back().end;
  if (keys <= batch.capacity) return;
  const StackConfig &e = m.encoder.config, &d = m.decoder.config;
  batch.encoder_keys.emplace(e.heads, e.head_dim, keys, ops::KvType::kF32);
  batch.memory.clear();
  for (std::int64_t i = 0; i < d.layers; ++i)
    batch.memory.emplace_back(d.heads, d.head_dim, keys, ops::KvType::kF32);
  batch.capacity = keys;
}

void run_encoder(const Seq2SeqModel& m, StackPass& pass, Seq2SeqBatch& batch, const ObserveStates& observe) {
  const std::int64_t layers = m.encoder.config.layers;
  const std::span<const float> states(pass.states(),
                                      static_cast<std::size_t>(pass.tokens() * m.encoder.config.d_model));
  if (observe) observe(0, states);
  for (std::int64_t i = 0; i < layers; ++i) {
    pass.encode_layer(i, *batch.encoder_keys, batch.sources);
    if (i + 1 == layers) pass.finish();
    if (observe) observe(i + 1, states);
  }
}

// y (B * outputs, d) = gelu(conv(x)), x (B * inputs, channels): a product with each place's three neighbours,
// side by side for each channel as the kernel (d, channels, 3) has them. Every `stride`-th place.
void convolve(const Linear& w, const float* x, std::int64_t batch, std::int64_t inputs, std::int64_t channels,
              std::int64_t stride, ops::Activations& patches, float* y, ThreadPool& pool) {
  const std::int64_t outputs = inputs / stride, d = w.weight.rows();
  patches.reshape(batch * outputs, channels * 3);
  for_tokens(batch * outputs, pool, [&](std::int64_t r) {
    float* row = patches.row(r);
    for (std::int64_t tap = 0; tap < 3; ++tap) {
      const std::int64_t place = r % outputs * stride + tap - 1;
      const bool inside = place >= 0 && place < inputs;
      const float* from = x + (r / outputs * inputs + place) * channels;
      for (std::int64_t c = 0; c < channels; ++c) row[c * 3 + tap] = inside ? from[c] : 0.0f;
    }
    if (w.weight.quantised()) patches.quantise(r);
  });
  const ops::MatmulTask task{&w.weight, y, d};
  ops::Matmul::run({&task, 1}, patches, pool);
  for_tokens(batch * outputs, pool,
             [&](std::int64_t r) { ops::activate(ops::Activation::kGelu, w.bias.data(), d, y + r * d); });
}

// logits (S, rows, vocab) of the last `rows` of each hypothesis's n states.
void run_head(const Seq2SeqModel& m, const StackPass& pass, std::int64_t n, std::int64_t rows,
              Seq2SeqBatch& batch, float* logits, ThreadPool& pool) {
  const ops::PackedMatrix& head = m.head.rows() > 0 ? m.head : m.target_embedding();
  const std::int64_t d = m.decoder.config.d_model, vocab = head.rows(), all = pass.tokens() / n * rows;
  batch.states.reshape(all, d);
  for_tokens(all, pool, [&](std::int64_t r) {
    std::copy_n(pass.states() + (r / rows * n + n - rows + r % rows) * d, d, batch.states.row(r));
    if (m.head_scale != 1) ops::scale(batch.states.row(r), m.head_scale, d);
    if (head.quantised()) batch.states.quantise(r);
  });
  const ops::MatmulTask task{&head, logits, vocab};
  ops::Matmul::run({&task, 1}, batch.states, pool);
  if (m.head_bias.empty()) return;
  for_tokens(all, pool, [&](std::int64_t r) { ops::add(logits + r * vocab, m.head_bias.data(), vocab); });
}

}  // namespace

bool is_seq2seq(std::string_view architecture) {
  return std::any_of(kFamilies.begin(), kFamilies.end(),
                     [&](const Family& f) { return f.architecture == architecture; });
}

Seq2Seq::Seq2Seq(std::unique_ptr<Seq2SeqModel> model) : model_(std::move(model)) {}
Seq2Seq::Seq2Seq(Seq2Seq&&) noexcept = default;
Seq2Seq& Seq2Seq::operator=(Seq2Seq&&) noexcept = default;
Seq2Seq::~Seq2Seq() = default;

const Seq2SeqInfo& Seq2Seq::info() const { return model_->info; }
Seq2SeqBatchPtr Seq2Seq::make_batch() const { return Seq2SeqBatchPtr(new Seq2SeqBatch); }
std::int64_t Seq2Seq::hypotheses(const Seq2SeqBatch& batch) {
  return static_cast<std::int64_t>(batch.hypotheses.size());
}
std::int64_t Seq2Seq::length(const Seq2SeqBatch& batch) { return batch.length; }

Result<Seq2Seq> Seq2Seq::load(const std::string& path, ThreadPool& pool, const LoadProgress& progress) {
  WF_TRY(const ModelDirectory directory, ModelDirectory::open(path));
  const ConfigSource source = directory.source();
  WF_TRY(const std::string architecture, source.architecture());
  const auto family = std::find_if(kFamilies.begin(), kFamilies.end(),
                                   [&](const Family& f) { return f.architecture == architecture; });
  if (family == kFamilies.end()) {
    std::vector<std::string_view> names;
    for (const Family& f : kFamilies) names.push_back(f.architecture);
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: architecture \"{}\" is not an encoder-decoder that is supported; {} are",
                            source.name(), architecture, fmt::join(names, ", ")));
  }
  auto model = std::make_unique<Seq2SeqModel>();
  Seq2SeqModel& m = *model;
  TensorLoader in(nullptr, &directory.tensors, path, m.arena, pool, progress);
  WF_CHECK(family->load(source, in, m));
  m.encoder.tokens = &m.source_tokens;
  m.decoder.tokens = &m.target_embedding();
  const StackConfig &e = m.encoder.config, &d = m.decoder.config;
  m.info = {.architecture = architecture,
            .name = path,
            .encoder_layers = e.layers,
            .decoder_layers = d.layers,
            .d_model = d.d_model,
            .heads = d.heads,
            .d_ff = d.d_ff,
            .source_vocab = m.source_tokens.rows(),
            .vocab = m.target_embedding().rows(),
            .source_context = e.context,
            .context = d.context,
            .parameters = in.parameters(),
            .mels = m.audio.mels,
            .start = 0,
            .end = 0};
  const auto token = [&](const char* key, std::int32_t& id) -> Status {
    WF_TRY(const std::int64_t value, source.integer({"", key}));
    if (value < 0 || value >= m.info.vocab)
      return fail(ErrorCode::kBadFile, fmt::format("{}: {} is {}, but the vocabulary has {} tokens",
                                                   source.name(), key, value, m.info.vocab));
    id = static_cast<std::int32_t>(value);
    return {};
  };
  WF_CHECK(token("decoder_start_token_id", m.info.start));
  WF_CHECK(token("eos_token_id", m.info.end));
  return Seq2Seq(std::move(model));
}

Status Seq2Seq::encode(std::span<const std::int32_t> tokens, std::span<const std::int64_t> lengths,
                       Seq2SeqBatch& batch, ThreadPool& pool, const ObserveStates& observe,
                       const ObserveAttention& attention) const {
  const Seq2SeqModel& m = *model_;
  if (m.info.mels > 0)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} models hear spectrograms; they read no tokens", m.info.architecture));
  WF_CHECK(check_lengths(lengths, static_cast<std::int64_t>(tokens.size()), m.info.source_context));
  WF_CHECK(check_ids(tokens, m.info.source_vocab));
  try {
    make_room(m, lengths, batch);
    StackPass pass(m.encoder, lengths, 0, batch.pass, pool);
    pass.observe_attention(attention);
    pass.embed(tokens);
    run_encoder(m, pass, batch, observe);
    start_decoding(m, pass, batch, pool);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("out of memory for {} sources of {} tokens", lengths.size(), tokens.size()));
  }
  return {};
}

Status Seq2Seq::encode_features(std::span<const float> features, Seq2SeqBatch& batch, ThreadPool& pool,
                                const ObserveStates& observe, const ObserveAttention& attention) const {
  const Seq2SeqModel& m = *model_;
  const std::int64_t context = m.info.source_context, frames = 2 * context, size = frames * m.info.mels,
                     d = m.info.d_model;
  const auto count = static_cast<std::int64_t>(features.size());
  if (size == 0)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} models read tokens, not spectrograms", m.info.architecture));
  if (count == 0 || count % size != 0)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} values are no spectrograms of {} frames of {} frequencies", count, frames,
                            m.info.mels));
  const std::int64_t sources = count / size;
  const std::vector<std::int64_t> lengths(static_cast<std::size_t>(sources), context);
  try {
    make_room(m, lengths, batch);
    std::vector<float> heard(static_cast<std::size_t>(sources * frames * d)),
        states(static_cast<std::size_t>(sources * context * d));
    convolve(m.audio.conv1, features.data(), sources, frames, m.info.mels, 1, batch.states, heard.data(),
             pool);
    convolve(m.audio.conv2, heard.data(), sources, frames, d, 2, batch.states, states.data(), pool);
    StackPass pass(m.encoder, lengths, 0, batch.pass, pool);
    pass.observe_attention(attention);
    pass.start(states.data());
    run_encoder(m, pass, batch, observe);
    start_decoding(m, pass, batch, pool);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("out of memory for {} spectrograms", sources));
  }
  return {};
}

Status Seq2Seq::decode(std::span<const std::int32_t> tokens, Seq2SeqBatch& batch, std::span<float> logits,
                       std::int64_t logit_rows, ThreadPool& pool, const ObserveStates& observe,
                       const ObserveAttention& attention) const {
  const Seq2SeqModel& m = *model_;
  const std::int64_t s = hypotheses(batch), count = static_cast<std::int64_t>(tokens.size());
  if (s == 0) return fail(ErrorCode::kInvalidArgument, "there are no hypotheses; encode sources first");
  if (count == 0 || count % s != 0)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} tokens cannot be shared by {} hypotheses", count, s));
  const std::int64_t n = count / s;
  if (n > m.info.context - batch.length)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} tokens do not fit: the context holds {} and {} are used", n, m.info.context,
                            batch.length));
  WF_CHECK(check_ids(tokens, m.info.vocab));
  if (logit_rows < 0 || logit_rows > n ||
      static_cast<std::int64_t>(logits.size()) != s * logit_rows * m.info.vocab)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} rows of logits for {} hypotheses of {} tokens do not fit {} values",
                            logit_rows, s, n, logits.size()));
  const std::vector<std::int64_t> lengths(static_cast<std::size_t>(s), n);
  std::vector<KeySpan> memory_spans;
  for (const std::size_t source : batch.source_of) memory_spans.push_back(batch.sources[source]);
  std::vector<ops::KvLayer*> own(static_cast<std::size_t>(s));
  StackPass pass(m.decoder, lengths, batch.length, batch.pass, pool);
  pass.observe_attention(attention);
  pass.embed(tokens);
  const std::span<const float> states(pass.states(), static_cast<std::size_t>(count * m.info.d_model));
  if (observe) observe(0, states);
  for (std::int64_t i = 0; i < m.info.decoder_layers; ++i) {
    const auto layer = static_cast<std::size_t>(i);
    for (std::size_t h = 0; h < own.size(); ++h) own[h] = &(*batch.hypotheses[h])[layer];
    pass.decode_layer(i, own, batch.memory[layer], memory_spans);
    if (i + 1 == m.info.decoder_layers) pass.finish();
    if (observe) observe(i + 1, states);
  }
  if (logit_rows > 0) run_head(m, pass, n, logit_rows, batch, logits.data(), pool);
  batch.length += n;
  return {};
}

Status Seq2Seq::restart(Seq2SeqBatch& batch) const {
  if (batch.sources.empty()) return fail(ErrorCode::kInvalidArgument, "nothing has been encoded");
  empty_hypotheses(model_->decoder, batch);
  return {};
}

Status Seq2Seq::select(std::span<const std::int64_t> parents, Seq2SeqBatch& batch) const {
  for (std::size_t i = 0; i < parents.size(); ++i)
    if (parents[i] < 0 || parents[i] >= hypotheses(batch))
      return fail(ErrorCode::kInvalidArgument, fmt::format("hypothesis {} cannot follow {}: there are {}", i,
                                                           parents[i], hypotheses(batch)));
  // The first child of a parent takes over its keys, the others get copies, made before anything moves.
  std::vector<std::unique_ptr<Seq2SeqBatch::Hypothesis>> next(parents.size());
  std::vector<std::size_t> source_of;
  std::vector<bool> taken(batch.hypotheses.size());
  std::vector<std::size_t> first_children;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const auto parent = static_cast<std::size_t>(parents[i]);
    source_of.push_back(batch.source_of[parent]);
    if (!taken[parent]) {
      taken[parent] = true;
      first_children.push_back(i);
      continue;
    }
    next[i] = take_hypothesis(model_->decoder, batch);
    for (std::size_t layer = 0; layer < next[i]->size(); ++layer)
      (*next[i])[layer].copy((*batch.hypotheses[parent])[layer], batch.length);
  }
  for (const std::size_t i : first_children)
    next[i] = std::move(batch.hypotheses[static_cast<std::size_t>(parents[i])]);
  set_hypotheses(std::move(next), batch);
  batch.source_of = std::move(source_of);
  return {};
}

}  // namespace warpfold::models
