#include "warpfold/text/unigram.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "text/json_fields.h"
#include "text/utf8.h"
#include "warpfold/core/memory_map.h"

namespace warpfold::text {
namespace {

using Json = nlohmann::json;
constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581

// The members of a "Sequence", or the object itself; none for null.
std::vector<const Json*> steps(const Json* object, const char* list) {
  if (!object) return {};
  const Json* members = string_or(object, "type", "") == "Sequence" ? child(*object, list) : nullptr;
  if (!members || !members->is_array()) return {object};
  std::vector<const Json*> out;
  for (const Json& member : *members) out.push_back(&member);
  return out;
}

// Unicode's NFKC, then what SentencePiece's nmt rules do beyond it: control characters go, white space
// becomes a space.
std::string nfkc(std::string_view text) {
  utf8proc_uint8_t* raw = nullptr;
  const auto size = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
      &raw, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_COMPAT | UTF8PROC_STABLE));
  std::string out;
  const std::string_view mapped(reinterpret_cast<const char*>(raw),
                                size < 0 ? 0 : static_cast<std::size_t>(size));
  for (std::size_t at = 0; at < mapped.size();) {
    const Utf8Step step = next_utf8(mapped, at);
    at += step.length;
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(step.code_point));
    const char32_t c = step.code_point;
    const bool space = c == '\t' || c == '\n' || c == '\r' || category == UTF8PROC_CATEGORY_ZS ||
                       category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
    if (space)
      out += ' ';
    else if (category != UTF8PROC_CATEGORY_CC && c != 0x200B && c != 0xFEFF && c != 0x00AD)
      append_utf8(out, c);
  }
  std::free(raw);
  return out;
}

}  // namespace

Result<Unigram> Unigram::open(const std::string& path) {
  WF_TRY(const MemoryMap map, MemoryMap::open(path));
  return parse({reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size()}, path);
}

Result<Unigram> Unigram::parse(std::string_view text, const std::string& name) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) return fail(ErrorCode::kBadFile, name + ": not a JSON object");
  const Json* model = child(json, "model");
  if (const std::string type = string_or(model, "type", ""); type != "Unigram")
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: model.type is \"{}\"; Unigram is supported", name, type));
  if (flag_or(model, "byte_fallback", false))
    return fail(ErrorCode::kUnsupported, name + ": byte_fallback is not supported");

  Unigram out;
  for (const Json* step : steps(child(json, "normalizer"), "normalizers")) {
    const std::string type = string_or(step, "type", "");
    if (type != "Precompiled" && type != "NFKC")
      return fail(ErrorCode::kUnsupported, fmt::format("{}: normalizer \"{}\" is not supported", name, type));
    out.normalise_ = true;
  }
  for (const Json* step : steps(child(json, "pre_tokenizer"), "pretokenizers")) {
    const std::string type = string_or(step, "type", "");
    if (type == "WhitespaceSplit") {
      out.split_ = true;
    } else if (type == "Metaspace") {
      out.prefix_ = string_or(step, "prepend_scheme",
                              flag_or(step, "add_prefix_space", true) ? "always" : "never") != "never";
    } else {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("{}: pre_tokenizer \"{}\" is not supported", name, type));
    }
  }

  const Json* vocab = child(*model, "vocab");
  if (!vocab || !vocab->is_array() || vocab->empty())
    return fail(ErrorCode::kBadFile, name + ": model.vocab is missing or empty");
  double lowest = 0;
  for (const Json& entry : *vocab) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number() ||
        !(std::abs(entry[1].get<double>()) <= 1e6))
      return fail(ErrorCode::kBadFile,
                  fmt::format("{}: model.vocab: entry {} is no pair of a piece and its score", name,
                              out.pieces_.size()));
    out.pieces_.push_back({entry[0].get<std::string>(), entry[1].get<double>(), false});
    lowest = std::min(lowest, out.pieces_.back().score);
  }
  out.unknown_score_ = lowest - 10;  // SentencePiece's penalty of an unknown character
  const auto size = static_cast<std::int64_t>(out.pieces_.size());
  const auto checked = [&](const Json* id, const std::string& field, TokenId& value) -> Status {
    if (!id || !id->is_number_unsigned() || id->get<std::uint64_t>() >= static_cast<std::uint64_t>(size))
      return fail(ErrorCode::kBadFile, fmt::format("{}: {} is {}, but there are {} tokens", name, field,
                                                   id ? id->dump() : "missing", size));
    value = id->get<TokenId>();
    return {};
  };
  WF_CHECK(checked(child(*model, "unk_id"), "model.unk_id", out.unknown_));
  out.pieces_[static_cast<std::size_t>(out.unknown_)].control = true;
  for (const Json& added : json.value("added_tokens", Json::array())) {
    if (!flag_or(&added, "special", false)) continue;
    TokenId id = kNoToken;
    WF_CHECK(checked(child(added, "id"), "the id of an added token", id));
    out.pieces_[static_cast<std::size_t>(id)].control = true;
  }
  for (std::size_t i = 0; i < out.pieces_.size(); ++i) {
    const Piece& piece = out.pieces_[i];
    if (piece.control || piece.text.empty()) continue;
    out.ids_.emplace(piece.text, static_cast<TokenId>(i));
    out.longest_ = std::max(out.longest_, piece.text.size());
  }
  // What follows the sequence in the template: [..., {"Sequence": ...}, {"SpecialToken": {"id": "</s>"}}].
  const Json* post = child(json, "post_processor");
  bool after = false;
  for (const Json& part : post ? post->value("single", Json::array()) : Json::array()) {
    if (part.is_object() && part.contains("Sequence")) after = true;
    const Json* special = child(part, "SpecialToken");
    if (!after || !special) continue;
    const std::string token = string_or(special, "id", "");
    const auto found =
        std::find_if(out.pieces_.begin(), out.pieces_.end(), [&](const Piece& p) { return p.text == token; });
    if (found == out.pieces_.end())
      return fail(ErrorCode::kBadFile,
                  fmt::format("{}: post_processor: \"{}\" is not in the vocabulary", name, token));
    out.suffix_.push_back(static_cast<TokenId>(found - out.pieces_.begin()));
  }
  return out;
}

