#include "warpfold/models/kind.h"

#include <filesystem>

#include "models/directory.h"
#include "models/encoder_model.h"
#include "models/seq2seq_model.h"

namespace warpfold::models {

Result<Kind> kind_of(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return Kind::kDecoder;
  WF_TRY(const ModelDirectory directory, ModelDirectory::open(path));
  WF_TRY(const std::string architecture, directory.source().architecture());
  if (is_encoder(architecture)) return Kind::kEncoder;
  if (architecture == "whisper") return Kind::kSpeech;
  return is_seq2seq(architecture) ? Kind::kSeq2Seq : Kind::kDecoder;
}

}  // namespace warpfold::models
