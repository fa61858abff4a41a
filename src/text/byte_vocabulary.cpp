#include "warpfold/text/byte_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/bpe.h"
#include "text/json_fields.h"
#include "text/utf8.h"
#include "warpfold/core/memory_map.h"

namespace warpfold::text {

using Json = nlohmann::json;

Result<ByteVocabulary> ByteVocabulary::open(const std::string& path) {
  WF_TRY(const MemoryMap map, MemoryMap::open(path));
  return parse({reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size()}, path);
}

Result<ByteVocabulary> ByteVocabulary::parse(std::string_view text, const std::string& name) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) return fail(ErrorCode::kBadFile, name + ": not a JSON object");
  const Json* model = child(json, "model");
  const std::string type = string_or(model, "type", ""),
                    decoder = string_or(child(json, "decoder"), "type", "");
  if (type != "BPE" || decoder != "ByteLevel")
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("{}: model.type is \"{}\" and decoder.type \"{}\"; BPE and ByteLevel are supported", name,
                    type, decoder));
  const Json* vocab = child(*model, "vocab");
  const Json added = json.value("added_tokens", Json::array());
  if (!vocab || !vocab->is_object() || vocab->empty() || !added.is_array())
    return fail(ErrorCode::kBadFile, name + ": model.vocab is missing or empty, or added_tokens is no list");

  ByteVocabulary out;
  const std::size_t most = vocab->size() + added.size();
  const auto place = [&](const Json* id, const std::string& token, std::size_t& at) -> Status {
    if (!id || !id->is_number_unsigned() || id->get<std::uint64_t>() >= most)
      return fail(ErrorCode::kBadFile, fmt::format("{}: the id of \"{}\" is {}, but there are {} tokens",
                                                   name, token, id ? id->dump() : "missing", most));
    at = id->get<std::size_t>();
    if (out.bytes_.size() <= at) out.bytes_.resize(at + 1);
    return {};
  };
  std::size_t at = 0;
  for (const auto& [piece, id] : vocab->items()) {
    WF_CHECK(place(&id, piece, at));
    out.bytes_[at] = byte_level_bytes(piece);
  }
  for (const Json& token : added) {
    const std::string content = string_or(&token, "content", "");
    WF_CHECK(place(child(token, "id"), content, at));
    const bool special = flag_or(&token, "special", false);
    out.bytes_[at] = special ? "" : content;
    if (special) out.control_.emplace(content, static_cast<TokenId>(at));
  }
  return out;
}

std::string ByteVocabulary::decode(std::span<const TokenId> ids) const {
  std::string bytes;
  for (const TokenId id : ids)
    if (id >= 0 && id < vocab_size()) bytes += bytes_[static_cast<std::size_t>(id)];
  return to_valid_utf8(bytes);
}

TokenId ByteVocabulary::control(std::string_view text) const {
  const auto found = control_.find(std::string(text));
  return found == control_.end() ? kNoToken : found->second;
}

}  // namespace warpfold::text
