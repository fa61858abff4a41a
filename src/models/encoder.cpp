// Encoders as users see them: a family's stack, checks, memory.
#include "warpfold/models/encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "models/batch_checks.h"
#include "models/directory.h"
#include "models/encoder_model.h"

namespace warpfold::models {

class EncoderWorkspace {
 public:
  StackWorkspace pass;
  std::optional<ops::KvLayer> keys;  // of one layer
  std::int64_t capacity = 0;
};

void EncoderWorkspaceDeleter::operator()(EncoderWorkspace* workspace) const { delete workspace; }

bool is_encoder(std::string_view architecture) { return architecture == "bert"; }

Encoder::Encoder(std::unique_ptr<EncoderModel> model) : model_(std::move(model)) {}
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder& Encoder::operator=(Encoder&&) noexcept = default;
Encoder::~Encoder() = default;

const EncoderInfo& Encoder::info() const { return model_->info; }
EncoderWorkspacePtr Encoder::make_workspace() const { return EncoderWorkspacePtr(new EncoderWorkspace); }

Result<Encoder> Encoder::load(const std::string& path, ThreadPool& pool, const LoadProgress& progress) {
  WF_TRY(const ModelDirectory directory, ModelDirectory::open(path));
  const ConfigSource source = directory.source();
  WF_TRY(const std::string architecture, source.architecture());
  if (!is_encoder(architecture))
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: architecture \"{}\" is not an encoder that is supported; bert is",
                            source.name(), architecture));
  auto model = std::make_unique<EncoderModel>();
  TensorLoader in(nullptr, &directory.tensors, path, model->arena, pool, progress);
  WF_CHECK(load_bert(source, in, *model));
  model->stack.tokens = &model->tokens;
  const StackConfig& c = model->stack.config;
  model->info = {architecture,         path,      c.layers,       c.d_model, c.heads, c.d_ff,
                 model->tokens.rows(), c.context, in.parameters()};
  return Encoder(std::move(model));
}

Status Encoder::forward(std::span<const std::int32_t> tokens, std::span<const std::int64_t> lengths,
                        std::span<float> hidden, EncoderWorkspace& workspace, ThreadPool& pool,
                        const ObserveStates& observe, const ObserveAttention& attention) const {
  const EncoderInfo& info = model_->info;
  const auto count = static_cast<std::int64_t>(tokens.size());
  WF_CHECK(check_lengths(lengths, count, info.context));
  WF_CHECK(check_ids(tokens, info.vocab));
  if (static_cast<std::int64_t>(hidden.size()) != count * info.d_model)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the states of {} tokens are {} values, but there is room for {}", count,
                            count * info.d_model, hidden.size()));
  const std::vector<KeySpan> spans = key_spans(lengths);
  const StackConfig& c = model_->stack.config;
  if (spans.back().end > workspace.capacity) {
    workspace.keys.emplace(c.heads, c.head_dim, spans.back().end, ops::KvType::kF32);
    workspace.capacity = spans.back().end;
  }
  StackPass pass(model_->stack, lengths, 0, workspace.pass, pool);
  pass.observe_attention(attention);
  pass.embed(tokens);
  const std::span<const float> states(pass.states(), hidden.size());
  if (observe) observe(0, states);
  for (std::int64_t i = 0; i < c.layers; ++i) {
    pass.encode_layer(i, *workspace.keys, spans);
    if (i + 1 == c.layers) pass.finish();
    if (observe) observe(i + 1, states);
  }
  std::copy(states.begin(), states.end(), hidden.begin());
  return {};
}

}  // namespace warpfold::models
