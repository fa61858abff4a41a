#include "warpfold/text/wordpiece.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "text/json_fields.h"
#include "text/utf8.h"
#include "warpfold/core/memory_map.h"

namespace warpfold::text {
namespace {

using Json = nlohmann::json;

bool is_space(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return c == ' ' || (c >= 9 && c <= 13) || c == 0x85 || category == UTF8PROC_CATEGORY_ZS ||
         category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

// Control, format, unassigned and private characters, but the white space among them.
bool is_removed(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return c == 0 || c == 0xFFFD || category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CN || category == UTF8PROC_CATEGORY_CO;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80)
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

// The blocks of CJK ideographs, as BERT lists them.
bool is_chinese(char32_t c) {
  struct Block {
    char32_t first, last;
  };
  constexpr std::array kBlocks{Block{0x4E00, 0x9FFF},   Block{0x3400, 0x4DBF},   Block{0x20000, 0x2A6DF},
                               Block{0x2A700, 0x2B73F}, Block{0x2B740, 0x2B81F}, Block{0x2B920, 0x2CEAF},
                               Block{0xF900, 0xFAFF},   Block{0x2F800, 0x2FA1F}};
  return std::any_of(kBlocks.begin(), kBlocks.end(), [c](Block b) { return c >= b.first && c <= b.last; });
}

// Calls body with the canonical decomposition of c, without the marks that stand over or under letters.
template <class Body>
void without_accents(char32_t c, Body body) {
  std::array<utf8proc_int32_t, 32> parts;
  int boundary = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(), parts.size(),
                                             UTF8PROC_DECOMPOSE, &boundary);
  for (utf8proc_ssize_t i = 0; i < std::min<utf8proc_ssize_t>(count, parts.size()); ++i)
    if (utf8proc_category(parts[static_cast<std::size_t>(i)]) != UTF8PROC_CATEGORY_MN)
      body(static_cast<char32_t>(parts[static_cast<std::size_t>(i)]));
}

std::int64_t characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

}  // namespace

Result<WordPiece> WordPiece::open(const std::string& path) {
  WF_TRY(const MemoryMap map, MemoryMap::open(path));
  return parse({reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size()}, path);
}

Result<WordPiece> WordPiece::parse(std::string_view text, const std::string& name) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) return fail(ErrorCode::kBadFile, name + ": not a JSON object");
  const Json* model = child(json, "model");
  const std::string type = string_or(model, "type", "");
  if (type != "WordPiece")
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: model.type is \"{}\"; WordPiece is supported", name, type));
  const Json* normalizer = child(json, "normalizer");
  const std::string cleaner = string_or(normalizer, "type", "");
  if (cleaner != "BertNormalizer")
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: normalizer.type is \"{}\"; BertNormalizer is supported", name, cleaner));

  WordPiece out;
  out.clean_ = flag_or(normalizer, "clean_text", true);
  out.chinese_ = flag_or(normalizer, "handle_chinese_chars", true);
  out.lower_ = flag_or(normalizer, "lowercase", true);
  out.strip_accents_ = flag_or(normalizer, "strip_accents", out.lower_);
  out.prefix_ = string_or(model, "continuing_subword_prefix", "##");
  if (const Json* longest = child(*model, "max_input_chars_per_word");
      longest && longest->is_number_unsigned())
    out.longest_word_ = longest->get<std::int64_t>();

  const Json* vocab = child(*model, "vocab");
  if (!vocab || !vocab->is_object() || vocab->empty())
    return fail(ErrorCode::kBadFile, name + ": model.vocab is missing or empty");
  out.texts_.resize(vocab->size());
  out.ids_.reserve(vocab->size());
  for (const auto& [piece, id] : vocab->items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= vocab->size())
      return fail(ErrorCode::kBadFile,
                  fmt::format("{}: model.vocab: the id of \"{}\" is {}, but there are {} tokens", name, piece,
                              id.dump(), vocab->size()));
    std::string& slot = out.texts_[id.get<std::size_t>()];
    if (!slot.empty())
      return fail(ErrorCode::kBadFile, fmt::format("{}: model.vocab: \"{}\" and \"{}\" have the id {}", name,
                                                   slot, piece, id.dump()));
    slot = piece;
    out.ids_.emplace(piece, id.get<TokenId>());
  }
  const auto special = [&](const std::string& token, TokenId& id) -> Status {
    const auto found = out.ids_.find(token);
    if (found == out.ids_.end())
      return fail(ErrorCode::kBadFile, fmt::format("{}: model.vocab has no {}", name, token));
    id = found->second;
    return {};
  };
  WF_CHECK(special(string_or(model, "unk_token", "[UNK]"), out.unknown_));
  WF_CHECK(special("[CLS]", out.begin_));
  WF_CHECK(special("[SEP]", out.end_));
  // What stands in brackets is no text.
  for (const Json& added : json.value("added_tokens", Json::array()))
    if (flag_or(&added, "special", false)) out.ids_.erase(string_or(&added, "content", ""));
  return out;
}

std::vector<TokenId> WordPiece::encode(std::string_view text, std::int64_t max_tokens) const {
  std::vector<TokenId> ids{begin_};
  std::string word;
  const auto room = [&] { return static_cast<std::int64_t>(ids.size()) < max_tokens - 1; };
  const auto flush = [&] {
    if (!word.empty() && room()) append_word(word, ids);
    word.clear();
  };
  const auto take = [&](char32_t c) {  // one character of the cleaned text
    if (is_space(c)) return flush();
    const bool alone = is_punctuation(c) || (chinese_ && is_chinese(c));
    if (alone) flush();
    append_utf8(word, c);
    if (alone) flush();
  };
  const auto lower = [&](char32_t c) {
    take(lower_ ? static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))) : c);
  };
  for (std::size_t at = 0; at < text.size() && room();) {
    const Utf8Step step = next_utf8(text, at);
    at += step.length;
    if (clean_ && is_removed(step.code_point)) continue;
    if (strip_accents_)
      without_accents(step.code_point, lower);
    else
      lower(step.code_point);
  }
  flush();
  ids.resize(std::min(ids.size(), static_cast<std::size_t>(max_tokens - 1)));
  ids.push_back(end_);
  return ids;
}

void WordPiece::append_word(std::string_view word, std::vector<TokenId>& out) const {
  const std::size_t before = out.size();
  if (characters(word) > longest_word_) {
    out.push_back(unknown_);
    return;
  }
  std::string piece;
  for (std::size_t at = 0; at < word.size();) {
    piece = at > 0 ? prefix_ : std::string();
    const std::size_t head = piece.size();
    piece += word.substr(at);
    auto found = ids_.find(piece);
    while (found == ids_.end() && piece.size() > head + 1) {
      do piece.pop_back();
      while (piece.size() > head && at + piece.size() - head < word.size() &&
             (static_cast<unsigned char>(word[at + piece.size() - head]) & 0xC0) == 0x80);
      found = piece.size() > head ? ids_.find(piece) : ids_.end();
    }
    if (found == ids_.end()) {
      out.resize(before);
      out.push_back(unknown_);
      return;
    }
    at += piece.size() - head;
    out.push_back(found->second);
  }
}

std::string_view WordPiece::token_text(TokenId id) const {
  return id >= 0 && id < vocab_size() ? std::string_view(texts_[static_cast<std::size_t>(id)])
                                      : std::string_view();
}

}  // namespace warpfold::text
