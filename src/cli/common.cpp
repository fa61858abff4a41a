#include "cli/common.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "cli/bandwidth.h"
#include "cli/progress.h"

namespace warpfold::cli {
namespace {

double rate(std::int64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

}  // namespace

std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

int report_error(const Error& error) {
  fmt::print(stderr, "error: {}\n", error.message);
  return 1;
}

int report_wrong_usage(const std::string& message) {
  fmt::print(stderr, "error: {}\n", message);
  return 2;
}

Result<std::string> read_text(const std::string& path) {
  const auto io_error = [&] {
    return fail(ErrorCode::kIo, fmt::format("{}: {}", path, std::strerror(errno)));
  };
  const auto close = [](std::FILE* f) { f == stdin ? 0 : std::fclose(f); };
  const std::unique_ptr<std::FILE, decltype(close)> file(path == "-" ? stdin : std::fopen(path.c_str(), "rb"),
                                                         close);
  if (!file) return io_error();
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), file.get()))
    text.append(buffer.data(), n);
  if (std::ferror(file.get())) return io_error();
  return text;
}

void ModelOptions::add_to(CLI::App& app) {
  app.add_option("model", path, "GGUF file, or directory with config.json and safetensors")->required();
  app.add_option("--threads", threads, "threads to compute with (default: all processors)")
      ->check(CLI::Range(1, 4096));
  app.add_option_function<std::string>(
         "--kv", [this](const std::string& name) { kv = name == "int8" ? models::KvType::kInt8 : models::KvType::kF16; },
         "type of the key-value cache: f16 (default) or int8")
      ->check(CLI::IsMember({"f16", "int8"}))
      ->type_name("TYPE");
}

Result<engine::ModelPtr> load_model(const ModelOptions& options) {
  return load_with_progress<engine::Model>(options.path, options.threads);
}

void print_answer(double score, bool several, const std::string& text) {
  if (several) fmt::print("{:9.4f}  ", score);
  fmt::print("{}\n", text);
}

void SamplerOptions::add_to(CLI::App& app) {
  const std::string group = "Sampling, applied in this order";
  const auto add = [&](const char* name, auto& value, const char* text) {
    app.add_option(name, value, text)->capture_default_str()->group(group);
  };
  add("--repetition-penalty", values.repetition_penalty, "divides the logits of recent tokens; 1 = off");
  add("--repetition-window", values.repetition_window, "how many recent tokens; -1 = all");
  add("--temperature", values.temperature, "0 always takes the most likely token");
  add("--top-k", values.top_k, "only the k most likely tokens; 0 = all");
  add("--top-p", values.top_p, "only the most likely tokens that make up this share; 1 = all");
  add("--min-p", values.min_p, "only tokens at least this likely, relative to the most likely; 0 = all");
  app.add_option("--seed", seed, "of the random draws; the same seed gives the same text")->group(group);
}

Result<engine::SamplingOptions> SamplerOptions::resolve() const {
  engine::SamplingOptions result = values;
  result.seed = seed ? *seed : std::random_device{}();
  WF_CHECK(engine::Sampler::create(result, 1));
  return result;
}

void add_beam_options(CLI::App& app, engine::BeamOptions& beam) {
  app.add_option("--beams", beam.beams, "keep so many hypotheses; 1: take the likeliest token, or sample")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  app.add_option("--n-best", beam.n_best, "print the best so many, with their scores")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  app.add_option("--length-penalty", beam.length_penalty, "score = log probability / length^this; larger prefers longer")
      ->capture_default_str();
  app.add_flag("--early-stopping", beam.early_stopping, "end as soon as so many hypotheses as there are beams have ended");
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

double Speed::prefill_tokens_per_second() const {
  return rate(timings.prefill_tokens, timings.prefill_seconds);
}

double Speed::decode_tokens_per_second() const { return rate(timings.decode_steps, timings.decode_seconds); }

double Speed::memory_percent() const {
  return memory_gb_per_second > 0 ? 100 * weights_gb_per_second() / memory_gb_per_second : 0;
}

void Speed::measure_memory() {
  memory_gb_per_second =
      measure_read_bandwidth();
}

std::string Speed::text() const {
  std::string line = fmt::format("load {:.2f} s | prefill {} tokens, {:.1f} tok/s", load_seconds,
                                 timings.prefill_tokens, prefill_tokens_per_second());
  if (timings.decode_steps > 0)
    line += fmt::format(
        " | decode {} tokens, {:.1f} tok/s | {:.1f} GB/s of weights, {:.0f}% of the memory's {:.1f}",
        timings.decode_steps, decode_tokens_per_second(), weights_gb_per_second(), memory_percent(),
        memory_gb_per_second);
  return line;
}

Json Speed::json() const {
  return {{"load_seconds", load_seconds},
          {"prefill_seconds", timings.prefill_seconds},
          {"prefill_tokens", timings.prefill_tokens},
          {"prefill_tokens_per_second", prefill_tokens_per_second()},
          {"decode_seconds", timings.decode_seconds},
          {"decode_steps", timings.decode_steps},
          {"decode_tokens_per_second", decode_tokens_per_second()},
          {"weights_gb_per_second", weights_gb_per_second()},
          {"memory_gb_per_second", memory_gb_per_second},
          {"memory_percent", memory_percent()}};
}

std::string to_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace warpfold::cli
