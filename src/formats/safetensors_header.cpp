#include "formats/safetensors_header.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "formats/quote.h"

namespace warpfold::formats {
namespace {

// The events that nlohmann's reader reports, narrowed to those a header may hold. Each returns whether to go
// on; a handler that stops has said why in `problem`. The reader itself reports errors as an event and throws
// nothing.
class Events {
 public:
  using Json = nlohmann::json;

  virtual ~Events() = default;
  std::string problem;

  bool null() { return other("null"); }
  bool boolean(bool) { return other("a bool"); }
  bool number_integer(Json::number_integer_t value) { return other(fmt::format("the number {}", value)); }
  bool number_float(Json::number_float_t, const std::string& text) {
    return other(fmt::format("the number {}", text));
  }
  bool binary(Json::binary_t&) { return other("binary data"); }
  bool number_unsigned(Json::number_unsigned_t value) { return skips_value() || on_number(value); }
  bool string(std::string& text) { return skips_value() || on_string(text); }
  bool key(std::string& text) { return skipped_ > 0 || on_key(text); }
  bool start_object(std::size_t) { return opens_skipped() || on_object(); }
  bool start_array(std::size_t) { return opens_skipped() || on_array(); }
  bool end_object() { return closes_skipped() || on_end(); }
  bool end_array() { return closes_skipped() || on_end(); }
  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception&) {
    return stop(fmt::format("malformed JSON at byte {} of it, at {}", position, quote(token)));
  }

 protected:
  virtual bool on_object() = 0;
  virtual bool on_array() = 0;
  virtual bool on_end() = 0;
  virtual bool on_key(std::string& text) = 0;
  virtual bool on_string(std::string& text) = 0;
  virtual bool on_number(std::uint64_t value) = 0;
  virtual std::string place() const = 0;  // what the current value belongs to
  virtual std::string_view expected() const = 0;

  bool stop(std::string why) {
    problem = std::move(why);
    return false;
  }
  bool unexpected(std::string_view found) {
    return stop(fmt::format("{} is {}, expected {}", place(), found, expected()));
  }
  void skip_next_value() { skip_next_ = true; }

 private:
  bool other(std::string_view found) { return skips_value() || unexpected(found); }
  bool skips_value() { return skipped_ > 0 || std::exchange(skip_next_, false); }
  bool opens_skipped() {
    if (!skips_value()) return false;
    ++skipped_;
    return true;
  }
  bool closes_skipped() {
    if (skipped_ == 0) return false;
    --skipped_;
    return true;
  }

  bool skip_next_ = false;
  std::uint64_t skipped_ = 0;  // open objects and arrays inside a skipped value
};

class HeaderEvents : public Events {
 public:
  SafetensorsHeader header;

 private:
  enum class State { kStart, kTop, kMetadata, kTensor, kNumbers, kEnd };
  enum Field { kDtype, kShape, kDataOffsets, kFields };
  static constexpr std::string_view kFieldNames[kFields] = {"dtype", "shape", "data_offsets"};

  SafetensorsEntry& tensor() { return header.tensors.back(); }
  std::vector<std::uint64_t>& numbers() { return field_ == kShape ? tensor().shape : tensor().data_offsets; }

  bool on_object() override {
    if (state_ == State::kStart) {
      state_ = State::kTop;
    } else if (state_ == State::kTop) {
      state_ = key_ == "__metadata__" ? State::kMetadata : State::kTensor;
      if (state_ == State::kTensor) {
        header.tensors.push_back({.name = key_});
        std::fill(std::begin(seen_), std::end(seen_), false);
      }
    } else {
      return unexpected("an object");
    }
    return true;
  }

  bool on_array() override {
    if (state_ != State::kTensor || field_ == kDtype) return unexpected("an array");
    state_ = State::kNumbers;
    return true;
  }

  bool on_end() override {
    switch (state_) {
      case State::kNumbers:
        state_ = State::kTensor;
        return true;
      case State::kTensor:
        for (int f = 0; f < kFields; ++f)
          if (!seen_[f])
            return stop(fmt::format("tensor {} has no \"{}\"", quote(tensor().name), kFieldNames[f]));
        state_ = State::kTop;
        return true;
      case State::kMetadata:
        state_ = State::kTop;
        return true;
      default:
        state_ = State::kEnd;
        return true;
    }
  }

