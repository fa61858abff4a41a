// `warpfold explain MODEL -p TEXT --html FILE`: a text's way through a model, as a page that explains itself:
// tokens, shapes, lengths of states, attention maps of each layer and head, what comes next.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/explain_page.h"
#include "warpfold/engine/embedder.h"
#include "warpfold/engine/translator.h"
#include "warpfold/models/seq2seq.h"

namespace warpfold::cli {
namespace {

struct ExplainOptions {
  ModelOptions model;
  std::string prompt, html;
};

// One side of a model as the page shows it, filled in while a pass runs.
class Part {
 public:
  Part(std::string title, std::string explanation, std::int64_t d_model) : d_(d_model) {
    json_ = {{"title", std::move(title)},
             {"explanation", std::move(explanation)},
             {"tokens", Json::array()},
             {"norms", Json::array()}};
  }
  void token(std::string text, std::int64_t id) {
    json_["tokens"].push_back({{"text", std::move(text)}, {"id", id}});
  }
  void shapes(Json shapes) { json_["shapes"] = std::move(shapes); }

  models::ObserveStates states() {
    return [this](std::int64_t, std::span<const float> states) {
      Json norms = Json::array();
      for (std::size_t at = 0; at < states.size(); at += static_cast<std::size_t>(d_)) {
        double sum = 0;
        for (const float x : states.subspan(at, static_cast<std::size_t>(d_)))
          sum += static_cast<double>(x) * x;
        norms.push_back(std::round(std::sqrt(sum) * 1000) / 1000);
      }
      json_["norms"].push_back(std::move(norms));
    };
  }
  models::ObserveAttention attention() {
    return [this](const models::AttentionMap& map) {
      Json heads = Json::array();
      for (std::int64_t h = 0; h < map.heads; ++h) {
        Json rows = Json::array();
        for (std::int64_t q = 0; q < map.queries; ++q) {
          Json row = Json::array();
          for (std::int64_t k = 0; k < map.keys; ++k)  // in thousandths
            row.push_back(std::lround(
                1000 * map.weights[static_cast<std::size_t>((q * map.heads + h) * map.keys + k)]));
          rows.push_back(std::move(row));
        }
        heads.push_back(std::move(rows));
      }
      (map.cross ? cross_ : self_).push_back(std::move(heads));
    };
  }
  Json finish(bool causal) {
    json_["maps"] = Json::array();
    json_["maps"].push_back({{"title", "Self-attention"},
                             {"explanation", causal ? "A row for each token that looks, a column for each it "
                                                      "looks at; dark is much weight. A token sees itself "
                                                      "and those before it, so the upper right is empty."
                                                    : "A row for each token that looks, a column for each it "
                                                      "looks at; dark is much weight. Every token sees all "
                                                      "tokens, before and after it."},
                             {"cross", false},
                             {"layers", std::move(self_)}});
    if (!cross_.empty())
      json_["maps"].push_back(
          {{"title", "Cross-attention"},
           {"explanation",
            "Here the decoder looks at the encoder's states: a row for each token of the answer, a column "
            "for "
            "each token of the source. It shows where each word of the answer comes from."},
           {"cross", true},
           {"layers", std::move(cross_)}});
    return std::move(json_);
  }

