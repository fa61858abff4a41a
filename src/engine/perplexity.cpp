// The second half of a chunk is evaluated in blocks, so that its logits (context/2, vocab) never exist at
// once.
#include "warpfold/engine/perplexity.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

namespace warpfold::engine {
namespace {

constexpr std::int64_t kLogitsAtOnce = std::int64_t{1} << 22;  // floats: 16 MiB

// -log softmax(logits)[target], logits (vocab).
double negative_log_likelihood(std::span<const float> logits, TokenId target) {
  const float max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - max);
  return std::log(sum) - (logits[static_cast<std::size_t>(target)] - max);
}

// Sums of the losses of single tokens.
struct Losses {
  double sum = 0, sum_of_squares = 0;
  std::int64_t count = 0;

  double mean() const { return sum / static_cast<double>(count); }
  double perplexity() const { return std::exp(mean()); }
  double standard_error() const {  // of exp(mean), to first order
    if (count < 2) return 0;
    const double n = static_cast<double>(count);
    const double variance = std::max(0.0, sum_of_squares / n - mean() * mean());
    return std::sqrt(variance / (n - 1)) * perplexity();
  }
};

class Scorer {
 public:
  Scorer(const Model& model, std::int64_t context)
      : model_(model),
        vocab_(model.info().vocab),
        block_(std::clamp<std::int64_t>(kLogitsAtOnce / vocab_, 1, context)),
        logits_(static_cast<std::size_t>(block_ * vocab_)),
        losses_(static_cast<std::size_t>(block_)) {}

  // chunk (context): the tokens as evaluated, BOS included.
  Status score(std::span<const TokenId> chunk, models::KvCache& cache, Losses& total) {
    const std::lock_guard lock(model_.compute_lock());
    models::Decoder::truncate(cache, 0);
    const std::size_t first = chunk.size() / 2;
    WF_CHECK(model_.decoder().forward(chunk.first(first), cache, row(0), 1, model_.pool()));
    for (std::size_t at = first; at + 1 < chunk.size();) {
      const std::size_t n = std::min(static_cast<std::size_t>(block_), chunk.size() - 1 - at);
      const auto rows = std::span(logits_).first(n * static_cast<std::size_t>(vocab_));
      WF_CHECK(model_.decoder().forward(chunk.subspan(at, n), cache, rows, static_cast<std::int64_t>(n),
                                        model_.pool()));
      WF_CHECK(add_losses(chunk.subspan(at + 1, n), total));
      at += n;
    }
    return {};
  }

 private:
  std::span<float> row(std::size_t i) {
    const auto vocab = static_cast<std::size_t>(vocab_);
    return std::span(logits_).subspan(i * vocab, vocab);
  }

  Status add_losses(std::span<const TokenId> targets, Losses& total) {
    model_.pool().parallel_for(static_cast<std::int64_t>(targets.size()), [&](std::int64_t i, int) {
      const auto at = static_cast<std::size_t>(i);
      losses_[at] = negative_log_likelihood(row(at), targets[at]);
    });
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (!std::isfinite(losses_[i]))
        return fail(
            ErrorCode::kInvalidArgument,
            fmt::format("the loss of token {} is {}: the model's logits are broken", targets[i], losses_[i]));
      total.sum += losses_[i];
      total.sum_of_squares += losses_[i] * losses_[i];
    }
    total.count += static_cast<std::int64_t>(targets.size());
    return {};
  }

  const Model& model_;
  std::int64_t vocab_;
  std::int64_t block_;          // positions whose logits are kept at once
  std::vector<float> logits_;   // (block, vocab)
  std::vector<double> losses_;  // (block)
};

}  // namespace

Result<Perplexity> perplexity(const Model& model, std::span<const TokenId> tokens,
                              const PerplexityOptions& options) {
  const std::int64_t context = options.context;
  if (context < 3 || context > model.info().context)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a context of {} tokens is not possible; perplexity needs 3 to {}", context,
                            model.info().context));
  WF_CHECK(model.check_ids(tokens));
  std::int64_t chunks = static_cast<std::int64_t>(tokens.size()) / context;
  if (chunks == 0)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the text has {} tokens, one chunk needs {}", tokens.size(), context));
  if (options.max_chunks > 0) chunks = std::min(chunks, options.max_chunks);

  WF_TRY(const auto cache, model.decoder().make_cache(context, options.kv));
  Scorer scorer(model, context);
  Losses losses;
  std::vector<TokenId> chunk;
  for (std::int64_t i = 0; i < chunks; ++i) {
    const auto source =
        tokens.subspan(static_cast<std::size_t>(i * context), static_cast<std::size_t>(context));
    chunk.assign(source.begin(), source.end());
    if (model.added_bos() != text::kNoToken) chunk.front() = model.added_bos();
    WF_CHECK(scorer.score(chunk, *cache, losses));
    if (options.progress && !options.progress(i + 1, chunks, losses.perplexity()))
      return fail(ErrorCode::kCancelled, fmt::format("stopped after chunk {} of {}", i + 1, chunks));
  }
  return Perplexity{losses.perplexity(), losses.standard_error(), chunks, losses.count};
}

}  // namespace warpfold::engine
