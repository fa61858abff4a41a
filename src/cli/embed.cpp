// `warpfold embed MODEL TEXT...`: a vector for each text, and how near the texts are to each other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/common.h"
#include "warpfold/engine/embedder.h"

namespace warpfold::cli {
namespace {

struct EmbedOptions {
  std::string path, file;
  std::vector<std::string> texts;
  int threads = 0, batch = 32, repeat = 0;
  bool json = false;
};

// Vectors (texts, d) by batches.
Result<std::vector<float>> embed_all(engine::Embedder& embedder, std::span<const std::string> texts,
                                     std::size_t batch) {
  std::vector<float> all;
  for (std::size_t at = 0; at < texts.size(); at += batch) {
    WF_TRY(const std::vector<float> part,
           embedder.embed(texts.subspan(at, std::min(batch, texts.size() - at))));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double product = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += static_cast<double>(a[i]) * b[i];
    aa += static_cast<double>(a[i]) * a[i];
    bb += static_cast<double>(b[i]) * b[i];
  }
  return aa > 0 && bb > 0 ? product / std::sqrt(aa * bb) : 0;
}

Status embed(EmbedOptions options) {
  WF_TRY(auto embedder, load_with_progress<engine::Embedder>(options.path, options.threads));
  if (!options.file.empty()) {
    WF_TRY(const std::string text, read_text(options.file));
    options.texts = split_lines(text);
    if (options.texts.empty())
      return fail(ErrorCode::kInvalidArgument, fmt::format("{}: there are no lines to embed", options.file));
  }
  const auto batch = static_cast<std::size_t>(options.batch);
  WF_TRY(const std::vector<float> vectors, embed_all(embedder, options.texts, batch));
  WF_TRY(const std::vector<double> seconds,
         seconds_of(options.repeat, [&] { return embed_all(embedder, options.texts, batch); }));

  const auto d = static_cast<std::size_t>(embedder.info().d_model);
  const auto row = [&](std::size_t i) { return std::span(vectors).subspan(i * d, d); };
  std::vector<std::vector<double>> cosines(options.texts.size());
  for (std::size_t i = 0; i < cosines.size(); ++i)
    for (std::size_t j = 0; j < cosines.size(); ++j) cosines[i].push_back(cosine(row(i), row(j)));
  if (!options.json) {
    for (std::size_t i = 0; i < cosines.size(); ++i) {
      for (const double c : cosines[i]) fmt::print("{:7.3f}", c);
      fmt::print("  {}\n", options.texts[i]);
    }
    return {};
  }
  Json embeddings = Json::array(), tokens = Json::array();
  for (std::size_t i = 0; i < cosines.size(); ++i) {
    embeddings.push_back(row(i));
    tokens.push_back(embedder.encode(options.texts[i]));
  }
  Json json{{"embeddings", std::move(embeddings)}, {"tokens", std::move(tokens)}, {"cosine", cosines}};
  if (!seconds.empty()) json["seconds"] = seconds;
  fmt::print("{}\n", to_line(json));
  return {};
}

}  // namespace

int embed_main(int argc, char** argv) {
  EmbedOptions options;
  CLI::App app(
      "Turns texts into vectors with an encoder, and shows the cosine of each pair: 1 for texts that mean "
      "the same, near "
      "0 for texts that have nothing to do with each other.",
      "warpfold embed");
  app.add_option("model", options.path, "directory with config.json, safetensors and tokenizer.json")
      ->required();
  auto* texts = app.add_option("texts", options.texts, "the texts");
  auto* file = app.add_option("-f,--file", options.file, "a file with a text on each line; - for stdin");
  texts->excludes(file);
  app.add_option("--threads", options.threads, "threads to compute with (default: all processors)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--batch", options.batch, "texts to compute together")
      ->capture_default_str()
      ->check(CLI::Range(1, 65536));
  app.add_option("--repeat", options.repeat, "measure so many times; with --json, the seconds of each")
      ->check(CLI::Range(0, 1000000));
  app.add_flag("--json", options.json, "print {\"embeddings\": [...], \"tokens\": [...], \"cosine\": [...]}");
  if (const auto code = parse(app, argc, argv)) return *code;
  if (options.texts.empty() && options.file.empty())
    return report_wrong_usage("there is nothing to embed: give texts, or a file with --file");
  if (const Status status = embed(std::move(options)); !status) return report_error(status.error());
  return 0;
}

}  // namespace warpfold::cli
