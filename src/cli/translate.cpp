// `warpfold translate MODEL TEXT...`: an encoder-decoder's answer to each text, by beam search, greedily or
// sampled.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/progress.h"
#include "warpfold/engine/translator.h"

namespace warpfold::cli {
namespace {

struct TranslateCommand {
  std::string path, file;
  std::vector<std::string> texts;
  std::vector<engine::TokenId> tokens;
  int threads = 0;
  engine::TranslateOptions options;
  SamplerOptions sampler;
  bool json = false;
};

using Results = std::vector<std::vector<engine::Translation>>;

Result<Results> translate(TranslateCommand& command) {
  Progress bar("loading", {"MB", 1e6});
  WF_TRY(auto translator, engine::Translator::load(command.path, {.threads = command.threads,
                                                                  .progress = [&](auto done, auto total) {
                                                                    bar.update(done, total);
                                                                  }}));
  if (!command.tokens.empty()) return translator.translate(std::span(&command.tokens, 1), command.options);
  if (!command.file.empty()) {
    WF_TRY(const std::string text, read_text(command.file));
    command.texts = split_lines(text);
    if (command.texts.empty())
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: there are no lines to translate", command.file));
  }
  return translator.translate(command.texts, command.options);
}

void print(const Results& results, const TranslateCommand& command) {
  if (command.json) {
    Json all = Json::array();
    for (const auto& source : results) {
      Json best = Json::array();
      for (const engine::Translation& t : source)
        best.push_back({{"text", t.text}, {"tokens", t.tokens}, {"score", t.score}, {"ended", t.ended}});
      all.push_back(std::move(best));
    }
    fmt::print("{}\n", to_line({{"translations", std::move(all)}}));
    return;
  }
  for (const auto& source : results)
    for (const engine::Translation& t : source) {
      const std::string text = command.tokens.empty() ? t.text : fmt::format("{}", fmt::join(t.tokens, " "));
      if (command.options.beam.n_best > 1)
        fmt::print("{:9.4f}  {}\n", t.score, text);
      else
        fmt::print("{}\n", text);
    }
}

}  // namespace

int translate_main(int argc, char** argv) {
  TranslateCommand command;
  engine::BeamOptions& beam = command.options.beam;
  CLI::App app("Gives each text to an encoder-decoder and prints what it makes of it, a line each.",
               "warpfold translate");
  app.add_option("model", command.path, "directory with config.json, safetensors and tokenizer.json")
      ->required();
  auto* texts = app.add_option("texts", command.texts, "the texts");
  auto* file = app.add_option("-f,--file", command.file, "a file with a text on each line; - for stdin");
  auto* tokens = app.add_option("--tokens", command.tokens, "one source as token ids, separated by commas")
                     ->delimiter(',');
  texts->excludes(file)->excludes(tokens);
  file->excludes(tokens);
  app.add_option("--max-tokens", beam.max_tokens, "at most so many tokens for each")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  add_beam_options(app, beam);
  app.add_option("--threads", command.threads, "threads to compute with (default: all processors)")
      ->check(CLI::Range(1, 4096));
  app.add_flag("--json", command.json,
               "print {\"translations\": [[{\"text\", \"tokens\", \"score\", \"ended\"}, ...], ...]}");
  command.sampler.add_to(app);
  if (const auto code = parse(app, argc, argv)) return *code;
  if (command.texts.empty() && command.file.empty() && command.tokens.empty())
    return report_wrong_usage("there is nothing to translate: give texts, a file with --file, or --tokens");
  const auto sampling = command.sampler.resolve();
  if (!sampling) return report_wrong_usage(sampling.error().message);
  if (beam.beams > 1 && sampling->temperature > 0) return report_wrong_usage("--temperature needs --beams 1");
  command.options.sampling = *sampling;
  const auto results = translate(command);
  if (!results) return report_error(results.error());
  print(*results, command);
  return 0;
}

}  // namespace warpfold::cli
