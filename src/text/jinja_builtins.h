// Filters, tests, functions and methods of the template language, found by name. What is not in these tables
// is refused when the template is parsed.
#pragma once

#include <span>
#include <string_view>

#include "text/jinja_value.h"

namespace warpfold::text::jinja {

// Arguments in the order of the builtin's parameters; null where none was given.
using Args = std::span<const Value* const>;

struct Builtin {
  std::string_view name;
  std::string_view parameters;  // names with commas between them; "*" takes any number of positional ones
  std::size_t required;         // this many must be given
  Result<Value> (*run)(Work& work, const Value& subject, Args args);
};

const Builtin* find_filter(std::string_view name);    // subject: what stands left of |
const Builtin* find_test(std::string_view name);      // the result is a boolean
const Builtin* find_function(std::string_view name);  // subject: undefined
const Builtin* find_method(std::string_view name);    // subject: what stands left of the point

// The name is a method of Python's str or dict: reading it without a call would give the method.
bool is_python_method(const Value& subject, std::string_view name);

// Lines positional and named arguments up with the parameters. Errors: too many, missing, unknown.
Result<std::vector<const Value*>> bind_arguments(const Work& work, const Builtin& builtin,
                                                 std::span<const Value> positional,
                                                 std::span<const std::pair<std::string, Value>> named);

// Operations that several builtins or the evaluator share.

// `subject.name` or `subject["name"]` for a key; undefined when there is none. Errors: an undefined subject.
Result<Value> get_item(Work& work, const Value& subject, const Value& key);
Result<bool> contains(Work& work, const Value& container, const Value& item);  // item in container
// op: "<", "<=", ">", ">=". Errors: values without an order.
Result<bool> ordered(Work& work, std::string_view op, const Value& a, const Value& b);
// The items of a list, keys of a mapping, characters of a string; nothing for undefined. Errors for other
// types.
Result<std::vector<Value>> iterate(Work& work, const Value& value);
std::vector<std::size_t> character_bounds(std::string_view text);  // where each begins, and the end
Result<Value> strip(Work& work, const Text& text, const Value* characters, bool left, bool right);
Result<Value> replace(Work& work, const Text& text, const Text& from, const Text& to, std::int64_t limit);
Result<Value> dict_items(Work& work, const Dict& dict);  // pairs
// Unicode's simple mappings, one character to one: Python's special cases (such as a capital sharp s) are not
// made.
enum class CaseChange { kUpper, kLower, kCapitalize };
Result<Value> change_case(Work& work, const Text& text, CaseChange change);

}  // namespace warpfold::text::jinja
