#include "warpfold/engine/translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/pool.h"
#include "warpfold/ops/logits.h"

namespace warpfold::engine {
namespace {

constexpr std::size_t kBatchHypotheses = 64;  // decoded together: enough that weights are read rarely

// How one source's target grows: what follows its open hypotheses, and which of them each continues.
class Search {
 public:
  virtual ~Search() = default;
  // The logits (vocab) of what follows an open hypothesis, which may be changed; for different hypotheses
  // from different threads. Then advance() takes all together.
  virtual Status look(std::int64_t hypothesis, std::span<float> logits) = 0;
  virtual Status advance() = 0;
  virtual bool done() const = 0;
  virtual std::int64_t open() const = 0;
  virtual std::span<const TokenId> tokens() const = 0;
  virtual std::span<const std::int64_t> parents() const = 0;
  virtual std::vector<BeamHypothesis> best() const = 0;
};

class Beams final : public Search {
 public:
  explicit Beams(BeamSearch search) : search_(std::move(search)) {}
  Status look(std::int64_t hypothesis, std::span<float> logits) override {
    return search_.look(hypothesis, logits);
  }
  Status advance() override { return search_.advance(); }
  bool done() const override { return search_.done(); }
  std::int64_t open() const override { return search_.open(); }
  std::span<const TokenId> tokens() const override { return search_.tokens(); }
  std::span<const std::int64_t> parents() const override { return search_.parents(); }
  std::vector<BeamHypothesis> best() const override { return search_.best(); }

 private:
  BeamSearch search_;
};

// One hypothesis: the sampler's choice at each step, at temperature 0 the likeliest token.
class Line final : public Search {
 public:
  Line(Sampler sampler, const SamplingOptions& sampling, const BeamOptions& options, std::int64_t vocab)
      : sampler_(std::move(sampler)),
        sampling_(sampling),
        options_(options),
        maxima_(static_cast<std::size_t>(ops::logit_blocks(vocab))),
        as_given_(sampling.repetition_penalty != 1 ? static_cast<std::size_t>(vocab) : 0) {}

  Status look(std::int64_t, std::span<float> logits) override {
    const ops::LogitSummary summary =
        ops::summarise_logits(logits.data(), static_cast<std::int64_t>(logits.size()), maxima_.data());
    const bool penalised = sampling_.repetition_penalty != 1;  // the sampler then changes logits
    if (penalised) as_given_.assign(logits.begin(), logits.end());
    for (const TokenId id : options_.suppressed)
      logits[static_cast<std::size_t>(id)] = -std::numeric_limits<float>::infinity();
    WF_TRY(token_, sampler_.sample(logits, result_.tokens));
    if (!summary.valid) return fail(ErrorCode::kInvalidArgument, "a suppressed token's logit is NaN or +inf");
    const float logit =
        penalised ? as_given_[static_cast<std::size_t>(token_)] : logits[static_cast<std::size_t>(token_)];
    sum_ += static_cast<double>(logit) - static_cast<double>(summary.largest) - summary.log_total;
    return {};
  }
  Status advance() override {
    ++length_;
    result_.ended = std::find(options_.ends.begin(), options_.ends.end(), token_) != options_.ends.end();
    if (!result_.ended) result_.tokens.push_back(token_);
    result_.score = sum_ / std::pow(static_cast<double>(length_), options_.length_penalty);
    done_ = result_.ended || length_ == options_.max_tokens;
    return {};
  }
  bool done() const override { return done_; }
  std::int64_t open() const override { return 1; }
  std::span<const TokenId> tokens() const override { return {&token_, 1}; }
  std::span<const std::int64_t> parents() const override { return {&kItself, 1}; }
  std::vector<BeamHypothesis> best() const override { return {result_}; }

