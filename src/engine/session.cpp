#include "warpfold/engine/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "engine/text_stream.h"

namespace warpfold::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool is_set(const std::atomic<bool>* flag) { return flag && flag->load(std::memory_order_relaxed); }

std::int64_t ssize(std::span<const TokenId> tokens) { return static_cast<std::int64_t>(tokens.size()); }

// The text side of one answer; does nothing for a model without tokenizer.
class Answer {
 public:
  Answer(const text::Tokenizer* tokenizer, const GenerateOptions& options)
      : tokenizer_(tokenizer), options_(options), stream_(options.stop) {}

  bool ends_at(TokenId token) const { return tokenizer_ && tokenizer_->is_end_of_generation(token); }

  void push(TokenId token) {
    const std::string_view text = tokenizer_ ? stream_.push(tokenizer_->piece(token)) : std::string_view{};
    if (options_.on_token) options_.on_token(token, text);
  }

  bool stopped() const { return stream_.stopped(); }

  std::string finish() {
    const std::string_view rest = stream_.finish();
    if (options_.on_token && !rest.empty()) options_.on_token(text::kNoToken, rest);
    return stream_.take_text();
  }

 private:
  const text::Tokenizer* tokenizer_;
  const GenerateOptions& options_;
  TextStream stream_;
};

}  // namespace

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  return "?";
}

Session::Session(ModelPtr model, models::KvCachePtr cache, std::int64_t context)
    : model_(std::move(model)),
      cache_(std::move(cache)),
      context_(context),
      logits_(static_cast<std::size_t>(model_->info().vocab)) {
  tokens_.reserve(static_cast<std::size_t>(context));  // so that steps do not allocate
}

Result<Session> Session::create(ModelPtr model, const SessionOptions& options) {
  const std::int64_t trained = model->info().context;
  const std::int64_t context = options.context == 0 ? trained : options.context;
  if (context < 1 || context > trained)
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("a context of {} tokens is not possible; the model allows 1 to {}", context, trained));
  WF_TRY(auto cache, model->decoder().make_cache(context, options.kv));
  try {
    return Session(std::move(model), std::move(cache), context);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("out of memory for a session of {} tokens", context));
  }
}

Status Session::prefill(std::span<const TokenId> tokens, const PrefillProgress& progress,
                        const std::atomic<bool>* cancel) {
  if (tokens.empty()) return fail(ErrorCode::kInvalidArgument, "the prompt has no tokens");
  if (ssize(tokens) > context_)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the prompt has {} tokens, the context holds {}", tokens.size(), context_));
  WF_CHECK(model_->check_ids(tokens));

  // At least the last token is evaluated, for its logits.
  const auto differs = std::mismatch(tokens_.begin(), tokens_.end(), tokens.begin(), tokens.end()).second;
  const auto reused = std::min<std::int64_t>(differs - tokens.begin(), ssize(tokens) - 1);
  const std::lock_guard lock(model_->compute_lock());
  models::Decoder::truncate(*cache_, reused);
  const auto keep_going = [&](std::int64_t done) {
    if (progress) progress(done, ssize(tokens) - reused);
    return !is_set(cancel);
  };
  const Status status = model_->decoder().forward(tokens.subspan(static_cast<std::size_t>(reused)), *cache_,
                                                  logits_, 1, model_->pool(), keep_going);
  if (!status && status.error().code != ErrorCode::kCancelled) {
    clear();
    return status;
  }
  // A cancelled prefill keeps the chunks that were finished.
  const auto held = tokens.first(static_cast<std::size_t>(models::Decoder::length(*cache_)));
  tokens_.assign(held.begin(), held.end());
  return status;
}

Status Session::step(TokenId token) {
  WF_CHECK(model_->check_ids({&token, 1}));
  if (ssize(tokens_) >= context_)
    return fail(ErrorCode::kInvalidArgument, fmt::format("the context of {} tokens is full", context_));
  const std::lock_guard lock(model_->compute_lock());
  const Status status = model_->decoder().forward({&token, 1}, *cache_, logits_, 1, model_->pool());
  if (status)
    tokens_.push_back(token);
  else
    clear();
  return status;
}

void Session::clear() {
  models::Decoder::truncate(*cache_, 0);
  tokens_.clear();
}

Result<Generation> Session::generate(std::span<const TokenId> prompt, const GenerateOptions& options) {
  if (options.max_tokens < 0)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("max_tokens is {}; it must be at least 0", options.max_tokens));
  const auto tokenizer = model_->tokenizer();
  if (!options.stop.empty() && !tokenizer) return tl::unexpected(tokenizer.error());
  if (std::any_of(options.stop.begin(), options.stop.end(), [](const std::string& s) { return s.empty(); }))
    return fail(ErrorCode::kInvalidArgument, "a stop string is empty");
  WF_TRY(Sampler sampler, Sampler::create(options.sampling, model_->info().vocab));

  Generation result;
  const auto prefill_start = Clock::now();
  const auto count_prefill = [&](std::int64_t done, std::int64_t total) {
    result.timings.prefill_tokens = done;
    result.timings.reused_tokens = ssize(prompt) - total;
    if (options.on_prefill) options.on_prefill(done, total);
  };
  const Status prefilled = prefill(prompt, count_prefill, options.cancel);
  result.timings.prefill_seconds = seconds_since(prefill_start);
  if (!prefilled) {
    if (prefilled.error().code != ErrorCode::kCancelled) return tl::unexpected(prefilled.error());
    result.finish_reason = FinishReason::kCancelled;
    return result;
  }

  // The last token is not evaluated: nothing is to be predicted from it.
  const std::int64_t limit = std::min(options.max_tokens, context_ - ssize(prompt));
  result.tokens.reserve(static_cast<std::size_t>(std::min<std::int64_t>(limit, 4096)));
  Answer answer(tokenizer ? *tokenizer : nullptr, options);
  const auto decode_start = Clock::now();
  while (ssize(result.tokens) < limit) {
    if (is_set(options.cancel)) {
      result.finish_reason = FinishReason::kCancelled;
      break;
    }
    if (!result.tokens.empty()) {
      WF_CHECK(step(result.tokens.back()));
      ++result.timings.decode_steps;
    }
    const auto token = sampler.sample(logits_, tokens_);
    if (!token) {
      clear();
      return tl::unexpected(token.error());
    }
    if (answer.ends_at(*token)) {
      result.finish_reason = FinishReason::kStop;
      break;
    }
    result.tokens.push_back(*token);
    answer.push(*token);
    if (answer.stopped()) {
      result.finish_reason = FinishReason::kStop;
      break;
    }
  }
  result.timings.decode_seconds = seconds_since(decode_start);
  result.text = answer.finish();
  return result;
}

}  // namespace warpfold::engine