std::vector<TokenId> Unigram::encode(std::string_view raw) const {
  const std::string text = normalise_ ? nfkc(to_valid_utf8(raw)) : to_valid_utf8(raw);
  std::vector<TokenId> ids;
  std::string word;  // spaces written as U+2581
  const auto flush = [&] {
    if (!word.empty()) append_pieces(word, ids);
    word.clear();
  };
  // Where the file splits at white space, each word is cut alone; otherwise the text as a whole.
  bool beginning = true;
  for (const char c : text) {
    const bool space = c == ' ';
    if (split_ && (space || (c >= '\t' && c <= '\r'))) {
      flush();
      beginning = true;
      continue;
    }
    if (beginning && prefix_ && !space) word += kSpace;
    beginning = false;
    if (space)
      word += kSpace;
    else
      word += c;
  }
  flush();
  ids.insert(ids.end(), suffix_.begin(), suffix_.end());
  return ids;
}

// best[i]: the largest sum of the pieces of text[0, i), and the piece that ends there.
void Unigram::append_pieces(std::string_view text, std::vector<TokenId>& out) const {
  struct Node {
    double sum = -std::numeric_limits<double>::infinity();
    std::size_t begin = 0;
    TokenId id = kNoToken;
  };
  std::vector<Node> best(text.size() + 1);
  best[0].sum = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t character = next_utf8(text, at).length;
    bool single = false;
    for (std::size_t n = 1; n <= std::min(longest_, text.size() - at); ++n) {
      const auto found = ids_.find(text.substr(at, n));
      if (found == ids_.end()) continue;
      single |= n == character;
      const double sum = best[at].sum + pieces_[static_cast<std::size_t>(found->second)].score;
      if (sum > best[at + n].sum) best[at + n] = {sum, at, found->second};
    }
    if (const double sum = best[at].sum + unknown_score_; !single && sum > best[at + character].sum)
      best[at + character] = {sum, at, unknown_};
    at += character;
  }
  const std::size_t first = out.size();
  for (std::size_t at = text.size(); at > 0; at = best[at].begin)
    if (best[at].id != unknown_ || out.size() == first || out.back() != unknown_) out.push_back(best[at].id);
  std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
}

std::string Unigram::decode(std::span<const TokenId> ids) const {
  std::string out;
  for (const TokenId id : ids) {
    if (id < 0 || id >= vocab_size() || pieces_[static_cast<std::size_t>(id)].control) continue;
    std::string_view piece = token_text(id);
    for (std::size_t at = piece.find(kSpace); at != std::string_view::npos; at = piece.find(kSpace)) {
      out += piece.substr(0, at);
      out += ' ';
      piece.remove_prefix(at + kSpace.size());
    }
    out += piece;
  }
  return prefix_ && out.starts_with(' ') ? out.substr(1) : out;
}

std::string_view Unigram::token_text(TokenId id) const {
  return id >= 0 && id < vocab_size() ? std::string_view(pieces_[static_cast<std::size_t>(id)].text)
                                      : std::string_view();
}

}  // namespace warpfold::text
