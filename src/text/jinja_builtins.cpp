// The tables of filters, tests, functions and methods, and the short ones among them.
#include "text/jinja_builtins.h"

#include <algorithm>

#include <fmt/format.h>

#include "text/jinja_lexer.h"
#include "text/utf8.h"

namespace warpfold::text::jinja {
namespace {

// --- filters

Result<Value> filter_trim(Work& work, const Value& subject, Args args) {
  WF_TRY(const Text text, to_text(work, subject));
  return strip(work, text, args[0], true, true);
}

template <CaseChange change>
Result<Value> filter_case(Work& work, const Value& subject, Args) {
  WF_TRY(const Text text, to_text(work, subject));
  return change_case(work, text, change);
}

Result<Value> filter_length(Work& work, const Value& subject, Args) {
  if (subject.is_undefined()) return Value::of(std::int64_t{0});
  if (const List* list = subject.list()) return Value::of(static_cast<std::int64_t>(list->items.size()));
  if (const Dict* dict = subject.dict()) return Value::of(static_cast<std::int64_t>(dict->items.size()));
  if (const Text* text = subject.text()) {
    WF_CHECK(work.steps(text->bytes.size() / 16));
    return Value::of(static_cast<std::int64_t>(character_bounds(text->bytes).size()) - 1);
  }
  return work.error(fmt::format("a value of type {} has no length", subject.type_name()));
}

Result<Value> filter_default(Work&, const Value& subject, Args args) {
  const bool also_false = args[1] && args[1]->truthy();
  if (subject.is_undefined() || (also_false && !subject.truthy())) return args[0] ? *args[0] : Value::of("");
  return subject;
}

// The value at a path such as "function.name".
Result<Value> at_path(Work& work, Value value, const Value& path) {
  if (!path.text()) return get_item(work, value, path);
  for (std::string_view rest = path.text()->bytes;;) {
    const std::size_t point = rest.find('.');
    WF_TRY(value, get_item(work, value, Value::of(rest.substr(0, point))));
    if (point == std::string_view::npos) return value;
    rest.remove_prefix(point + 1);
  }
}

Result<Value> filter_join(Work& work, const Value& subject, Args args) {
  Text separator;
  if (args[0]) {
    WF_TRY(separator, to_text(work, *args[0]));
  }
  WF_TRY(const std::vector<Value> items, iterate(work, subject));
  Text out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Value item = items[i];
    if (args[1]) {
      WF_TRY(item, at_path(work, item, *args[1]));
    }
    WF_TRY(const Text text, to_text(work, item));
    WF_CHECK(work.bytes(separator.bytes.size()));
    if (i > 0) out.append(separator);
    out.append(text);
  }
  return Value::of(std::move(out));
}

Result<Value> filter_first(Work& work, const Value& subject, Args) {
  WF_TRY(const std::vector<Value> items, iterate(work, subject));
  return items.empty() ? Value::undefined("there is no first item: the sequence is empty") : items.front();
}

Result<Value> filter_last(Work& work, const Value& subject, Args) {
  WF_TRY(const std::vector<Value> items, iterate(work, subject));
  return items.empty() ? Value::undefined("there is no last item: the sequence is empty") : items.back();
}

Result<Value> filter_reverse(Work& work, const Value& subject, Args) {
  WF_TRY(std::vector<Value> items, iterate(work, subject));
  std::reverse(items.begin(), items.end());
  if (!subject.text()) return make_list(work, std::move(items));
  Text out;
  for (const Value& item : items) out.append(*item.text());
  return make_text(work, std::move(out));
}

Result<Value> filter_list(Work& work, const Value& subject, Args) {
  WF_TRY(std::vector<Value> items, iterate(work, subject));
  return make_list(work, std::move(items));
}

// As model repositories define it: json.dumps without escapes for HTML.
Result<Value> filter_tojson(Work& work, const Value& subject, Args args) {
  for (const std::size_t other : {std::size_t{0}, std::size_t{2}, std::size_t{3}})
    if (args[other] && args[other]->truthy())
      return work.error(ErrorCode::kUnsupported,
                        "tojson with an argument other than indent is not supported");
  std::int64_t indent = -1;
  if (args[1] && !args[1]->is_none() && (!args[1]->to_integer(indent) || indent < 0 || indent > 16))
    return work.error("the indent of tojson must be an integer from 0 to 16");
  WF_TRY(Text json, to_json(work, subject, indent));
  return Value::of(std::move(json));
}

Result<Value> filter_replace(Work& work, const Value& subject, Args args) {
  WF_TRY(const Text text, to_text(work, subject));
  WF_TRY(const Text from, to_text(work, *args[0]));
  WF_TRY(const Text to, to_text(work, *args[1]));
  std::int64_t count = -1;
  if (args[2] && !args[2]->is_none() && !args[2]->to_integer(count))
    return work.error("the count of replace must be an integer");
  return replace(work, text, from, to, count);
}

Result<Value> filter_string(Work& work, const Value& subject, Args) {
  WF_TRY(Text text, to_text(work, subject));
  return Value::of(std::move(text));
}

Result<Value> filter_items(Work& work, const Value& subject, Args) {
  if (subject.is_undefined()) return make_list(work, {});
  if (!subject.dict()) return work.error(fmt::format("items needs a mapping, not {}", subject.type_name()));
  return dict_items(work, *subject.dict());
}

// Whether `value` passes the test args[0] with the arguments after it; without a test, whether it is true.
Result<bool> passes(Work& work, const Value& value, Args args) {
  if (args.empty()) return value.truthy();
  const Text* name = args[0]->text();
  const Builtin* test = name ? find_test(name->bytes) : nullptr;
  if (!test)
    return work.error(ErrorCode::kUnsupported,
                      fmt::format("the test '{}' is not supported", name ? name->bytes : "of another type"));
  std::vector<Value> rest;
  for (const Value* arg : args.subspan(1)) rest.push_back(*arg);
  WF_TRY(const std::vector<const Value*> bound, bind_arguments(work, *test, rest, {}));
  WF_TRY(const Value result, test->run(work, value, bound));
  return result.truthy();
}

template <bool keep, bool by_attribute>
Result<Value> filter_select(Work& work, const Value& subject, Args args) {
  WF_TRY(const std::vector<Value> items, iterate(work, subject));
  std::vector<Value> kept;
  for (const Value& item : items) {
    Value tested = item;
    if (by_attribute) {
      WF_TRY(tested, at_path(work, item, *args[0]));
    }
    WF_TRY(const bool pass, passes(work, tested, args.subspan(by_attribute ? 1 : 0)));
    if (pass == keep) kept.push_back(item);
  }
  return make_list(work, std::move(kept));
}

Result<Value> filter_map(Work& work, const Value& subject, Args args) {
  WF_TRY(const std::vector<Value> items, iterate(work, subject));
  const Builtin* filter = args[0] && args[0]->text() ? find_filter(args[0]->text()->bytes) : nullptr;
  if (args[0] ? !filter : !args[1])
    return work.error(ErrorCode::kUnsupported, "map needs the name of a supported filter, or attribute=");
  std::vector<Value> mapped;
  for (const Value& item : items) {
    if (filter) {
      WF_TRY(const std::vector<const Value*> none, bind_arguments(work, *filter, {}, {}));
      WF_TRY(Value value, filter->run(work, item, none));
      mapped.push_back(std::move(value));
    } else {
      WF_TRY(Value value, at_path(work, item, *args[1]));
      if (value.is_undefined() && args[2]) value = *args[2];
      mapped.push_back(std::move(value));
    }
  }
  return make_list(work, std::move(mapped));
}

constexpr Builtin kFilters[] = {
    {"trim", "chars", 0, filter_trim},
    {"upper", "", 0, filter_case<CaseChange::kUpper>},
    {"lower", "", 0, filter_case<CaseChange::kLower>},
    {"capitalize", "", 0, filter_case<CaseChange::kCapitalize>},
    {"length", "", 0, filter_length},
    {"count", "", 0, filter_length},
    {"default", "default_value,boolean", 0, filter_default},
    {"d", "default_value,boolean", 0, filter_default},
    {"join", "d,attribute", 0, filter_join},
    {"first", "", 0, filter_first},
    {"last", "", 0, filter_last},
    {"reverse", "", 0, filter_reverse},
    {"list", "", 0, filter_list},
    {"tojson", "ensure_ascii,indent,separators,sort_keys", 0, filter_tojson},
    {"replace", "old,new,count", 2, filter_replace},
    {"string", "", 0, filter_string},
    {"safe", "", 0, filter_string},
    {"items", "", 0, filter_items},
    {"select", "*", 0, filter_select<true, false>},
    {"reject", "*", 0, filter_select<false, false>},
    {"selectattr", "*", 1, filter_select<true, true>},
    {"rejectattr", "*", 1, filter_select<false, true>},
    {"map", "filter,attribute,default", 0, filter_map},
};

// --- tests

template <bool (*predicate)(const Value&)>
Result<Value> test_type(Work&, const Value& subject, Args) {
  return Value::of(predicate(subject));
}

Result<Value> test_equal(Work& work, const Value& subject, Args args) {
  WF_TRY(const bool same, equal(work, subject, *args[0]));
  return Value::of(same);
}
Result<Value> test_unequal(Work& work, const Value& subject, Args args) {
  WF_TRY(const bool same, equal(work, subject, *args[0]));
  return Value::of(!same);
}
Result<Value> test_in(Work& work, const Value& subject, Args args) {
  WF_TRY(const bool found, contains(work, *args[0], subject));
  return Value::of(found);
}

enum class Order { kLess, kLessEqual, kGreater, kGreaterEqual };
template <Order order>
Result<Value> test_order(Work& work, const Value& subject, Args args) {
  constexpr std::string_view kNames[] = {"<", "<=", ">", ">="};
  WF_TRY(const bool holds, ordered(work, kNames[static_cast<int>(order)], subject, *args[0]));
  return Value::of(holds);
}

template <bool odd>
Result<Value> test_parity(Work& work, const Value& subject, Args) {
  std::int64_t value = 0;
  if (!subject.to_integer(value))
    return work.error(fmt::format("{} is neither odd nor even", subject.type_name()));
  return Value::of((value % 2 != 0) == odd);
}

Result<Value> test_divisible(Work& work, const Value& subject, Args args) {
  std::int64_t value = 0, divisor = 0;
  if (!subject.to_integer(value) || !args[0]->to_integer(divisor) || divisor == 0)
    return work.error("divisibleby needs integers and a divisor other than 0");
  return Value::of(divisor == -1 || value % divisor == 0);
}

bool t_defined(const Value& v) { return !v.is_undefined(); }
bool t_undefined(const Value& v) { return v.is_undefined(); }
bool t_none(const Value& v) { return v.is_none(); }
bool t_boolean(const Value& v) { return v.boolean() != nullptr; }
bool t_true(const Value& v) { return v.boolean() && *v.boolean(); }
bool t_false(const Value& v) { return v.boolean() && !*v.boolean(); }
bool t_integer(const Value& v) { return v.integer() != nullptr; }
bool t_float(const Value&) { return false; }
bool t_number(const Value& v) { return v.integer() || v.boolean(); }
bool t_string(const Value& v) { return v.text() != nullptr; }
bool t_mapping(const Value& v) { return v.dict() != nullptr; }
bool t_sequence(const Value& v) { return v.text() || v.list() || v.dict() || v.is_undefined(); }

constexpr Builtin kTests[] = {
    {"defined", "", 0, test_type<t_defined>},
    {"undefined", "", 0, test_type<t_undefined>},
    {"none", "", 0, test_type<t_none>},
    {"boolean", "", 0, test_type<t_boolean>},
    {"true", "", 0, test_type<t_true>},
    {"false", "", 0, test_type<t_false>},
    {"integer", "", 0, test_type<t_integer>},
    {"float", "", 0, test_type<t_float>},
    {"number", "", 0, test_type<t_number>},
    {"string", "", 0, test_type<t_string>},
    {"mapping", "", 0, test_type<t_mapping>},
    {"sequence", "", 0, test_type<t_sequence>},
    {"iterable", "", 0, test_type<t_sequence>},
    {"odd", "", 0, test_parity<true>},
    {"even", "", 0, test_parity<false>},
    {"divisibleby", "num", 1, test_divisible},
    {"in", "seq", 1, test_in},
    {"eq", "other", 1, test_equal},
    {"equalto", "other", 1, test_equal},
    {"==", "other", 1, test_equal},
    {"ne", "other", 1, test_unequal},
    {"!=", "other", 1, test_unequal},
    {"lt", "other", 1, test_order<Order::kLess>},
    {"lessthan", "other", 1, test_order<Order::kLess>},
    {"<", "other", 1, test_order<Order::kLess>},
    {"le", "other", 1, test_order<Order::kLessEqual>},
    {"<=", "other", 1, test_order<Order::kLessEqual>},
    {"gt", "other", 1, test_order<Order::kGreater>},
    {"greaterthan", "other", 1, test_order<Order::kGreater>},
    {">", "other", 1, test_order<Order::kGreater>},
    {"ge", "other", 1, test_order<Order::kGreaterEqual>},
    {">=", "other", 1, test_order<Order::kGreaterEqual>},
};

// --- functions

Result<Value> raise_exception(Work& work, const Value&, Args args) {
  WF_TRY(const Text message, to_text(work, *args[0]));
  return work.error(message.bytes);
}

Result<Value> range(Work& work, const Value&, Args args) {
  std::int64_t bounds[3] = {0, 0, 1};  // start, stop, step
  for (std::size_t i = 0; i < 3; ++i)
    if (args[i] && !args[i]->to_integer(bounds[i])) return work.error("range needs integers");
  if (!args[1]) std::swap(bounds[0], bounds[1]);
  const auto [start, stop, step] = bounds;
  if (step == 0) return work.error("the step of range must not be 0");
  std::vector<Value> items;
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop;) {
    WF_CHECK(work.steps(1));
    items.push_back(Value::of(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return make_list(work, std::move(items));
}

constexpr Builtin kFunctions[] = {
    {"raise_exception", "message", 1, raise_exception},
    {"range", "start,stop,step", 1, range},
};

// --- methods

tl::unexpected<Error> no_method(const Work& work, const Value& subject, std::string_view name) {
  if (const auto* undefined = std::get_if<Undefined>(&subject.data)) return work.error(undefined->what);
  return work.error(fmt::format("a value of type {} has no method '{}'", subject.type_name(), name));
}

template <bool left, bool right>
Result<Value> method_strip(Work& work, const Value& subject, Args args) {
  if (!subject.text()) return no_method(work, subject, "strip");
  return strip(work, *subject.text(), args[0], left, right);
}

template <CaseChange change>
Result<Value> method_case(Work& work, const Value& subject, Args) {
  if (!subject.text()) return no_method(work, subject, "upper or lower");
  return change_case(work, *subject.text(), change);
}

template <bool at_start>
Result<Value> method_affix(Work& work, const Value& subject, Args args) {
  if (!subject.text()) return no_method(work, subject, "startswith or endswith");
  std::vector<Value> options{*args[0]};
  if (args[0]->list()) options = args[0]->list()->items;
  for (const Value& option : options) {
    WF_CHECK(work.steps(1));
    if (!option.text()) return work.error("startswith and endswith need strings");
    const std::string& text = subject.text()->bytes;
    if (at_start ? text.starts_with(option.text()->bytes) : text.ends_with(option.text()->bytes))
      return Value::of(true);
  }
  return Value::of(false);
}

Result<Value> method_replace(Work& work, const Value& subject, Args args) {
  if (!subject.text()) return no_method(work, subject, "replace");
  if (!args[0]->text() || !args[1]->text()) return work.error("replace needs strings");
  std::int64_t count = -1;
  if (args[2] && !args[2]->to_integer(count)) return work.error("the count of replace must be an integer");
  return replace(work, *subject.text(), *args[0]->text(), *args[1]->text(), count);
}

// split(separator, maxsplit); without a separator at runs of white space.
Result<Value> method_split(Work& work, const Value& subject, Args args) {
  if (!subject.text()) return no_method(work, subject, "split");
  const Text& text = *subject.text();
  const bool blanks = !args[0] || args[0]->is_none();
  if (!blanks && (!args[0]->text() || args[0]->text()->bytes.empty()))
    return work.error("split needs a separator that is a string and not empty");
  std::int64_t limit = -1;
  if (args[1] && !args[1]->to_integer(limit)) return work.error("the maxsplit of split must be an integer");
  WF_CHECK(work.bytes(text.bytes.size()));

  std::vector<Value> parts;
  const auto add = [&](std::size_t begin, std::size_t end) -> Status {
    WF_CHECK(work.steps(1));
    parts.push_back(Value::of(text.slice(begin, end - begin)));
    return {};
  };
  const std::string& bytes = text.bytes;
  std::size_t at = 0;
  if (!blanks) {
    const std::string& separator = args[0]->text()->bytes;
    for (; limit != 0; --limit) {
      const std::size_t found = bytes.find(separator, at);
      if (found == std::string::npos) break;
      WF_CHECK(add(at, found));
      at = found + separator.size();
    }
    WF_CHECK(add(at, bytes.size()));
    return make_list(work, std::move(parts));
  }
  const auto skip = [&](std::size_t from, bool spaces) {
    while (from < bytes.size()) {
      const Utf8Step step = next_utf8(bytes, from);
      if (is_space(step.code_point) != spaces) break;
      from += step.length;
    }
    return from;
  };
  for (at = skip(0, true); at < bytes.size() && limit != 0; --limit) {
    const std::size_t end = skip(at, false);
    WF_CHECK(add(at, end));
    at = skip(end, true);
  }
  if (at < bytes.size()) {
    const std::string_view rest = strip_right(std::string_view(bytes).substr(at));
    WF_CHECK(add(at, at + rest.size()));
  }
  return make_list(work, std::move(parts));
}

Result<Value> method_join(Work& work, const Value& subject, Args args) {
  if (!subject.text()) return no_method(work, subject, "join");
  const Value* const bound[] = {&subject, nullptr};
  return filter_join(work, *args[0], bound);
}

Result<Value> method_get(Work& work, const Value& subject, Args args) {
  if (!subject.dict()) return no_method(work, subject, "get");
  WF_TRY(Value found, get_item(work, subject, *args[0]));
  if (!found.is_undefined()) return found;
  return args[1] ? *args[1] : Value::none();
}

Result<Value> method_items(Work& work, const Value& subject, Args) {
  if (!subject.dict()) return no_method(work, subject, "items");
  return dict_items(work, *subject.dict());
}

Result<Value> method_keys(Work& work, const Value& subject, Args) {
  if (!subject.dict()) return no_method(work, subject, "keys");
  return filter_list(work, subject, {});
}

Result<Value> method_values(Work& work, const Value& subject, Args) {
  if (!subject.dict()) return no_method(work, subject, "values");
  std::vector<Value> values;
  for (const auto& item : subject.dict()->items) values.push_back(item.second);
  return make_list(work, std::move(values));
}

constexpr Builtin kMethods[] = {
    {"strip", "chars", 0, method_strip<true, true>},
    {"lstrip", "chars", 0, method_strip<true, false>},
    {"rstrip", "chars", 0, method_strip<false, true>},
    {"upper", "", 0, method_case<CaseChange::kUpper>},
    {"lower", "", 0, method_case<CaseChange::kLower>},
    {"capitalize", "", 0, method_case<CaseChange::kCapitalize>},
    {"startswith", "prefix", 1, method_affix<true>},
    {"endswith", "suffix", 1, method_affix<false>},
    {"replace", "old,new,count", 2, method_replace},
    {"split", "sep,maxsplit", 0, method_split},
    {"join", "iterable", 1, method_join},
    {"get", "key,default", 1, method_get},
    {"items", "", 0, method_items},
    {"keys", "", 0, method_keys},
    {"values", "", 0, method_values},
};

const Builtin* find(std::span<const Builtin> table, std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Builtin& b) { return b.name == name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

const Builtin* find_filter(std::string_view name) { return find(kFilters, name); }
const Builtin* find_test(std::string_view name) { return find(kTests, name); }
const Builtin* find_function(std::string_view name) { return find(kFunctions, name); }
const Builtin* find_method(std::string_view name) { return find(kMethods, name); }

}  // namespace warpfold::text::jinja
