// Mistral: Llama's blocks; where the file names a window, every layer sees only so many tokens, itself
// included. (Jiang et al. 2023.) GGUF files of Mistral call themselves "llama".
#include <fmt/format.h>

#include "models/config.h"

namespace warpfold::models {

Result<DecoderConfig> read_mistral(const ConfigSource& source) {
  WF_TRY(DecoderConfig c, read_llama(source));
  if (!source.has({"attention.sliding_window", "sliding_window"})) return c;
  WF_TRY(c.window, source.integer({"attention.sliding_window", "sliding_window"}));
  if (c.window < 1)
    return fail(ErrorCode::kBadFile,
                fmt::format("{}: a sliding window of {} tokens is impossible", source.name(), c.window));
  c.local_rope = c.rope;
  return c;
}

}  // namespace warpfold::models
