// `warpfold run MODEL -p PROMPT`: completes a prompt and streams the text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "warpfold/engine/beam_generation.h"
#include "warpfold/engine/translator.h"
#include "warpfold/models/kind.h"

namespace warpfold::cli {
namespace {

struct RunOptions {
  ModelOptions model;
  SamplerOptions sampler;
  std::string prompt, file, system;
  std::vector<engine::TokenId> tokens;
  std::vector<std::string> stop;
  std::int64_t max_tokens = 256, context = 0;
  engine::BeamOptions beam{.beams = 1, .ends = {}, .suppressed = {}};
  bool chat = false, json = false;
};

Result<std::string> prompt_text(const RunOptions& options) {
  return options.file.empty() ? options.prompt : read_text(options.file);
}

Result<std::vector<engine::TokenId>> encode_prompt(const engine::Model& model, const RunOptions& options) {
  if (!options.tokens.empty()) return options.tokens;
  WF_TRY(std::string text, prompt_text(options));
  if (!options.chat) return model.encode(text);
  std::vector<text::ChatMessage> messages;
  if (!options.system.empty()) messages.push_back({"system", options.system});
  messages.push_back({"user", std::move(text)});
  return model.encode_chat(messages);
}

struct Outcome {
  engine::Generation generation;
  Speed speed;
};

Result<Outcome> complete(const RunOptions& options, const engine::SamplingOptions& sampling) {
  WF_TRY(const engine::ModelPtr model, load_model(options.model));
  WF_TRY(const auto prompt, encode_prompt(*model, options));

  // Room for this request and no more, unless asked for.
  const std::int64_t trained = model->info().context, size = static_cast<std::int64_t>(prompt.size());
  const std::int64_t needed = options.max_tokens < trained ? size + options.max_tokens : trained;
  const std::int64_t context =
      options.context ? options.context : std::clamp<std::int64_t>(needed, 1, trained);
  WF_TRY(auto session, engine::Session::create(model, {.context = context, .kv = options.model.kv}));

  engine::GenerateOptions request{.sampling = sampling,
                                  .max_tokens = options.max_tokens,
                                  .stop = options.stop,
                                  .on_token = {},
                                  .on_prefill = {}};
  const bool ids_only = !model->tokenizer();
  if (!options.json) {
    request.on_token = [&](engine::TokenId id, std::string_view text) {
      if (ids_only)
        fmt::print("{} ", id);
      else
        std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    };
  }
  Progress bar("reading the prompt", {"tokens", 1});
  request.on_prefill = [&](auto done, auto total) { bar.update(done, total); };
  const InterruptScope interrupt;
  request.cancel = interrupt.flag();
  WF_TRY(auto generation, session.generate(prompt, request));
  const Speed speed{model->load_seconds(), generation.timings, model->info().weight_bytes};
  return Outcome{std::move(generation), speed};
}

// The likeliest answers, by beam search.
Status print_beams(RunOptions& options) {
  WF_TRY(const engine::ModelPtr model, load_model(options.model));
  WF_TRY(const auto prompt, encode_prompt(*model, options));
  options.beam.max_tokens = std::clamp<std::int64_t>(model->info().context - static_cast<std::int64_t>(prompt.size()), 1,
                                                     std::max<std::int64_t>(1, options.max_tokens));
  WF_TRY(const auto answers, engine::generate_beams(*model, prompt, options.beam, options.model.kv));
  const auto tokenizer = model->tokenizer();
  Json json = Json::array();
  for (const engine::BeamHypothesis& answer : answers) {
    const std::string text = tokenizer ? (*tokenizer)->decode(answer.tokens) : "";
    if (options.json) {
      json.push_back(answer_json(answer, text));
      continue;
    }
    print_answer(answer.score, options.beam.n_best > 1,
                 tokenizer ? text : fmt::format("{}", fmt::join(answer.tokens, " ")));
  }
  if (options.json) fmt::print("{}\n", to_line({{"beams", std::move(json)}}));
  return {};
}

// An encoder-decoder's answer: the prompt is its source.
Status answer_source(const RunOptions& options, const engine::SamplingOptions& sampling) {
  WF_TRY(auto translator, load_with_progress<engine::Translator>(options.model.path, options.model.threads));
  std::vector<engine::TokenId> source = options.tokens;
  if (source.empty()) {
    WF_TRY(const std::string text, prompt_text(options));
    WF_TRY(const auto tokenizer, translator.tokenizer());
    source = tokenizer->encode(text);
  }
  engine::TranslateOptions request{.beam = options.beam, .sampling = sampling};
  request.beam.max_tokens = options.max_tokens;
  WF_TRY(const auto results, translator.translate(std::span(&source, 1), request));
  const std::vector<engine::Translation>& answers = results[0];
  if (!options.json) {
    for (const engine::Translation& t : answers)
      print_answer(t.score, options.beam.n_best > 1,
                   options.tokens.empty() ? t.text : fmt::format("{}", fmt::join(t.tokens, " ")));
    return {};
  }
  if (options.beam.beams > 1) {
    Json json = Json::array();
    for (const engine::Translation& t : answers) json.push_back(answer_json(t, t.text));
    fmt::print("{}\n", to_line({{"beams", std::move(json)}}));
    return {};
  }
  fmt::print("{}\n", to_line({{"tokens", answers[0].tokens},
                              {"text", answers[0].text},
                              {"finish_reason", answers[0].ended ? "stop" : "length"},
                              {"seed", sampling.seed}}));
  return {};
}

}  // namespace

int run_main(int argc, char** argv) {
  RunOptions options;
  CLI::App app(
      "Completes a prompt, or gives it to an encoder-decoder as its source. The prompt goes to the model as "
      "it is, without a chat template, unless --chat is given.",
      "warpfold run");
  options.model.add_to(app);
  auto* prompt = app.add_option_group("Prompt", "one of these");
  prompt->add_option("-p,--prompt", options.prompt, "the prompt");
  prompt->add_option("-f,--file", options.file, "a file with the prompt; - for stdin");
  prompt->add_option("--tokens", options.tokens, "the prompt as token ids, separated by commas")
      ->delimiter(',');
  prompt->require_option(1);
  app.add_flag("--chat", options.chat, "send the prompt as a user's message, in the model's chat format");
  app.add_option("--system", options.system, "the system message for --chat");
  app.add_option("--max-tokens", options.max_tokens, "at most so many tokens")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--stop", options.stop, "end before this text; may be given more than once")
      ->allow_extra_args(false);
  app.add_option("--context", options.context,
                 "room for prompt and answer, in tokens (default: what is needed)")
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", options.json,
               "print one object at the end: tokens, text, finish_reason, seed, timings");
  options.sampler.add_to(app);
  add_beam_options(app, options.beam);
  if (const auto code = parse(app, argc, argv)) return *code;
  const auto sampling = options.sampler.resolve();
  if (!sampling) return report_wrong_usage(sampling.error().message);
  if (!options.system.empty() && !options.chat) return report_wrong_usage("--system needs --chat");
  if (options.chat && !options.tokens.empty()) return report_wrong_usage("--chat needs text, not --tokens");

