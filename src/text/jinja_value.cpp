// Values of the template language: truth, equality, and their text forms as Python prints them.
#include "text/jinja_value.h"

#include <algorithm>

#include <fmt/format.h>
#include <utf8proc.h>

#include "text/utf8.h"

namespace warpfold::text::jinja {
namespace {

constexpr int kMaxDepth = 64;  // of nested lists and mappings

template <class Pairs>
auto* find_in(Pairs& items, std::string_view key) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const auto& item) {
    if constexpr (requires { item.first.bytes; })
      return item.first.bytes == key;
    else
      return item.first == key;
  });
  return found == items.end() ? nullptr : &found->second;
}

// Python's str.isprintable() for one character: what repr() does not escape.
bool is_printable(char32_t character) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(character))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    case UTF8PROC_CATEGORY_ZS:
      return character == ' ';
    default:
      return true;
  }
}

std::string escaped(std::string_view character, char32_t code_point, char quote, bool python) {
  const auto value = static_cast<std::uint32_t>(code_point);
  if (code_point == static_cast<unsigned char>(quote) || code_point == '\\')
    return fmt::format("\\{}", character);
  if (code_point == '\n') return "\\n";
  if (code_point == '\r') return "\\r";
  if (code_point == '\t') return "\\t";
  if (!python && code_point == '\b') return "\\b";
  if (!python && code_point == '\f') return "\\f";
  if (!python && code_point < 0x20) return fmt::format("\\u{:04x}", value);
  if (!python || is_printable(code_point)) return std::string(character);
  return code_point < 0x100     ? fmt::format("\\x{:02x}", value)
         : code_point < 0x10000 ? fmt::format("\\u{:04x}", value)
                                : fmt::format("\\U{:08x}", value);
}

// A string between quotes. `python`: repr(), with the quote that needs no escape; else JSON.
Text quoted(const Text& text, bool python) {
  const bool has_single = text.bytes.find('\'') != std::string::npos;
  const char quote = !python || (has_single && text.bytes.find('"') == std::string::npos) ? '"' : '\'';
  Text out;
  out.append(std::string_view(&quote, 1));
  for (std::size_t at = 0; at < text.bytes.size();) {
    const Utf8Step step = next_utf8(text.bytes, at);
    out.append(escaped(std::string_view(text.bytes).substr(at, step.length), step.code_point, quote, python),
               text.origins[at]);
    at += step.length;
  }
  out.append(std::string_view(&quote, 1));
  return out;
}

enum class Style { kPlain, kRepr, kJson };

// One writer for str(), repr() and JSON: they differ in words, quotes and layout only.
class Writer {
 public:
  Writer(Work& work, Style style, std::int64_t indent) : work_(work), style_(style), indent_(indent) {}

  Status write(const Value& value, Style style) {
    WF_CHECK(work_.steps(1));
    const bool json = style_ == Style::kJson;
    if (value.is_undefined()) {
      if (json) return work_.error("an undefined value cannot be written as JSON");
      return put(style == Style::kPlain ? "" : "Undefined");
    }
    if (value.is_none()) return put(json ? "null" : "None");
    if (const bool* b = value.boolean()) return put(json ? (*b ? "true" : "false") : (*b ? "True" : "False"));
    if (const std::int64_t* i = value.integer()) return put(fmt::format("{}", *i));
    if (const Text* text = value.text()) {
      WF_CHECK(work_.bytes(text->bytes.size()));
      out.append(style == Style::kPlain ? *text : quoted(*text, style == Style::kRepr));
      return {};
    }
    if (const List* list = value.list()) return write_list(*list);
    if (const Dict* dict = value.dict()) return write_dict(*dict);
    return work_.error(ErrorCode::kUnsupported, "printing a namespace is not supported");
  }

  Text out;

 private:
  Style nested() const { return style_ == Style::kJson ? Style::kJson : Style::kRepr; }
  Status put(std::string_view text) {
    WF_CHECK(work_.bytes(text.size()));
    out.append(text);
    return {};
  }
  // What stands between the bracket and the first item, between items, and before the closing bracket.
  Status separate(bool first) {
    if (indent_ < 0) return first ? Status{} : put(", ");
    WF_CHECK(put(first ? "\n" : ",\n"));
    return pad();
  }
  Status pad() { return put(std::string(static_cast<std::size_t>(indent_ * level_), ' ')); }
  Status close(bool empty) {
    if (indent_ < 0 || empty) return {};
    WF_CHECK(put("\n"));
    return pad();
  }
  Status write_list(const List& list) {
    const bool tuple = list.tuple && style_ != Style::kJson;
    WF_CHECK(put(tuple ? "(" : "["));
    ++level_;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      WF_CHECK(separate(i == 0));
      WF_CHECK(write(list.items[i], nested()));
    }
    --level_;
    WF_CHECK(close(list.items.empty()));
    return put(!tuple ? "]" : list.items.size() == 1 ? ",)" : ")");
  }
  Status write_dict(const Dict& dict) {
    WF_CHECK(put("{"));
    ++level_;
    for (std::size_t i = 0; i < dict.items.size(); ++i) {
      WF_CHECK(separate(i == 0));
      out.append(quoted(dict.items[i].first, style_ != Style::kJson));
      WF_CHECK(put(": "));
      WF_CHECK(write(dict.items[i].second, nested()));
    }
    --level_;
    WF_CHECK(close(dict.items.empty()));
    return put("}");
  }

  Work& work_;
  Style style_;
  std::int64_t indent_;
  std::int64_t level_ = 0;
};

}  // namespace

