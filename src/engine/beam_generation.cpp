#include "warpfold/engine/beam_generation.h"

#include <fmt/format.h>

#include <mutex>

namespace warpfold::engine {

Result<std::vector<BeamHypothesis>> generate_beams(const Model& model, std::span<const TokenId> prompt,
                                                   BeamOptions options, models::KvType kv) {
  const models::Decoder& decoder = model.decoder();
  const std::int64_t vocab = model.info().vocab, length = static_cast<std::int64_t>(prompt.size());
  if (prompt.empty()) return fail(ErrorCode::kInvalidArgument, "the prompt has no tokens");
  WF_CHECK(model.check_ids(prompt));
  if (const auto tokenizer = model.tokenizer(); tokenizer && options.ends.empty())
    for (TokenId id = 0; id < (*tokenizer)->vocab_size(); ++id)
      if ((*tokenizer)->is_end_of_generation(id)) options.ends.push_back(id);
  WF_TRY(BeamSearch search, BeamSearch::create(options, vocab));
  if (length + options.max_tokens > model.info().context)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} tokens of prompt and {} of answer do not fit the context of {}", length,
                            options.max_tokens, model.info().context));
  const auto make_cache = [&] { return decoder.make_cache(length + options.max_tokens, kv); };

  std::vector<models::KvCachePtr> caches(1), unused;  // of the open hypotheses; of those that were given up
  WF_TRY(caches[0], make_cache());
  std::vector<float> logits(static_cast<std::size_t>(vocab));
  {
    const std::lock_guard lock(model.compute_lock());
    WF_CHECK(decoder.forward(prompt, *caches[0], logits, 1, model.pool()));
  }
  std::vector<models::KvCache*> open;
  WF_CHECK(search.advance(logits));
  while (!search.done()) {
    // The first child of a parent takes over its cache, the others get copies, made before anything moves.
    std::vector<models::KvCachePtr> next(search.parents().size());
    std::vector<bool> taken(caches.size());
    std::vector<std::size_t> first_children;
    for (std::size_t i = 0; i < next.size(); ++i) {
      const auto parent = static_cast<std::size_t>(search.parents()[i]);
      if (!taken[parent]) {
        taken[parent] = true;
        first_children.push_back(i);
        continue;
      }
      if (unused.empty()) {
        WF_TRY(next[i], make_cache());
      } else {
        next[i] = std::move(unused.back());
        unused.pop_back();
      }
      WF_CHECK(models::Decoder::copy(*caches[parent], *next[i]));
    }
    for (const std::size_t i : first_children)
      next[i] = std::move(caches[static_cast<std::size_t>(search.parents()[i])]);
    for (models::KvCachePtr& cache : caches)
      if (cache) unused.push_back(std::move(cache));
    caches = std::move(next);
    open.clear();
    for (const models::KvCachePtr& cache : caches) open.push_back(cache.get());
    logits.resize(open.size() * static_cast<std::size_t>(vocab));
    {
      const std::lock_guard lock(model.compute_lock());
      WF_CHECK(decoder.step(search.tokens(), open, logits, model.pool()));
      WF_CHECK(search.advance(logits, &model.pool()));
    }
  }
  return search.best();
}

}  // namespace warpfold::engine
