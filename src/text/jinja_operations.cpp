// What several builtins and the evaluator share: look-ups, order, iteration, and operations on marked
// strings.
#include <algorithm>

#include <fmt/format.h>
#include <utf8proc.h>

#include "text/jinja_builtins.h"
#include "text/jinja_lexer.h"
#include "text/utf8.h"

namespace warpfold::text::jinja {
namespace {

std::string quote(const Value& key) {
  if (const Text* text = key.text()) return fmt::format("'{}'", text->bytes);
  if (const std::int64_t* i = key.integer()) return fmt::format("{}", *i);
  return fmt::format("of type {}", key.type_name());
}

}  // namespace

Result<std::vector<const Value*>> bind_arguments(const Work& work, const Builtin& builtin,
                                                 std::span<const Value> positional,
                                                 std::span<const std::pair<std::string, Value>> named) {
  std::vector<const Value*> bound;
  if (builtin.parameters == "*") {
    if (!named.empty())
      return work.error(ErrorCode::kUnsupported, fmt::format("the argument '{}' of '{}' is not supported",
                                                             named[0].first, builtin.name));
    for (const Value& value : positional) bound.push_back(&value);
  } else {
    std::vector<std::string_view> names;
    for (std::string_view rest = builtin.parameters; !rest.empty();) {
      const std::size_t comma = rest.find(',');
      names.push_back(rest.substr(0, comma));
      rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    }
    if (positional.size() > names.size())
      return work.error(fmt::format("'{}' takes at most {} arguments, not {}", builtin.name, names.size(),
                                    positional.size()));
    bound.assign(names.size(), nullptr);
    for (std::size_t i = 0; i < positional.size(); ++i) bound[i] = &positional[i];
    for (const auto& [name, value] : named) {
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end())
        return work.error(ErrorCode::kUnsupported,
                          fmt::format("the argument '{}' of '{}' is not supported", name, builtin.name));
      const auto index = static_cast<std::size_t>(found - names.begin());
      if (bound[index])
        return work.error(fmt::format("'{}' got its argument '{}' twice", builtin.name, name));
      bound[index] = &value;
    }
  }
  for (std::size_t i = 0; i < builtin.required; ++i)
    if (i >= bound.size() || !bound[i])
      return work.error(fmt::format("'{}' needs {} arguments", builtin.name, builtin.required));
  return bound;
}

std::vector<std::size_t> character_bounds(std::string_view text) {
  std::vector<std::size_t> bounds;
  for (std::size_t at = 0; at < text.size(); at += next_utf8(text, at).length) bounds.push_back(at);
  bounds.push_back(text.size());
  return bounds;
}

Result<Value> get_item(Work& work, const Value& subject, const Value& key) {
  if (const auto* undefined = std::get_if<Undefined>(&subject.data)) return work.error(undefined->what);
  if (const Dict* dict = subject.dict()) {
    WF_CHECK(work.steps(dict->items.size() / 16));
    if (const Value* found = key.text() ? dict->find(key.text()->bytes) : nullptr) return *found;
  } else if (Namespace* names = subject.names()) {
    WF_CHECK(work.steps(names->items.size() / 16));
    if (const Value* found = key.text() ? names->find(key.text()->bytes) : nullptr) return *found;
  } else if (std::int64_t index = 0; key.to_integer(index)) {
    if (const List* list = subject.list()) {
      const auto size = static_cast<std::int64_t>(list->items.size());
      if (index < 0) index += size;
      if (index >= 0 && index < size) return list->items[static_cast<std::size_t>(index)];
    } else if (const Text* text = subject.text()) {
      WF_CHECK(work.steps(text->bytes.size() / 16));
      const std::vector<std::size_t> bounds = character_bounds(text->bytes);
      const auto size = static_cast<std::int64_t>(bounds.size()) - 1;
      if (index < 0) index += size;
      if (index >= 0 && index < size) {
        const auto i = static_cast<std::size_t>(index);
        return make_text(work, text->slice(bounds[i], bounds[i + 1] - bounds[i]));
      }
    }
  }
  return Value::undefined(
      fmt::format("a value of type {} has no attribute or item {}", subject.type_name(), quote(key)));
}

Result<bool> contains(Work& work, const Value& container, const Value& item) {
  if (const Text* text = container.text()) {
    if (!item.text())
      return work.error(fmt::format("'in' a string needs a string, not {}", item.type_name()));
    WF_CHECK(work.bytes(text->bytes.size()));
    return text->bytes.find(item.text()->bytes) != std::string::npos;
  }
  if (const Dict* dict = container.dict()) {
    WF_CHECK(work.steps(dict->items.size()));
    return item.text() && dict->find(item.text()->bytes);
  }
  if (const List* list = container.list()) {
    for (const Value& each : list->items) {
      WF_TRY(const bool same, equal(work, each, item));
      if (same) return true;
    }
    return false;
  }
  if (container.is_undefined()) return false;
  return work.error(fmt::format("'in' needs a string, list or mapping, not {}", container.type_name()));
}

Result<bool> ordered(Work& work, std::string_view op, const Value& a, const Value& b) {
  int order = 0;
  std::int64_t x = 0, y = 0;
  if (a.to_integer(x) && b.to_integer(y)) {
    order = x < y ? -1 : x > y ? 1 : 0;
  } else if (a.text() && b.text()) {
    WF_CHECK(work.bytes(std::min(a.text()->bytes.size(), b.text()->bytes.size())));
    order = a.text()->bytes.compare(b.text()->bytes);  // bytes of UTF-8 sort as their code points do
  } else if (a.list() && b.list()) {
    return work.error(ErrorCode::kUnsupported, "the order of lists is not supported");
  } else {
    return work.error(fmt::format("'{}' between {} and {}", op, a.type_name(), b.type_name()));
  }
  return op == "<" ? order < 0 : op == "<=" ? order <= 0 : op == ">" ? order > 0 : order >= 0;
}