  bool on_key(std::string& text) override {
    switch (state_) {
      case State::kTop:
        if (!names_.insert(text).second) return stop(fmt::format("{} occurs twice", quote(text)));
        key_ = std::move(text);
        return true;
      case State::kMetadata:
        metadata_key_ = std::move(text);
        if (header.metadata.count(metadata_key_))
          return stop(fmt::format("__metadata__ {} occurs twice", quote(metadata_key_)));
        return true;
      default:
        for (int f = 0; f < kFields; ++f) {
          if (text != kFieldNames[f]) continue;
          if (std::exchange(seen_[f], true))
            return stop(fmt::format("tensor {}: \"{}\" occurs twice", quote(key_), text));
          field_ = static_cast<Field>(f);
          return true;
        }
        skip_next_value();  // the reference reader ignores other fields too
        return true;
    }
  }

  bool on_string(std::string& text) override {
    if (state_ == State::kMetadata) {
      header.metadata.emplace(metadata_key_, std::move(text));
      return true;
    }
    if (state_ != State::kTensor || field_ != kDtype) return unexpected("a string");
    tensor().dtype = std::move(text);
    return true;
  }

  bool on_number(std::uint64_t value) override {
    if (state_ != State::kNumbers) return unexpected(fmt::format("the number {}", value));
    numbers().push_back(value);
    return true;
  }

  std::string place() const override {
    switch (state_) {
      case State::kTop:
        return fmt::format("entry {}", quote(key_));
      case State::kMetadata:
        return fmt::format("__metadata__ {}", quote(metadata_key_));
      case State::kTensor:
        return fmt::format("tensor {}: \"{}\"", quote(key_), kFieldNames[field_]);
      case State::kNumbers:
        return fmt::format("tensor {}: an element of \"{}\"", quote(key_), kFieldNames[field_]);
      default:
        return "the whole";
    }
  }
  std::string_view expected() const override {
    switch (state_) {
      case State::kMetadata:
        return "a string";
      case State::kTensor:
        return field_ == kDtype ? "a string" : "an array";
      case State::kNumbers:
        return "an integer from 0 to 2^64 - 1";
      default:
        return "an object";
    }
  }

  State state_ = State::kStart;
  Field field_ = kDtype;
  bool seen_[kFields] = {};
  std::string key_, metadata_key_;
  std::set<std::string> names_;
};

class IndexEvents : public Events {
 public:
  std::optional<std::map<std::string, std::string>> shards;

 private:
  enum class State { kStart, kTop, kWeightMap };

  bool on_object() override {
    if (state_ == State::kWeightMap) return unexpected("an object");
    if (state_ == State::kTop) shards.emplace();
    state_ = state_ == State::kStart ? State::kTop : State::kWeightMap;
    return true;
  }
  bool on_array() override { return unexpected("an array"); }
  bool on_end() override {
    state_ = State::kTop;
    return true;
  }
  bool on_key(std::string& text) override {
    key_ = std::move(text);
    if (state_ == State::kTop && key_ != "weight_map") {
      skip_next_value();
    } else if (state_ == State::kTop ? shards.has_value() : shards->count(key_) > 0) {
      return stop(fmt::format("{} occurs twice", place()));
    }
    return true;
  }
  bool on_string(std::string& text) override {
    if (state_ != State::kWeightMap) return unexpected("a string");
    shards->emplace(key_, std::move(text));
    return true;
  }
  bool on_number(std::uint64_t value) override { return unexpected(fmt::format("the number {}", value)); }

  std::string place() const override {
    if (state_ == State::kStart) return "the whole";
    return state_ == State::kTop ? "weight_map" : fmt::format("weight_map {}", quote(key_));
  }
  std::string_view expected() const override {
    return state_ == State::kWeightMap ? "a string" : "an object";
  }

  State state_ = State::kStart;
  std::string key_;
};

// Runs the reader over all of `json`; true when nothing stopped it.
bool walk(std::string_view json, Events& events) {
  // The reader takes a zero byte for the end and would ignore what follows it.
  if (const std::size_t zero = json.find('\0'); zero != std::string_view::npos) {
    events.problem = fmt::format("malformed JSON at byte {} of it, which is zero", zero);
    return false;
  }
  return nlohmann::json::sax_parse(json.begin(), json.end(), &events);
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, const std::string& file) {
  HeaderEvents events;
  if (!walk(json, events))
    return fail(ErrorCode::kBadFile, fmt::format("{}: header: {}", file, events.problem));
  return std::move(events.header);
}

Result<std::map<std::string, std::string>> parse_safetensors_index(std::string_view json,
                                                                   const std::string& file) {
  IndexEvents events;
  if (!walk(json, events))
    return fail(ErrorCode::kBadFile, fmt::format("{}: index: {}", file, events.problem));
  if (!events.shards) return fail(ErrorCode::kBadFile, fmt::format("{}: index: it has no weight_map", file));
  return std::move(*events.shards);
}

}  // namespace warpfold::formats
