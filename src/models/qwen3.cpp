// Qwen3: Llama's blocks with an RMSNorm of each query and key head before rotation, and a head_dim of its
// own.
#include <fmt/format.h>

#include "models/config.h"

namespace warpfold::models {

Result<DecoderConfig> read_qwen3(const ConfigSource& source) {
  WF_TRY(DecoderConfig c, read_common(source));
  c.qk_norm = true;
  for (const char* key : {"use_sliding_window", "attention_bias"}) {
    WF_TRY(const bool set, source.boolean_or({"", key}, false));
    if (set) return fail(ErrorCode::kUnsupported, fmt::format("{}: {} is not supported", source.name(), key));
  }
  return c;
}

}  // namespace warpfold::models