Result<std::vector<Value>> iterate(Work& work, const Value& value) {
  std::vector<Value> items;
  if (const List* list = value.list()) {
    WF_CHECK(work.steps(list->items.size()));
    items = list->items;
  } else if (const Dict* dict = value.dict()) {
    WF_CHECK(work.steps(dict->items.size()));
    for (const auto& item : dict->items) items.push_back(Value::of(item.first));
  } else if (const Text* text = value.text()) {
    WF_CHECK(work.steps(text->bytes.size()));
    const std::vector<std::size_t> bounds = character_bounds(text->bytes);
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i)
      items.push_back(Value::of(text->slice(bounds[i], bounds[i + 1] - bounds[i])));
  } else if (!value.is_undefined()) {
    return work.error(fmt::format("a value of type {} has no items", value.type_name()));
  }
  return items;
}

Result<Value> strip(Work& work, const Text& text, const Value* characters, bool left, bool right) {
  WF_CHECK(work.bytes(text.bytes.size()));
  std::string_view view = text.bytes;
  if (!characters || characters->is_none()) {
    if (left) view = strip_left(view);
    if (right) view = strip_right(view);
  } else {
    if (!characters->text()) return work.error("strip needs a string of characters");
    const std::string& set = characters->text()->bytes;
    const std::vector<std::size_t> bounds = character_bounds(view);
    const auto in_set = [&](std::size_t i) {
      return set.find(text.bytes.substr(bounds[i], bounds[i + 1] - bounds[i])) != std::string::npos;
    };
    std::size_t begin = 0, end = bounds.size() - 1;
    WF_CHECK(work.steps(end * (set.size() + 1) / 16));
    while (left && begin < end && in_set(begin)) ++begin;
    while (right && end > begin && in_set(end - 1)) --end;
    view = view.substr(bounds[begin], bounds[end] - bounds[begin]);
  }
  return make_text(work, text.slice(static_cast<std::size_t>(view.data() - text.bytes.data()), view.size()));
}

Result<Value> replace(Work& work, const Text& text, const Text& from, const Text& to, std::int64_t limit) {
  Text out;
  std::size_t at = 0;
  const auto copy_to = [&](std::size_t end) -> Status {
    WF_CHECK(work.bytes(end - at));
    out.append(text.slice(at, end - at));
    at = end;
    return {};
  };
  const auto insert = [&]() -> Status {
    WF_CHECK(work.bytes(to.bytes.size() + 1));
    out.append(to);
    return {};
  };
  if (from.bytes.empty()) {  // before each character and at the end, as Python does
    for (const std::size_t bound : character_bounds(text.bytes)) {
      WF_CHECK(copy_to(bound));
      if (limit-- != 0) WF_CHECK(insert());
    }
  } else {
    for (; limit != 0; --limit) {
      const std::size_t found = text.bytes.find(from.bytes, at);
      if (found == std::string::npos) break;
      WF_CHECK(copy_to(found));
      WF_CHECK(insert());
      at = found + from.bytes.size();
    }
  }
  WF_CHECK(copy_to(text.bytes.size()));
  return Value::of(std::move(out));
}

Result<Value> dict_items(Work& work, const Dict& dict) {
  std::vector<Value> pairs;
  for (const auto& [key, value] : dict.items) {
    WF_TRY(Value pair, make_list(work, {Value::of(key), value}, true));
    pairs.push_back(std::move(pair));
  }
  return make_list(work, std::move(pairs));
}

Result<Value> change_case(Work& work, const Text& text, CaseChange change) {
  Text out;
  for (std::size_t at = 0; at < text.bytes.size();) {
    const Utf8Step step = next_utf8(text.bytes, at);
    const auto c = static_cast<utf8proc_int32_t>(step.code_point);
    const bool first = at == 0 && change == CaseChange::kCapitalize;
    const utf8proc_int32_t mapped = change == CaseChange::kUpper ? utf8proc_toupper(c)
                                    : first                      ? utf8proc_totitle(c)
                                                                 : utf8proc_tolower(c);
    std::string character;
    append_utf8(character, static_cast<char32_t>(mapped));
    out.append(character, text.origins[at]);
    at += step.length;
  }
  return make_text(work, std::move(out));
}

bool is_python_method(const Value& subject, std::string_view name) {
  constexpr std::string_view kDict[] = {"clear", "copy",    "fromkeys",   "get",    "items", "keys",
                                        "pop",   "popitem", "setdefault", "update", "values"};
  constexpr std::string_view kText[] = {
      "capitalize", "casefold",     "center",     "count",     "encode",    "endswith",     "expandtabs",
      "find",       "format",       "index",      "isalnum",   "isalpha",   "isascii",      "isdecimal",
      "isdigit",    "islower",      "isnumeric",  "isspace",   "istitle",   "isupper",      "join",
      "ljust",      "lower",        "lstrip",     "partition", "replace",   "removeprefix", "rfind",
      "rindex",     "removesuffix", "rjust",      "rsplit",    "rstrip",    "split",        "splitlines",
      "strip",      "swapcase",     "startswith", "title",     "translate", "upper",        "zfill"};
  if (subject.dict()) return std::find(std::begin(kDict), std::end(kDict), name) != std::end(kDict);
  if (subject.text()) return std::find(std::begin(kText), std::end(kText), name) != std::end(kText);
  return false;
}

}  // namespace warpfold::text::jinja
