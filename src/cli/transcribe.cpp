// `warpfold transcribe MODEL FILE`: what is said in a sound file.
#include <fmt/format.h>

#include <chrono>
#include <string>

#include "cli/audio_file.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/progress.h"
#include "warpfold/engine/transcriber.h"

namespace warpfold::cli {
namespace {

struct TranscribeCommand {
  std::string path, file;
  int threads = 0;
  engine::TranscribeOptions options;
  bool json = false;
};

struct Outcome {
  engine::Transcript transcript;
  double speech_seconds, seconds;
};

Result<Outcome> transcribe(TranscribeCommand& command) {
  WF_TRY(const std::vector<float> samples, read_audio(command.file, engine::Transcriber::kRate));
  WF_TRY(auto transcriber, load_with_progress<engine::Transcriber>(command.path, command.threads));
  Progress listening("listening", {"s", 1});
  command.options.progress = [&](double done, double total) {
    listening.update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total));
  };
  const auto start = std::chrono::steady_clock::now();
  WF_TRY(auto transcript, transcriber.transcribe(samples, command.options));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return Outcome{std::move(transcript), static_cast<double>(samples.size()) / engine::Transcriber::kRate,
                 taken.count()};
}

}  // namespace

int transcribe_main(int argc, char** argv) {
  TranscribeCommand command;
  CLI::App app("Writes down what is said in a sound file.", "warpfold transcribe");
  app.add_option("model", command.path,
                 "directory of a Whisper model: config.json, safetensors, tokenizer.json")
      ->required();
  app.add_option("file", command.file, "the sound file: WAV, FLAC, Ogg")->required();
  app.add_option("--language", command.options.language,
                 "the language spoken, as \"en\" (default: found by the model)");
  app.add_flag("--translate", command.options.translate, "translate to English");
  app.add_flag("--timestamps", command.options.timestamps, "print each segment with its times");
  app.add_option("--threads", command.threads, "threads to compute with (default: all processors)")
      ->check(CLI::Range(1, 4096));
  app.add_flag("--json", command.json, "print one object: text, language, segments, tokens, seconds");
  if (const auto code = parse(app, argc, argv)) return *code;
  const auto outcome = transcribe(command);
  if (!outcome) return report_error(outcome.error());
  const engine::Transcript& t = outcome->transcript;
  if (command.json) {
    Json segments = Json::array();
    for (const auto& s : t.segments)
      segments.push_back({{"start", s.start}, {"end", s.end}, {"text", s.text}});
    fmt::print("{}\n", to_line({{"text", t.text},
                                {"language", t.language},
                                {"segments", std::move(segments)},
                                {"tokens", t.tokens},
                                {"speech_seconds", outcome->speech_seconds},
                                {"seconds", outcome->seconds}}));
    return 0;
  }
  if (!command.options.timestamps)
    fmt::print("{}\n", t.text);
  else
    for (const auto& s : t.segments) fmt::print("[{:7.2f} - {:7.2f}] {}\n", s.start, s.end, s.text);
  std::fflush(stdout);
  fmt::print(stderr, "[{} | {:.1f} s of speech in {:.1f} s]\n", t.language, outcome->speech_seconds,
             outcome->seconds);
  return 0;
}

}  // namespace warpfold::cli
