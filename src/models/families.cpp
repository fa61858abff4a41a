// The table of decoder-only families, and what they share. To add a family: a file with its read function, a line
// in the table; new behaviour becomes a field of DecoderConfig.
#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/config.h"

namespace warpfold::models {
namespace {

struct Family {
  std::string_view architecture;
  Result<DecoderConfig> (*read)(const ConfigSource&);
};
constexpr std::array kFamilies = {
    Family{"llama", read_llama},
    Family{"qwen2", read_qwen2},
    Family{"gemma3", read_gemma3},
};

// Llama 3's rescaling of long wavelengths (Hugging Face's rope_type "llama3"): wavelengths beyond
// original / low are stretched by `factor`, those below original / high kept, those between interpolated.
std::vector<double> llama3_factors(const Rope& rope, double factor, double low, double high, double original) {
  std::vector<double> factors;
  for (std::int64_t i = 0; i < rope.dims / 2; ++i) {
    const double frequency = std::pow(rope.base, -2.0 * static_cast<double>(i) / static_cast<double>(rope.dims));
    const double wavelength = 2 * std::numbers::pi / frequency;
    if (wavelength < original / high) factors.push_back(1);
    else if (wavelength > original / low) factors.push_back(factor);
    else {
      const double smooth = (original / wavelength - low) / (high - low);
      factors.push_back(1 / ((1 - smooth) / factor + smooth));
    }
  }
  return factors;
}

Status read_hf_rope_scaling(const ConfigSource& source, Rope& rope) {
  if (!source.has({"", "rope_scaling"})) return {};
  const nlohmann::json& scaling = *source.json()->find("rope_scaling");
  if (!scaling.is_object()) return fail(ErrorCode::kBadFile, source.name() + ": rope_scaling is not an object");
  const ConfigSource s(scaling, source.name() + ": rope_scaling");
  const Key type_key{"", s.has({"", "rope_type"}) ? "rope_type" : "type"};
  WF_TRY(const std::string type, s.string(type_key));
  if (type == "default") return {};
  WF_TRY(const double factor, s.number({"", "factor"}));
  if (!(factor > 0)) return fail(ErrorCode::kBadFile, fmt::format("{}: factor is {}", s.name(), factor));
  if (type == "linear") {
    rope.linear = factor;
    return {};
  }
  if (type == "llama3") {
    WF_TRY(const double low, s.number({"", "low_freq_factor"}));
    WF_TRY(const double high, s.number({"", "high_freq_factor"}));
    WF_TRY(const double original, s.number({"", "original_max_position_embeddings"}));
    if (!(low > 0 && high > low && original > 0))
      return fail(ErrorCode::kBadFile, fmt::format("{}: low_freq_factor {}, high_freq_factor {}", s.name(), low, high));
    rope.factors = llama3_factors(rope, factor, low, high, original);
    return {};
  }
  return fail(ErrorCode::kUnsupported, fmt::format("{}: rotary scaling \"{}\" is not supported", source.name(), type));
}

Status read_gguf_rope_scaling(const ConfigSource& source, Rope& rope) {
  if (source.has({"rope.scaling.type", ""})) {
    WF_TRY(const std::string type, source.string({"rope.scaling.type", ""}));
    if (type == "linear") {
      WF_TRY(rope.linear, source.number({"rope.scaling.factor", ""}));
      if (!(rope.linear > 0)) return fail(ErrorCode::kBadFile, fmt::format("{}: rope.scaling.factor is {}", source.name(), rope.linear));
    } else if (type != "none") {
      return fail(ErrorCode::kUnsupported, fmt::format("{}: rotary scaling \"{}\" is not supported", source.name(), type));
    }
  }
  // Llama 3 files carry the divisor of each frequency as a tensor.
  if (const TensorView* t = source.gguf()->find("rope_freqs.weight")) {
    if (t->dtype != DType::kF32 || t->size() != rope.dims / 2)
      return fail(ErrorCode::kBadFile, fmt::format("{}: rope_freqs.weight has {} values of type {}, expected {} of F32",
                                                   source.name(), t->size(), info(t->dtype).name, rope.dims / 2));
    const auto* f = reinterpret_cast<const float*>(t->data);
    rope.factors.assign(f, f + t->size());
  }
  return {};
}

Status positive(const ConfigSource& source, const char* what, std::int64_t value, std::int64_t limit) {
  if (value >= 1 && value <= limit) return {};
  return fail(ErrorCode::kBadFile, fmt::format("{}: {} is {}, expected 1 to {}", source.name(), what, value, limit));
}

}  // namespace

Result<DecoderConfig> read_config(const ConfigSource& source) {
  WF_TRY(const std::string architecture, source.architecture());
  std::string known;
  for (const Family& f : kFamilies) {
    if (f.architecture == architecture) {
      WF_TRY(DecoderConfig config, f.read(source));
      config.architecture = architecture;
      return config;
    }
    known += (known.empty() ? "" : ", ") + std::string(f.architecture);
  }
  return fail(ErrorCode::kUnsupported, fmt::format("{}: architecture \"{}\" is not supported; supported are {}",
                                                   source.name(), architecture, known));
}

Result<DecoderConfig> read_common(const ConfigSource& source) {
  // Far beyond any model, far below overflow of their products.
  constexpr std::int64_t kMaxSize = 1 << 20;
  DecoderConfig c;
  WF_TRY(c.layers, source.integer({"block_count", "num_hidden_layers"}));
  WF_TRY(c.d_model, source.integer({"embedding_length", "hidden_size"}));
  WF_TRY(c.heads, source.integer({"attention.head_count", "num_attention_heads"}));
  WF_TRY(c.kv_heads, source.integer_or({"attention.head_count_kv", "num_key_value_heads"}, c.heads));
  WF_TRY(c.d_ff, source.integer({"feed_forward_length", "intermediate_size"}));
  WF_TRY(c.context, source.integer({"context_length", "max_position_embeddings"}));
  WF_CHECK(positive(source, "the number of layers", c.layers, 4096));
  WF_CHECK(positive(source, "the model width", c.d_model, kMaxSize));
  WF_CHECK(positive(source, "the number of heads", c.heads, 4096));
  WF_CHECK(positive(source, "the number of KV heads", c.kv_heads, c.heads));
  WF_CHECK(positive(source, "the feed-forward width", c.d_ff, kMaxSize));
  WF_CHECK(positive(source, "the context length", c.context, std::int64_t{1} << 31));
  if (c.heads % c.kv_heads != 0)
    return fail(ErrorCode::kBadFile, fmt::format("{}: {} heads cannot share {} KV heads evenly", source.name(), c.heads, c.kv_heads));
  WF_TRY(c.head_dim, source.integer_or({"attention.key_length", "head_dim"}, c.d_model / c.heads));
  WF_TRY(const std::int64_t value_dim, source.integer_or({"attention.value_length", ""}, c.head_dim));
  WF_CHECK(positive(source, "the head dimension", c.head_dim, 4096));
  if (value_dim != c.head_dim)
    return fail(ErrorCode::kUnsupported, fmt::format("{}: key and value heads of different size ({} and {}) are not supported",
                                                     source.name(), c.head_dim, value_dim));
  WF_TRY(c.may_tie_head, source.boolean_or({"", "tie_word_embeddings"}, true));
  WF_TRY(const double epsilon, source.number({"attention.layer_norm_rms_epsilon", "rms_norm_eps"}));
  c.norm_epsilon = static_cast<float>(epsilon);
  c.attention_scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
  WF_TRY(c.rope.base, source.number_or({"rope.freq_base", "rope_theta"}, 10000));
  WF_TRY(c.rope.dims, source.integer_or({"rope.dimension_count", ""}, c.head_dim));
  if (!(c.rope.base > 0) || c.rope.dims < 2 || c.rope.dims > c.head_dim || c.rope.dims % 2 != 0)
    return fail(ErrorCode::kBadFile, fmt::format("{}: rotary base {} over {} of {} head dimensions is impossible",
                                                 source.name(), c.rope.base, c.rope.dims, c.head_dim));
  WF_CHECK(source.is_gguf() ? read_gguf_rope_scaling(source, c.rope) : read_hf_rope_scaling(source, c.rope));
  return c;
}

}  // namespace warpfold::models
