// `warpfold translate MODEL TEXT...`: an encoder-decoder's answer to each text, by beam search, greedily or
// sampled.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/common.h"
#include "warpfold/engine/translator.h"

namespace warpfold::cli {
namespace {

struct TranslateCommand {
  std::string path, file;
  std::vector<std::string> texts;
  std::vector<engine::TokenId> tokens;
  int threads = 0, repeat = 0;
  engine::TranslateOptions options;
  SamplerOptions sampler;
  bool json = false;
};

struct Outcome {
  std::vector<std::vector<engine::Translation>> results;
  std::vector<double> seconds;  // of each repetition
};

Result<Outcome> translate(TranslateCommand& command) {
  WF_TRY(auto translator, load_with_progress<engine::Translator>(command.path, command.threads));
  if (!command.tokens.empty()) {
    WF_TRY(auto results, translator.translate(std::span(&command.tokens, 1), command.options));
    return Outcome{std::move(results), {}};
  }
  if (!command.file.empty()) {
    WF_TRY(const std::string text, read_text(command.file));
    command.texts = split_lines(text);
    if (command.texts.empty())
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: there are no lines to translate", command.file));
  }
  const auto work = [&] { return translator.translate(command.texts, command.options); };
  WF_TRY(auto results, work());
  WF_TRY(auto seconds, seconds_of(command.repeat, work));
  return Outcome{std::move(results), std::move(seconds)};
}

void print(const Outcome& outcome, const TranslateCommand& command) {
  if (command.json) {
    Json all = Json::array();
    for (const auto& source : outcome.results) {
      Json best = Json::array();
      for (const engine::Translation& t : source) best.push_back(answer_json(t, t.text));
      all.push_back(std::move(best));
    }
    Json json{{"translations", std::move(all)}};
    if (!outcome.seconds.empty()) json["seconds"] = outcome.seconds;
    fmt::print("{}\n", to_line(json));
    return;
  }
  for (const auto& source : outcome.results)
    for (const engine::Translation& t : source)
      print_answer(t.score, command.options.beam.n_best > 1,
                   command.tokens.empty() ? t.text : fmt::format("{}", fmt::join(t.tokens, " ")));
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
  app.add_option("--repeat", command.repeat, "measure texts so many times; with --json, the seconds of each")
      ->check(CLI::Range(0, 1000000));
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
  const auto outcome = translate(command);
  if (!outcome) return report_error(outcome.error());
  print(*outcome, command);
  return 0;
}

}  // namespace warpfold::cli
