// The table of decoder-only families, and what they share. To add a family: a file with its read function, a line
// in the table; new behaviour becomes a field of DecoderConfig.
#include <algorithm>
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
    Family{"mistral", read_mistral},
    Family{"qwen2", read_qwen2},
    Family{"qwen3", read_qwen3},
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

// YaRN (Peng et al. 2023): pairs that turn less than `slow` times over the original context are stretched by
// `factor`, those that turn more than `fast` times kept, those between interpolated over their number; and the
// scores' temperature is lowered through the size of queries and keys.
Status set_yarn(const ConfigSource& source, double factor, double original, double fast, double slow, Rope& rope) {
  if (!(factor >= 1 && original > 0 && fast > slow && slow > 0))
    return fail(ErrorCode::kBadFile,
                fmt::format("{}: YaRN with factor {}, original context {}, beta_fast {}, beta_slow {} is impossible",
                            source.name(), factor, original, fast, slow));
  const double dims = static_cast<double>(rope.dims);
  const auto pair_that_turns = [&](double times) {
    return dims * std::log(original / (times * 2 * std::numbers::pi)) / (2 * std::log(rope.base));
  };
  const double first = std::max(std::floor(pair_that_turns(fast)), 0.0);
  const double last = std::min(std::ceil(pair_that_turns(slow)), dims - 1);
  rope.factors.clear();
  for (std::int64_t i = 0; i < rope.dims / 2; ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - first) / std::max(last - first, 1e-3), 0.0, 1.0);
    rope.factors.push_back(1 / (ramp / factor + 1 - ramp));
  }
  rope.magnitude = 1 + 0.1 * std::log(factor);
  return {};
}

// The object that scales rotary positions: "rope_scaling", or "rope_parameters" in newer files. Null: there is none.
Result<const nlohmann::json*> rope_object(const ConfigSource& source) {
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (source.is_gguf() || !source.has({"", key})) continue;
    const nlohmann::json& object = *source.json()->find(key);
    if (!object.is_object()) return fail(ErrorCode::kBadFile, fmt::format("{}: {} is not an object", source.name(), key));
    if (object.contains("full_attention") || object.contains("sliding_attention"))
      return fail(ErrorCode::kUnsupported, fmt::format("{}: {} by kind of layer is not supported", source.name(), key));
    return &object;
  }
  return nullptr;
}

Status read_hf_rope_scaling(const ConfigSource& source, Rope& rope, std::int64_t context) {
  WF_TRY(const nlohmann::json* scaling, rope_object(source));
  if (!scaling) return {};
  const ConfigSource s(*scaling, source.name() + ": rotary scaling");
  const Key type_key{"", s.has({"", "rope_type"}) ? "rope_type" : "type"};
  if (!s.has(type_key)) return {};
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
  if (type == "yarn") {
    WF_TRY(const double original, s.number_or({"", "original_max_position_embeddings"}, static_cast<double>(context)));
    WF_TRY(const double fast, s.number_or({"", "beta_fast"}, 32));
    WF_TRY(const double slow, s.number_or({"", "beta_slow"}, 1));
    for (const char* key : {"mscale", "mscale_all_dim"})
      if (s.has({"", key}))
        return fail(ErrorCode::kUnsupported, fmt::format("{}: YaRN with {} is not supported", source.name(), key));
    WF_CHECK(set_yarn(source, factor, original, fast, slow, rope));
    WF_TRY(rope.magnitude, s.number_or({"", "attention_factor"}, rope.magnitude));
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
    } else if (type == "yarn") {
      WF_TRY(const double factor, source.number({"rope.scaling.factor", ""}));
      WF_TRY(const double original, source.number({"rope.scaling.original_context_length", ""}));
      WF_CHECK(set_yarn(source, factor, original, 32, 1, rope));
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

Status check_rope(const ConfigSource& source, const DecoderConfig& c) {
  if (c.rope.base > 1 && c.rope.dims >= 2 && c.rope.dims <= c.head_dim && c.rope.dims % 2 == 0) return {};
  return fail(ErrorCode::kBadFile, fmt::format("{}: rotary base {} over {} of {} head dimensions is impossible",
                                                 source.name(), c.rope.base, c.rope.dims, c.head_dim));
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
  WF_TRY(const nlohmann::json* rope, rope_object(source));
  if (rope && rope->contains("rope_theta")) {
    WF_TRY(c.rope.base, ConfigSource(*rope, source.name() + ": rotary scaling").number({"", "rope_theta"}));
  }
  WF_TRY(c.rope.dims, source.integer_or({"rope.dimension_count", ""}, c.head_dim));
  WF_CHECK(check_rope(source, c));
  WF_CHECK(source.is_gguf() ? read_gguf_rope_scaling(source, c.rope) : read_hf_rope_scaling(source, c.rope, c.context));
  return c;
}

}  // namespace warpfold::models