 private:
  std::int64_t d_;
  Json json_, self_ = Json::array(), cross_ = Json::array();
};

Json shape(const char* tensor, std::string sizes, const char* meaning) {
  return Json::array({tensor, std::move(sizes), meaning});
}

Json shapes_of(std::int64_t d, std::int64_t heads, std::int64_t kv_heads, std::int64_t head_dim,
               std::int64_t d_ff, std::int64_t vocab) {
  Json list = Json::array();
  list.push_back(shape("x", fmt::format("(T, {})", d), "the states: first the tokens' embeddings"));
  list.push_back(shape("q", fmt::format("(T, {}, {})", heads, head_dim),
                       "queries, what each token looks for, for each head"));
  list.push_back(shape("k, v", fmt::format("(T, {}, {})", kv_heads, head_dim),
                       "keys, what each token offers; values, what it hands over"));
  list.push_back(
      shape("softmax(q k)", fmt::format("({}, T, T)", heads), "attention's weights, the maps below"));
  list.push_back(shape("feed-forward", fmt::format("(T, {})", d_ff),
                       "the wide inner layer that each token passes alone"));
  if (vocab > 0)
    list.push_back(shape("logits", fmt::format("({})", vocab), "how well each token would follow the last"));
  return list;
}

Json likeliest(std::span<const float> logits, const std::function<std::string(std::int64_t)>& text) {
  std::vector<std::int64_t> ids(logits.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i);
  const auto n = static_cast<std::ptrdiff_t>(std::min<std::size_t>(10, ids.size()));
  std::partial_sort(ids.begin(), ids.begin() + n, ids.end(), [&](std::int64_t a, std::int64_t b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  const double largest = logits[static_cast<std::size_t>(ids[0])];
  double total = 0;
  for (const float x : logits) total += std::exp(x - largest);
  Json next = Json::array();
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const std::int64_t id = ids[static_cast<std::size_t>(i)];
    next.push_back({{"text", text(id)},
                    {"probability", std::exp(logits[static_cast<std::size_t>(id)] - largest) / total}});
  }
  return next;
}

Result<Json> explain_decoder(const ExplainOptions& options) {
  WF_TRY(const engine::ModelPtr model, load_model(options.model));
  WF_TRY(const text::Tokenizer* tokenizer, model->tokenizer());
  WF_TRY(const auto tokens, model->encode(options.prompt));
  const models::DecoderInfo& info = model->info();
  Part part("The decoder",
            "The text is cut into tokens, each with a number. Layer by layer every token gathers from those "
            "before it what matters, "
            "until the last state says what comes next.",
            info.d_model);
  for (const auto id : tokens) part.token(tokenizer->piece(id, true), id);
  part.shapes(shapes_of(info.d_model, info.heads, info.kv_heads, info.head_dim, info.d_ff, info.vocab));
  WF_TRY(const auto cache,
         model->decoder().make_cache(std::min<std::int64_t>(info.context, 32), models::KvType::kF16));
  std::vector<float> logits(static_cast<std::size_t>(info.vocab));
  WF_CHECK(
      model->decoder().observe(tokens, *cache, logits, 1, model->pool(), part.states(), part.attention()));
  return Json{{"model", info.name},
              {"text", options.prompt},
              {"about", fmt::format("{}, {}: {} layers of {} heads, {} dimensions, {} million parameters.",
                                    info.name, info.architecture, info.layers, info.heads, info.d_model,
                                    info.parameters / 1000000)},
              {"parts", Json::array({part.finish(true)})},
              {"next", likeliest(logits, [&](std::int64_t id) {
                 return tokenizer->piece(static_cast<engine::TokenId>(id), true);
               })}};
}

Result<Json> explain_encoder(const ExplainOptions& options) {
  const std::string& path = options.model.path;
  ThreadPool pool(options.model.threads ? options.model.threads : ThreadPool::available_processors());
  WF_TRY(const auto encoder, models::Encoder::load(path, pool));
  WF_TRY(const auto tokenizer, text::WordPiece::open(path + "/tokenizer.json"));
  const models::EncoderInfo& info = encoder.info();
  const auto tokens = tokenizer.encode(options.prompt, info.context);
  Part part("The encoder",
            "The text is cut into tokens, each with a number. Layer by layer every token gathers from all "
            "others what matters; the "
            "mean of the last states is the sentence's embedding.",
            info.d_model);
  for (const auto id : tokens) part.token(std::string(tokenizer.token_text(id)), id);
  part.shapes(shapes_of(info.d_model, info.heads, info.heads, info.d_model / info.heads, info.d_ff, 0));
  std::vector<float> hidden(tokens.size() * static_cast<std::size_t>(info.d_model));
  const auto length = static_cast<std::int64_t>(tokens.size());
  WF_CHECK(encoder.forward(tokens, {&length, 1}, hidden, *encoder.make_workspace(), pool, part.states(),
                           part.attention()));
  return Json{{"model", info.name},
              {"text", options.prompt},
              {"about", fmt::format("{}, {}: {} layers of {} heads, {} dimensions.", info.name,
                                    info.architecture, info.layers, info.heads, info.d_model)},
              {"parts", Json::array({part.finish(false)})}};
}

Result<Json> explain_seq2seq(const ExplainOptions& options) {
  const std::string& path = options.model.path;
  WF_TRY(auto translator, engine::Translator::load(path, {.threads = options.model.threads, .progress = {}}));
  WF_TRY(const text::Unigram* tokenizer, translator.tokenizer());
  WF_TRY(const auto answers,
         translator.translate(std::span(&options.prompt, 1),
                              {.beam = {.beams = 1, .ends = {}, .suppressed = {}}, .sampling = {}}));
  const engine::Translation& answer = answers.at(0).at(0);

  ThreadPool pool(options.model.threads ? options.model.threads : ThreadPool::available_processors());
  WF_TRY(const auto model, models::Seq2Seq::load(path, pool));
  const models::Seq2SeqInfo& info = model.info();
  Part encoder("The encoder",
               "The source is cut into tokens, each with a number. Layer by layer every token gathers from "
               "all others what matters. "
               "This happens once.",
               info.d_model);
  Part decoder("The decoder",
               "The answer so far, after the token that every answer begins with. Each token's last state "
               "says which one follows it: "
               "the answer is “" +
                   answer.text + "”.",
               info.d_model);
  const auto source = tokenizer->encode(options.prompt);
  std::vector<engine::TokenId> target{info.start};
  target.insert(target.end(), answer.tokens.begin(), answer.tokens.end());
  for (const auto id : source) encoder.token(std::string(tokenizer->token_text(id)), id);
  for (const auto id : target) decoder.token(std::string(tokenizer->token_text(id)), id);
  encoder.shapes(shapes_of(info.d_model, info.heads, info.heads, info.d_model / info.heads, info.d_ff, 0));
  decoder.shapes(
      shapes_of(info.d_model, info.heads, info.heads, info.d_model / info.heads, info.d_ff, info.vocab));
  const auto batch = model.make_batch();
  const auto length = static_cast<std::int64_t>(source.size());
  WF_CHECK(model.encode(source, {&length, 1}, *batch, pool, encoder.states(), encoder.attention()));
  std::vector<float> logits(static_cast<std::size_t>(info.vocab));
  WF_CHECK(model.decode(target, *batch, logits, 1, pool, decoder.states(), decoder.attention()));
  return Json{{"model", info.name},
              {"text", options.prompt + " → " + answer.text},
              {"about", fmt::format("{}, {}: {} + {} layers, {} dimensions, {} thousand parameters.",
                                    info.name, info.architecture, info.encoder_layers, info.decoder_layers,
                                    info.d_model, info.parameters / 1000)},
              {"parts", Json::array({encoder.finish(false), decoder.finish(true)})},
              {"next", likeliest(logits, [&](std::int64_t id) {
                 return std::string(tokenizer->token_text(static_cast<engine::TokenId>(id)));
               })}};
}

// Which kind a model is, the loaders say: each refuses by name what it does not know.
Result<Json> explain(const ExplainOptions& options) {
  const bool directory = std::filesystem::is_directory(options.model.path);
  if (directory) {
    auto json = explain_encoder(options);
    if (json || json.error().code != ErrorCode::kUnsupported) return json;
    json = explain_seq2seq(options);
    if (json || json.error().code != ErrorCode::kUnsupported) return json;
  }
  return explain_decoder(options);
}

Status write_page(const Json& json, const std::string& path) {
  std::string data = to_line(json);
  // Inside of a script element "</" would end it.
  for (std::size_t at = data.find("</"); at != std::string::npos; at = data.find("</", at + 3))
    data.replace(at, 2, "<\\/");
  std::string page = kExplainPage;
  const std::string_view place = "/*DATA*/";
  page.replace(page.find(place), place.size(), data);
  std::ofstream file(path, std::ios::binary);
  file << page;
  file.close();
  if (!file) return fail(ErrorCode::kIo, path + ": the page could not be written");
  return {};
}

}  // namespace

int explain_main(int argc, char** argv) {
  ExplainOptions options;
  CLI::App app(
      "Shows a text's way through a model as a page of its own: tokens, shapes, attention maps of each layer "
      "and head, what comes "
      "next. At most 32 tokens for decoder-only models.",
      "warpfold explain");
  options.model.add_to(app);
  app.add_option("-p,--prompt", options.prompt, "the text")->required();
  app.add_option("--html", options.html, "the page to write")->required();
  if (const auto code = parse(app, argc, argv)) return *code;
  const auto json = explain(options);
  if (!json) return report_error(json.error());
  if (const Status status = write_page(*json, options.html); !status) return report_error(status.error());
  return 0;
}

}  // namespace warpfold::cli
