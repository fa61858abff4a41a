// Values of the template language. Strings carry, byte by byte, whether the template or a message's content
// wrote them; every operation on a string keeps that mark.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "warpfold/core/error.h"

namespace warpfold::text::jinja {

// Valid UTF-8 and, for each byte, its origin.
struct Text {
  static constexpr char kTemplate = 't', kContent = 'c';

  Text() = default;
  explicit Text(std::string_view text, char origin = kTemplate) : bytes(text), origins(text.size(), origin) {}
  void append(const Text& other) {
    bytes += other.bytes;
    origins += other.origins;
  }
  void append(std::string_view text, char origin = kTemplate) {
    bytes += text;
    origins.append(text.size(), origin);
  }
  Text slice(std::size_t begin, std::size_t size) const {
    Text part;
    part.bytes = bytes.substr(begin, size);
    part.origins = origins.substr(begin, size);
    return part;
  }

  std::string bytes;
  std::string origins;  // kTemplate or kContent, one for each byte
};

class Value;
struct List {
  std::vector<Value> items;
  bool tuple = false;  // printed as (a, b), never equal to a list
  int depth = 1;       // of nested lists and mappings, this one included
};
struct Dict {
  std::vector<std::pair<Text, Value>> items;  // in order of insertion
  int depth = 1;
  const Value* find(std::string_view key) const;
};
struct Namespace {  // namespace(): the one value that can change
  std::vector<std::pair<std::string, Value>> items;
  Value* find(std::string_view key);
};
struct Undefined {
  std::string what;  // "'name' is undefined"
};
struct None {};

class Value {
 public:
  using Data =
      std::variant<Undefined, None, bool, std::int64_t, std::shared_ptr<const Text>,
                   std::shared_ptr<const List>, std::shared_ptr<const Dict>, std::shared_ptr<Namespace>>;

  Value() : data(Undefined{"a value is undefined"}) {}
  Value(Data d) : data(std::move(d)) {}  // NOLINT: the alternatives convert
  static Value of(Text text) { return Value(std::make_shared<const Text>(std::move(text))); }
  static Value of(std::string_view text) { return of(Text(text)); }
  static Value of(bool b) { return Value(Data(b)); }
  static Value of(std::int64_t i) { return Value(Data(i)); }
  static Value undefined(std::string what) { return Value(Data(Undefined{std::move(what)})); }
  static Value none() { return Value(Data(None{})); }

  bool is_undefined() const { return std::holds_alternative<Undefined>(data); }
  bool is_none() const { return std::holds_alternative<None>(data); }
  const bool* boolean() const { return std::get_if<bool>(&data); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&data); }
  const Text* text() const { return pointee<const Text>(); }
  const List* list() const { return pointee<const List>(); }
  const Dict* dict() const { return pointee<const Dict>(); }
  Namespace* names() const { return pointee<Namespace>(); }

  // Booleans count as 0 and 1 in arithmetic; false when this is no number.
  bool to_integer(std::int64_t& out) const;
  bool truthy() const;
  std::string_view type_name() const;  // as Python names it: "str", "int", "list"

  Data data;

 private:
  template <class T>
  T* pointee() const {
    const auto* p = std::get_if<std::shared_ptr<T>>(&data);
    return p ? p->get() : nullptr;
  }
};

// What a render may cost. Every evaluation step and every byte written into a new string is counted.
class Work {
 public:
  Work(std::int64_t max_steps, std::int64_t max_bytes) : steps_left_(max_steps), bytes_left_(max_bytes) {}
  Status steps(std::size_t count);
  Status bytes(std::size_t count);
  // Errors carry the line of the construct that is being evaluated.
  tl::unexpected<Error> error(ErrorCode code, std::string_view what) const;
  tl::unexpected<Error> error(std::string_view what) const {
    return error(ErrorCode::kInvalidArgument, what);
  }

  int line = 1;

 private:
  std::int64_t steps_left_, bytes_left_;
};

// New lists and mappings are made here: the work is counted and the nesting bounded, and a namespace is
// refused inside of them (values would no longer form a tree).
Result<Value> make_list(Work& work, std::vector<Value> items, bool tuple = false);
Result<Value> make_dict(Work& work, std::vector<std::pair<Text, Value>> items);
Result<Value> make_text(Work& work, Text text);
Status check_storable(const Work& work, const Value& value);

Result<bool> equal(Work& work, const Value& a, const Value& b);

// What {{ value }} prints: Python's str(), with repr() inside of lists and mappings.
Result<Text> to_text(Work& work, const Value& value);
// json.dumps(value, ensure_ascii=False, indent=indent); indent < 0: on one line.
Result<Text> to_json(Work& work, const Value& value, std::int64_t indent);

}  // namespace warpfold::text::jinja
