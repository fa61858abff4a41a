// Llama 2 and 3, SmolLM2 and others of that shape: RMSNorm before each block, rotary positions, SiLU-gated
// feed-forward, no biases. GGUF files store query and key rows so that rotated pairs are neighbours.
#include "models/config.h"

namespace warpfold::models {

Result<DecoderConfig> read_llama(const ConfigSource& source) {
  WF_TRY(DecoderConfig c, read_common(source));
  c.rope.interleaved = source.is_gguf();
  return c;
}

}  // namespace warpfold::models