const Value* Dict::find(std::string_view key) const { return find_in(items, key); }
Value* Namespace::find(std::string_view key) { return find_in(items, key); }

bool Value::to_integer(std::int64_t& out) const {
  if (const std::int64_t* i = integer())
    out = *i;
  else if (const bool* b = boolean())
    out = *b ? 1 : 0;
  else
    return false;
  return true;
}

bool Value::truthy() const {
  std::int64_t number = 0;
  if (to_integer(number)) return number != 0;
  if (const Text* t = text()) return !t->bytes.empty();
  if (const List* l = list()) return !l->items.empty();
  if (const Dict* d = dict()) return !d->items.empty();
  return names() != nullptr;
}

std::string_view Value::type_name() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (boolean()) return "bool";
  if (integer()) return "int";
  if (text()) return "str";
  if (const List* l = list()) return l->tuple ? "tuple" : "list";
  return dict() ? "dict" : "Namespace";
}

Result<bool> equal(Work& work, const Value& a, const Value& b) {
  WF_CHECK(work.steps(1));
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  std::int64_t x = 0, y = 0;
  if (a.to_integer(x)) return b.to_integer(y) && x == y;
  if (const Text* t = a.text()) return b.text() && t->bytes == b.text()->bytes;
  if (const List* l = a.list()) {
    const List* other = b.list();
    if (!other || l->tuple != other->tuple || l->items.size() != other->items.size()) return false;
    for (std::size_t i = 0; i < l->items.size(); ++i) {
      WF_TRY(const bool same, equal(work, l->items[i], other->items[i]));
      if (!same) return false;
    }
    return true;
  }
  if (const Dict* d = a.dict()) {
    if (!b.dict() || d->items.size() != b.dict()->items.size()) return false;
    for (const auto& [key, value] : d->items) {
      const Value* other = b.dict()->find(key.bytes);
      if (!other) return false;
      WF_TRY(const bool same, equal(work, value, *other));
      if (!same) return false;
    }
    return true;
  }
  return a.names() == b.names();
}

Status Work::steps(std::size_t count) {
  if (static_cast<std::int64_t>(count) > steps_left_)
    return error("the template does more work than is allowed");
  steps_left_ -= static_cast<std::int64_t>(count);
  return {};
}

Status Work::bytes(std::size_t count) {
  if (static_cast<std::int64_t>(count) > bytes_left_)
    return error("the template writes more text than is allowed");
  bytes_left_ -= static_cast<std::int64_t>(count);
  return {};
}

tl::unexpected<Error> Work::error(ErrorCode code, std::string_view what) const {
  return fail(code, fmt::format("chat template, line {}: {}", line, what));
}

Status check_storable(const Work& work, const Value& value) {
  if (value.names())
    return work.error(ErrorCode::kUnsupported, "a namespace inside of another value is not supported");
  return {};
}

namespace {

// The depth of a collection that holds `value` and whose depth was `depth` before.
Result<int> depth_with(const Work& work, int depth, const Value& value) {
  WF_CHECK(check_storable(work, value));
  const int inner = value.list() ? value.list()->depth : value.dict() ? value.dict()->depth : 0;
  if (inner >= kMaxDepth) return work.error(fmt::format("values are nested deeper than {}", kMaxDepth));
  return std::max(depth, inner + 1);
}

}  // namespace

Result<Value> make_list(Work& work, std::vector<Value> items, bool tuple) {
  WF_CHECK(work.steps(items.size() + 1));
  int depth = 1;
  for (const Value& item : items) {
    WF_TRY(depth, depth_with(work, depth, item));
  }
  return Value(Value::Data(std::make_shared<const List>(List{std::move(items), tuple, depth})));
}

Result<Value> make_dict(Work& work, std::vector<std::pair<Text, Value>> items) {
  WF_CHECK(work.steps(items.size() + 1));
  int depth = 1;
  for (const auto& item : items) {
    WF_TRY(depth, depth_with(work, depth, item.second));
  }
  return Value(Value::Data(std::make_shared<const Dict>(Dict{std::move(items), depth})));
}

Result<Value> make_text(Work& work, Text text) {
  WF_CHECK(work.bytes(text.bytes.size()));
  return Value::of(std::move(text));
}

Result<Text> to_text(Work& work, const Value& value) {
  Writer writer(work, Style::kPlain, -1);
  WF_CHECK(writer.write(value, Style::kPlain));
  return std::move(writer.out);
}

Result<Text> to_json(Work& work, const Value& value, std::int64_t indent) {
  Writer writer(work, Style::kJson, indent);
  WF_CHECK(writer.write(value, Style::kJson));
  return std::move(writer.out);
}

}  // namespace warpfold::text::jinja