 private:
  static constexpr std::int64_t kItself = 0;
  Sampler sampler_;
  SamplingOptions sampling_;
  BeamOptions options_;
  std::vector<float> maxima_, as_given_;  // scratch
  BeamHypothesis result_;
  TokenId token_ = 0;
  double sum_ = 0;
  std::int64_t length_ = 0;
  bool done_ = false;
};

Result<std::unique_ptr<Search>> make_search(const TranslateOptions& options, std::size_t source,
                                            std::int64_t vocab) {
  WF_TRY(BeamSearch beams, BeamSearch::create(options.beam, vocab));  // checks the options in any case
  if (options.beam.beams > 1) return std::make_unique<Beams>(std::move(beams));
  SamplingOptions sampling = options.sampling;
  sampling.seed += source;
  WF_TRY(Sampler sampler, Sampler::create(sampling, vocab));
  return std::make_unique<Line>(std::move(sampler), sampling, options.beam, vocab);
}

// Decodes the sources of a batch until every search is done.
Status run(const models::Seq2Seq& model, std::span<const std::unique_ptr<Search>> searches,
           models::Seq2SeqBatch& batch, ThreadPool& pool) {
  const auto vocab = static_cast<std::size_t>(model.info().vocab);
  std::vector<TokenId> tokens(searches.size(), model.info().start);
  std::vector<Search*> open;
  for (const auto& search : searches) open.push_back(search.get());
  std::vector<float> logits;
  std::vector<std::int64_t> parents;
  struct Row {
    Search* search;
    std::int64_t hypothesis;
    Status status;
  };
  std::vector<Row> rows;
  while (!open.empty()) {
    logits.resize(tokens.size() * vocab);
    WF_CHECK(model.decode(tokens, batch, logits, 1, pool));
    rows.clear();
    for (Search* search : open)
      for (std::int64_t h = 0; h < search->open(); ++h) rows.push_back({search, h, {}});
    pool.parallel_for(static_cast<std::int64_t>(rows.size()), [&](std::int64_t r, int) {
      Row& row = rows[static_cast<std::size_t>(r)];
      row.status = row.search->look(row.hypothesis,
                                    std::span(logits).subspan(static_cast<std::size_t>(r) * vocab, vocab));
    });
    for (const Row& row : rows) WF_CHECK(row.status);
    tokens.clear();
    parents.clear();
    std::vector<Search*> still_open;
    std::int64_t first = 0;
    for (Search* search : open) {
      const std::int64_t count = search->open();
      WF_CHECK(search->advance());
      if (!search->done()) {
        still_open.push_back(search);
        tokens.insert(tokens.end(), search->tokens().begin(), search->tokens().end());
        for (const std::int64_t parent : search->parents()) parents.push_back(first + parent);
      }
      first += count;
    }
    open = std::move(still_open);
    WF_CHECK(model.select(parents, batch));
  }
  return {};
}

}  // namespace

Translator::Translator(models::Seq2Seq model, Result<text::Unigram> tokenizer,
                       std::unique_ptr<ThreadPool> pool)
    : pool_(std::move(pool)),
      model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      batch_(model_.make_batch()) {}

Result<Translator> Translator::load(const std::string& path, const LoadOptions& options) {
  WF_TRY(auto pool, make_pool(options.threads));
  WF_TRY(auto model, models::Seq2Seq::load(path, *pool, options.progress));
  auto tokenizer = text::Unigram::open(path + "/tokenizer.json");
  if (tokenizer && tokenizer->vocab_size() > std::min(model.info().vocab, model.info().source_vocab))
    return fail(ErrorCode::kBadFile, fmt::format("{}: the tokenizer has {} tokens, the model embeds {}", path,
                                                 tokenizer->vocab_size(),
                                                 std::min(model.info().vocab, model.info().source_vocab)));
  return Translator(std::move(model), std::move(tokenizer), std::move(pool));
}

Result<const text::Unigram*> Translator::tokenizer() const {
  if (!tokenizer_) return tl::unexpected<Error>(tokenizer_.error());
  return &*tokenizer_;
}

Result<std::vector<std::vector<Translation>>> Translator::translate(std::span<const std::string> texts,
                                                                    const TranslateOptions& options) {
  WF_TRY(const text::Unigram* tokens, tokenizer());
  std::vector<std::vector<TokenId>> sources;
  for (const std::string& text : texts) sources.push_back(tokens->encode(text));
  return translate(sources, options);
}

Result<std::vector<std::vector<Translation>>> Translator::translate(
    std::span<const std::vector<TokenId>> sources, const TranslateOptions& requested) {
  if (sources.empty()) return fail(ErrorCode::kInvalidArgument, "there are no sources to translate");
  TranslateOptions options = requested;
  options.beam.ends = {info().end};
  options.beam.max_tokens = std::min(options.beam.max_tokens, info().context);
  std::vector<std::vector<Translation>> all;
  const std::size_t most = std::max<std::size_t>(
      1, kBatchHypotheses / static_cast<std::size_t>(std::max<std::int64_t>(1, options.beam.beams)));
  for (std::size_t first = 0; first < sources.size(); first += most) {
    const auto part = sources.subspan(first, std::min(most, sources.size() - first));
    std::vector<TokenId> tokens;
    std::vector<std::int64_t> lengths;
    std::vector<std::unique_ptr<Search>> searches;
    for (std::size_t i = 0; i < part.size(); ++i) {
      tokens.insert(tokens.end(), part[i].begin(), part[i].end());
      lengths.push_back(static_cast<std::int64_t>(part[i].size()));
      WF_TRY(searches.emplace_back(), make_search(options, first + i, info().vocab));
    }
    WF_CHECK(model_.encode(tokens, lengths, *batch_, *pool_));
    WF_CHECK(run(model_, searches, *batch_, *pool_));
    for (const auto& search : searches) {
      std::vector<Translation>& results = all.emplace_back();
      for (BeamHypothesis& h : search->best())
        results.push_back(
            {tokenizer_ ? tokenizer_->decode(h.tokens) : "", std::move(h.tokens), h.score, h.ended});
    }
  }
  return all;
}

}  // namespace warpfold::engine