  const auto kind = models::kind_of(options.model.path);
  if (!kind) return report_error(kind.error());
  const auto other_command = [&](const char* what, const char* command) {
    return report_wrong_usage(fmt::format("{} {}; use `warpfold {}`", options.model.path, what, command));
  };
  if (*kind == models::Kind::kEncoder) return other_command("is an encoder, which writes no text", "embed");
  if (*kind == models::Kind::kSpeech) return other_command("hears speech and reads no prompt", "transcribe");
  const bool seq2seq = *kind == models::Kind::kSeq2Seq, beams = options.beam.beams > 1;
  if (seq2seq && (options.chat || options.context > 0 || !options.stop.empty()))
    return report_wrong_usage("an encoder-decoder takes no --chat, --context or --stop");
  if (beams && (sampling->temperature > 0 || !options.stop.empty()))
    return report_wrong_usage("--beams cannot be combined with --temperature or --stop");
  if (!beams && options.beam.n_best > 1) return report_wrong_usage("--n-best needs --beams");

  if (seq2seq || beams) {
    const Status status = seq2seq ? answer_source(options, *sampling) : print_beams(options);
    return status ? 0 : report_error(status.error());
  }
  auto outcome = complete(options, *sampling);
  if (!outcome) return report_error(outcome.error());
  auto& [generation, speed] = *outcome;
  speed.measure_memory();
  const auto reason = engine::to_string(generation.finish_reason);
  if (options.json) {
    fmt::print("{}\n", to_line({{"tokens", generation.tokens},
                                {"text", generation.text},
                                {"finish_reason", reason},
                                {"seed", sampling->seed},
                                {"timings", speed.json()}}));
    return 0;
  }
  fmt::print("\n");
  std::fflush(stdout);
  fmt::print(stderr, "[{} | {}", reason, speed.text());
  if (sampling->temperature > 0) fmt::print(stderr, " | seed {}", sampling->seed);
  fmt::print(stderr, "]\n");
  return 0;
}

}  // namespace warpfold::cli
