// Speech to text with Whisper: windows of 30 s, each heard as a spectrogram and written greedily; in the
// language it is spoken in, or translated to English. (Radford et al. 2022)
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/core/thread_pool.h"
#include "warpfold/engine/model.h"
#include "warpfold/models/seq2seq.h"
#include "warpfold/ops/log_mel.h"
#include "warpfold/text/byte_vocabulary.h"

namespace warpfold::engine {

struct TranscribeOptions {
  std::string language;     // "en"; empty: the likeliest by the first window
  bool translate = false;   // to English
  bool timestamps = false;  // segments with times; a window then begins where the last whole segment ended
  std::function<void(double done, double total)> progress = {};  // seconds of speech
};

struct Transcript {
  struct Segment {
    double start, end;  // seconds
    std::string text;
  };
  std::string text, language;
  std::vector<Segment> segments;  // one a window without timestamps
  std::vector<TokenId> tokens;    // as written, the prompts and end tokens left out
};

class Transcriber {
 public:
  static constexpr std::int64_t kRate = ops::LogMel::kRate;

  // path: a directory with config.json, safetensors, tokenizer.json and generation_config.json.
  // Errors: those of the model and vocabulary; kUnsupported for a model that does not hear; kBadFile for a
  // control token that is missing, or lists of suppressed tokens that are broken.
  static Result<Transcriber> load(const std::string& path, const LoadOptions& options = {});

  const models::Seq2SeqInfo& info() const { return model_.info(); }

  // samples: mono, 16 kHz, -1 to 1. Not for two threads at once.
  // Errors: kInvalidArgument for no samples, or a language that the model does not know.
  Result<Transcript> transcribe(std::span<const float> samples, const TranscribeOptions& options);

 private:
  struct Control {
    TokenId start, end, transcribe, translate, no_timestamps;
    std::vector<std::pair<std::string, TokenId>> languages;
  };
  Transcriber(models::Seq2Seq model, text::ByteVocabulary vocabulary, ops::LogMel log_mel,
              std::unique_ptr<ThreadPool> pool);
  Status read_control(const std::string& path);
  Status listen(std::span<const float> samples);
  Result<std::string> detect_language();
  Result<std::vector<TokenId>> write(std::span<const TokenId> prompt, bool timestamps);

  std::unique_ptr<ThreadPool> pool_;
  models::Seq2Seq model_;
  text::ByteVocabulary vocabulary_;
  ops::LogMel log_mel_;
  models::Seq2SeqBatchPtr batch_;
  Control control_{};
  std::vector<TokenId> suppressed_, suppressed_first_;
  std::vector<float> features_, logits_;
};

}  // namespace warpfold::engine
