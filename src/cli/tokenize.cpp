// `warpfold tokenize MODEL --text T`: the token ids of a text and the piece of text behind each.
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "warpfold/formats/gguf.h"
#include "warpfold/text/tokenizer.h"

namespace warpfold::cli {
namespace {

// A piece may end inside of a character; each ill-formed part shows as U+FFFD.
std::string printable(const text::Tokenizer& tokenizer, text::TokenId id) {
  text::Utf8Stream stream;
  std::string piece = stream.push(tokenizer.piece(id, true));
  return piece + stream.finish();
}

void print_json(const text::Tokenizer& tokenizer, const std::vector<text::TokenId>& ids) {
  nlohmann::json pieces = nlohmann::json::array();
  for (const text::TokenId id : ids) pieces.push_back(printable(tokenizer, id));
  fmt::print("{}\n", nlohmann::json{{"tokens", ids}, {"pieces", std::move(pieces)}}.dump());
}

void print_columns(const text::Tokenizer& tokenizer, const std::vector<text::TokenId>& ids) {
  // Quoted as in JSON, so that spaces and line ends can be seen.
  for (const text::TokenId id : ids)
    fmt::print("{:>8}  {}\n", id, nlohmann::json(printable(tokenizer, id)).dump());
}

}  // namespace

int tokenize_main(int argc, char** argv) {
  std::string model, input;
  bool special = false, no_bos = false, json = false;
  CLI::App app("Token ids of a text", "warpfold tokenize");
  app.add_option("model", model, "GGUF file")->required();
  app.add_option("--text", input, "the text")->required();
  app.add_flag("--special", special, "recognise control tokens such as <|im_end|> in the text");
  app.add_flag("--no-bos", no_bos, "leave out the token that begins a text");
  app.add_flag("--json", json, "print {\"tokens\": [...], \"pieces\": [...]}");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  const auto report = [](const Error& error) {
    fmt::print(stderr, "error: {}\n", error.message);
    return 1;
  };
  const auto file = formats::Gguf::open(model);
  if (!file) return report(file.error());
  const auto tokenizer = text::Tokenizer::from_gguf(*file);
  if (!tokenizer) return report(tokenizer.error());
  const auto ids = tokenizer->encode(input, {.add_bos = !no_bos, .parse_special = special});
  if (!ids) return report(ids.error());
  if (json)
    print_json(*tokenizer, *ids);
  else
    print_columns(*tokenizer, *ids);
  return 0;
}

}  // namespace warpfold::cli
