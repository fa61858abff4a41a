// `warpfold perplexity MODEL FILE`: how well a model predicts a text.
#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/progress.h"
#include "warpfold/engine/perplexity.h"

namespace warpfold::cli {
namespace {

struct PerplexityArguments {
  ModelOptions model;
  std::string file;
  std::int64_t context = 512, chunks = 0;
};

Result<engine::Perplexity> measure(const PerplexityArguments& arguments) {
  WF_TRY(const engine::ModelPtr model, load_model(arguments.model));
  WF_TRY(const std::string text, read_text(arguments.file));
  WF_TRY(const auto tokens, model->encode(text));
  Progress bar("scoring", {"chunks", 1});
  return engine::perplexity(*model, tokens,
                            {.context = arguments.context,
                             .max_chunks = arguments.chunks,
                             .kv = arguments.model.kv,
                             .progress = [&](std::int64_t done, std::int64_t chunks, double) {
                               bar.update(done, chunks);
                               return true;
                             }});
}

}  // namespace

int perplexity_main(int argc, char** argv) {
  PerplexityArguments arguments;
  bool json = false;
  CLI::App app(
      "Perplexity of a text: chunks of --context tokens, each from an empty cache, the second half of each "
      "scored "
      "(llama.cpp's method).",
      "warpfold perplexity");
  arguments.model.add_to(app);
  app.add_option("file", arguments.file, "the text; - for stdin")->required();
  app.add_option("--context", arguments.context, "tokens a chunk")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--chunks", arguments.chunks, "only the first so many chunks")->check(CLI::PositiveNumber);
  app.add_flag("--json", json, "print one object");
  if (const auto code = parse(app, argc, argv)) return *code;

  const auto result = measure(arguments);
  if (!result) return report_error(result.error());
  if (json)
    fmt::print("{}\n", to_line({{"perplexity", result->value},
                                {"standard_error", result->standard_error},
                                {"chunks", result->chunks},
                                {"context", arguments.context},
                                {"scored", result->scored}}));
  else
    fmt::print("perplexity {:.4f} +/- {:.4f} ({} chunks of {} tokens, {} scored)\n", result->value,
               result->standard_error, result->chunks, arguments.context, result->scored);
  return 0;
}

}  // namespace warpfold::cli
