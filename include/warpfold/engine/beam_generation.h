// Beam search over a decoder-only model: the likeliest continuations of a prompt.
#pragma once

#include <span>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/engine/beam_search.h"
#include "warpfold/engine/model.h"

namespace warpfold::engine {

// The n_best continuations, the best first; where `options` names no ends, the tokenizer's end-of-generation
// tokens count. Each hypothesis has keys and values of its own; a step reads the weights once for all of
// them. Errors: kInvalidArgument for an empty prompt, one that leaves no room in the context for max_tokens,
// an id outside the vocabulary, an option out of range; what the decoder finds.
Result<std::vector<BeamHypothesis>> generate_beams(const Model& model, std::span<const TokenId> prompt,
                                                   BeamOptions options,
                                                   models::KvType kv = models::KvType::kF16);

}  // namespace warpfold::engine
