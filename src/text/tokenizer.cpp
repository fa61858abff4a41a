// The tokenizer: finds special tokens, gives what lies between them to the model's encoder, and puts BOS and
// EOS around the result.
#include "warpfold/text/tokenizer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "text/bpe.h"
#include "text/special_tokens.h"
#include "text/spm.h"
#include "text/utf8.h"
#include "text/vocabulary.h"

namespace warpfold::text {

struct Tokenizer::Impl {
  Vocabulary vocabulary;
  std::optional<ByteLevelBpe> bpe;  // none: SentencePiece
  SpecialTokens user_defined;       // recognised in any text
  SpecialTokens control;            // recognised where special tokens are parsed

  void index_special();
  std::vector<SpecialMatch> find_special(std::string_view text, std::span<const std::size_t> bounds,
                                         std::span<const TextPart> parts) const;
  Status encode_plain(std::string_view text, bool space_prefix, std::vector<TokenId>& out) const;
  std::string piece(TokenId id, bool special) const;
};

void Tokenizer::Impl::index_special() {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const TokenType type = vocabulary.types[static_cast<std::size_t>(id)];
    const std::string_view text = vocabulary.texts[static_cast<std::size_t>(id)];
    if (type == TokenType::kUserDefined) user_defined.add(text, id);
    if (type == TokenType::kControl || type == TokenType::kUnknown) control.add(text, id);
  }
  user_defined.finish();
  control.finish();
}

// The longest special token at each byte of `text`, which is the parts one after another; part p is
// [bounds[p], bounds[p + 1]).
std::vector<SpecialMatch> Tokenizer::Impl::find_special(std::string_view text,
                                                        std::span<const std::size_t> bounds,
                                                        std::span<const TextPart> parts) const {
  std::vector<SpecialMatch> best(text.size());
  if (!user_defined.empty()) user_defined.scan(text, best);
  if (control.empty()) return best;
  for (std::size_t p = 0; p < parts.size();) {
    std::size_t end = p;
    while (end < parts.size() && parts[end].parse_special) ++end;
    if (end > p) {
      const std::size_t begin = bounds[p], size = bounds[end] - begin;
      control.scan(text.substr(begin, size), std::span(best).subspan(begin, size));
    }
    p = std::max(end, p + 1);
  }
  return best;
}

Status Tokenizer::Impl::encode_plain(std::string_view text, bool space_prefix,
                                     std::vector<TokenId>& out) const {
  if (text.empty()) return {};
  if (bpe) return bpe->encode(text, vocabulary, out);
  return encode_sentence_piece(text, space_prefix, vocabulary, out);
}

std::string Tokenizer::Impl::piece(TokenId id, bool special) const {
  if (!vocabulary.contains(id)) return {};
  const std::string_view text = vocabulary.texts[static_cast<std::size_t>(id)];
  switch (vocabulary.types[static_cast<std::size_t>(id)]) {
    case TokenType::kControl:
    case TokenType::kUnknown:
      return std::string(special ? text : std::string_view());
    case TokenType::kUserDefined:
      return std::string(text);
    case TokenType::kByte:
      // The form <0xXX> was checked when the vocabulary was read.
      return std::string(1, static_cast<char>(std::stoi(std::string(text.substr(3, 2)), nullptr, 16)));
    case TokenType::kUndefined:
    case TokenType::kNormal:
    case TokenType::kUnused:
      break;
  }
  return bpe ? byte_level_bytes(text) : sentence_piece_text(text);
}

Result<Tokenizer> Tokenizer::from_gguf(const formats::Gguf& file) {
  auto impl = std::make_unique<Impl>();
  WF_TRY(impl->vocabulary, load_vocabulary(file));
  if (impl->vocabulary.model == TokenizerModel::kByteLevelBpe) {
    WF_TRY(impl->bpe, ByteLevelBpe::make(file, impl->vocabulary));
  }
  impl->index_special();
  return Tokenizer(std::move(impl));
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  const TextPart part{text, options.parse_special};
  return encode(std::span(&part, 1), options);
}

Result<std::vector<TokenId>> Tokenizer::encode(std::span<const TextPart> parts, EncodeOptions options) const {
  const Vocabulary& vocabulary = impl_->vocabulary;
  std::string text;
  std::vector<std::size_t> bounds{0};
  for (const TextPart& part : parts) {
    text += to_valid_utf8(part.text);  // each alone: halves of a character never join across parts
    bounds.push_back(text.size());
  }
  const std::vector<SpecialMatch> special = impl_->find_special(text, bounds, parts);

  std::vector<TokenId> ids;
  const bool wants_bos = options.add_bos && vocabulary.add_bos && vocabulary.bos != kNoToken;
  if (wants_bos) ids.push_back(vocabulary.bos);
  std::size_t plain = 0;  // where the text that is not yet encoded begins
  bool space_prefix = vocabulary.add_space_prefix;
  const auto flush = [&](std::size_t end) {
    return impl_->encode_plain(std::string_view(text).substr(plain, end - plain), space_prefix, ids);
  };
  for (std::size_t at = 0; at < text.size();) {
    const SpecialMatch match = special[at];
    if (match.id == kNoToken) {
      ++at;
      continue;
    }
    WF_CHECK(flush(at));
    const bool doubled_bos =
        wants_bos && match.id == vocabulary.bos && ids.size() == 1 && ids[0] == vocabulary.bos;
    if (!doubled_bos) ids.push_back(match.id);
    space_prefix = vocabulary.add_space_prefix &&
                   vocabulary.types[static_cast<std::size_t>(match.id)] != TokenType::kUserDefined;
    at += match.length;
    plain = at;
  }
  WF_CHECK(flush(text.size()));
  const bool wants_eos = options.add_eos && vocabulary.add_eos && vocabulary.eos != kNoToken;
  if (wants_eos && (ids.empty() || ids.back() != vocabulary.eos)) ids.push_back(vocabulary.eos);
  return ids;
}

std::string Tokenizer::piece(TokenId id, bool special) const { return impl_->piece(id, special); }

std::string Tokenizer::decode(std::span<const TokenId> ids, bool special) const {
  const Vocabulary& vocabulary = impl_->vocabulary;
  Utf8Stream stream;
  std::string text;
  bool prefixed = vocabulary.add_space_prefix;  // the next piece may begin with the encoder's space
  for (const TokenId id : ids) {
    std::string piece = impl_->piece(id, special);
    const TokenType type =
        vocabulary.contains(id) ? vocabulary.types[static_cast<std::size_t>(id)] : TokenType::kUndefined;
    if (prefixed && type == TokenType::kNormal && piece.starts_with(' ')) piece.erase(0, 1);
    prefixed = vocabulary.add_space_prefix && (type == TokenType::kControl || type == TokenType::kUnknown);
    text += stream.push(piece);
  }
  return text + stream.finish();
}

std::int32_t Tokenizer::vocab_size() const { return impl_->vocabulary.size(); }
TokenId Tokenizer::bos() const { return impl_->vocabulary.bos; }
TokenId Tokenizer::eos() const { return impl_->vocabulary.eos; }

bool Tokenizer::is_end_of_generation(TokenId id) const {
  const auto& ends = impl_->vocabulary.end_of_generation;
  return std::binary_search(ends.begin(), ends.end(), id);
}

std::string_view Tokenizer::token_text(TokenId id) const {
  return impl_->vocabulary.contains(id) ? impl_->vocabulary.texts[static_cast<std::size_t>(id)]
                                        : std::string_view();
}

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

}  // namespace warpfold::text
