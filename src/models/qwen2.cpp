// Qwen2 and 2.5: Llama's blocks with biases on the query, key and value projections.
#include "models/config.h"

namespace warpfold::models {

Result<DecoderConfig> read_qwen2(const ConfigSource& source) {
  WF_TRY(DecoderConfig c, read_common(source));
  c.qkv_bias = true;
  return c;
}

}  // namespace warpfold::models
