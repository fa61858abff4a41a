// What several commands share: argument parsing, options, loading a model, reporting errors and speed.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/progress.h"
#include "warpfold/core/error.h"
#include "warpfold/engine/beam_search.h"
#include "warpfold/engine/model.h"
#include "warpfold/engine/session.h"

namespace warpfold::cli {

using Json = nlohmann::ordered_json;

// Parses; gives an exit code when the command is to end here (help was asked for, wrong usage).
std::optional<int> parse(CLI::App& app, int argc, char** argv);

int report_error(const Error& error);                // prints it; returns 1
int report_wrong_usage(const std::string& message);  // prints it; returns 2

// The whole of a file, or of stdin for "-".
Result<std::string> read_text(const std::string& path);

struct ModelOptions {
  std::string path;
  int threads = 0;
  models::KvType kv = models::KvType::kF16;

  void add_to(CLI::App& app);
};

// T::load with a progress bar; T: a model of the engine.
template <class T>
auto load_with_progress(const std::string& path, int threads) {
  Progress bar("loading", {"MB", 1e6});
  return T::load(path, {.threads = threads, .progress = [&](auto done, auto total) { bar.update(done, total); }});
}
Result<engine::ModelPtr> load_model(const ModelOptions& options);

struct SamplerOptions {
  engine::SamplingOptions values;
  std::optional<std::uint64_t> seed;  // drawn when not given

  void add_to(CLI::App& app);
  Result<engine::SamplingOptions> resolve() const;
};

// --beams, --n-best, --length-penalty and --early-stopping, with the values there are as defaults.
void add_beam_options(CLI::App& app, engine::BeamOptions& beam);

// An answer of beam search or of an encoder-decoder as JSON; as a line, with its score where there are several.
template <class Answer>
Json answer_json(const Answer& answer, const std::string& text) {
  return {{"text", text}, {"tokens", answer.tokens}, {"score", answer.score}, {"ended", answer.ended}};
}
void print_answer(double score, bool several, const std::string& text);

// Does the work so many times: the seconds of each. Its first error ends it.
template <class Work>
Result<std::vector<double>> seconds_of(int times, Work work) {
  std::vector<double> seconds;
  for (int i = 0; i < times; ++i) {
    const auto start = std::chrono::steady_clock::now();
    WF_CHECK(work());
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return seconds;
}

// The lines of a text, without empty ones.
std::vector<std::string> split_lines(const std::string& text);

// Speed of requests, and how near decoding came to what the memory allows.
struct Speed {
  double load_seconds = 0;
  engine::Timings timings;
  std::int64_t weight_bytes = 0;
  double memory_gb_per_second = 0;  // measured; 0: unknown

  double prefill_tokens_per_second() const;
  double decode_tokens_per_second() const;
  double weights_gb_per_second() const {
    return decode_tokens_per_second() * static_cast<double>(weight_bytes) / 1e9;
  }
  double memory_percent() const;
  // Call when the model is no longer in memory, so that the peak of the process's memory stays the model's.
  void measure_memory();
  std::string text() const;
  Json json() const;
};

// JSON on one line; text in it that is not UTF-8 becomes U+FFFD.
std::string to_line(const Json& json);

}  // namespace warpfold::cli
