// `warpfold layout batch`: one JSON object a line in, one a line out.
//   in   {"id":1,"op":"compose","a":"(6,2):(8,2)","b":"(4,3):(3,1)"}
//        coalesce (a), complement (a, m), compose (a, b), divide (a, b, form), product (a, b, form), left_inverse (a),
//        right_inverse (a), equal (a, b), eval (a, x, extended); m is a number or a shape, form as on the command line.
//        A field that the op does not know is refused.
//   out  {"id":1,"ok":true,"layout":"((2,2),3):((24,2),8)","verdict":"exact"}
//        {"id":1,"ok":false,"reason":"...","witness":[2,1]}
//   A witness is a coordinate of B; or the indices that a division loses, 64 at most, then with "count", how many they
//   are; or two indices of an overlapping product; or the index at which two layouts differ. Beside the verdict padded
//   "outside" lists the indices to predicate. Beside a refused composition "flat" is a layout with its function that
//   does not refine B, where there is one and B has at most 4096 elements.
// A line that is no JSON object is answered with "ok":false and its number; the exit code is then 2.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/layout/common.h"

namespace warpfold::cli::layout_tool {

using namespace layout;
using Json = nlohmann::json;

namespace {

void quote(std::string& out, std::string_view text) { out += Json(text).dump(); }

void refuse_line(std::string& out, std::string_view reason) {
  out += R"("ok":false,"reason":)";
  quote(out, reason);
}

void write_witness(std::string& out, const IntTuple& witness) {
  out += R"(,"witness":[)";
  for (int i = 0; i < witness.leaves(); ++i)
    out.append(i > 0 ? "," : "").append(std::to_string(witness.value[i]));
  out += ']';
}

template <class T>
void write(std::string& out, const Verdict<T>& v) {
  if (!v.ok()) {
    refuse_line(out, v.reason().view());
    if (v.why.witness.leaves() > 0) write_witness(out, v.why.witness);
    bool complete = true;
    if (v.why.reason == Reason::lossy) out += R"(,"witness":[)" + list_lost(v.why, ",", complete) + ']';
    if (!complete) out += R"(,"count":)" + std::to_string(v.why.n[4]);
    return;
  }
  const Text text = to_text(v.value);
  out.append(R"("ok":true,"layout":")").append(text.view()).append(R"(","verdict":")");
  out.append(grade_name(v.grade)).append("\"");
}

std::string_view text_of(const Json& line, const char* key) {
  const auto at = line.find(key);
  if (at == line.end() || !at->is_string())
    throw CommandError{2, std::string("field \"") + key + "\" must be a text"};
  return at->get_ref<const std::string&>();
}

Layout layout_of(const Json& line, const char* key) {
  const Verdict<Layout> v = parse_layout(text_of(line, key));
  if (!v.ok()) throw CommandError{2, std::string(key) + ": " + std::string(v.reason().view())};
  return v.value;
}

ComposedLayout composed_of(const Json& line, const char* key) {
  const Verdict<ComposedLayout> v = parse_composed(text_of(line, key));
  if (!v.ok()) throw CommandError{2, std::string(key) + ": " + std::string(v.reason().view())};
  return v.value;
}

Tiler tiler_of(const Json& line) {
  const Verdict<Tiler> v = parse_tiler(text_of(line, "b"));
  if (!v.ok()) throw CommandError{2, "b: " + std::string(v.reason().view())};
  return v.value;
}

bool flag_of(const Json& line, const char* key) {
  const auto at = line.find(key);
  if (at != line.end() && !at->is_boolean())
    throw CommandError{2, std::string("field \"") + key + "\" must be true or false"};
  return at != line.end() && at->get<bool>();
}

std::string_view form_name(const Json& line, bool is_product) {
  if (line.find("form") == line.end()) return "logical";
  const std::string_view name = text_of(line, "form");
  for (const std::string_view known : {"logical", "zipped", "tiled", "flat", "blocked", "raked"})
    if (name == known && (is_product || (known != "blocked" && known != "raked"))) return known;
  throw CommandError{2, "unknown form \"" + std::string(name) + "\""};
}

int64_t integer_of(const Json& value, const char* key) {
  if (!value.is_number_integer())
    throw CommandError{2, std::string("field \"") + key + "\" must be a 64-bit integer"};
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(int64_largest))
    throw CommandError{2, std::string("field \"") + key + "\": overflow: the number does not fit 64 bits"};
  return value.get<int64_t>();
}

void eval_line(std::string& out, const Json& line) {
  const ComposedLayout l = composed_of(line, "a");
  const auto x = line.find("x");
  const bool extended = flag_of(line, "extended");
  if (x == line.end()) {
    constexpr int64_t most = int64_t{1} << 20;
    if (l.size() > most)
      throw CommandError{1, std::to_string(l.size()) + " values are too many to list; give \"x\""};
    out += R"("ok":true,"values":[)";
    for (int64_t i = 0; i < l.size(); ++i) out += (i > 0 ? "," : "") + std::to_string(l(i));
    out += ']';
    return;
  }
  IntTuple c;
  if (x->is_string()) {
    const Verdict<IntTuple> parsed = parse_tuple(x->get_ref<const std::string&>());
    if (!parsed.ok()) throw CommandError{2, "x: " + std::string(parsed.reason().view())};
    c = parsed.value;
  } else {
    c = ints(integer_of(*x, "x"));
  }
  const int64_t offset = offset_at(l, c, extended, "\"extended\":true");
  out += R"("ok":true,"value":)" + std::to_string(offset);
}

void equal_line(std::string& out, const Json& line) {
  const ComposedLayout a = composed_of(line, "a"), b = composed_of(line, "b");
  const int64_t index = answer(first_difference(a, b));
  const bool same = index < 0 && a.size() == b.size();
  out.append(same ? R"("ok":true,"equal":true)" : R"("ok":true,"equal":false,"reason":)");
  if (!same) quote(out, difference(a, b, false, index));
  if (index >= 0) out.append(R"(,"witness":[)").append(std::to_string(index)).append("]");
}

void compose_line(std::string& out, const ComposedLayout& a, const Tiler& b) {
  const Verdict<ComposedLayout> v = b.by_mode ? compose_modes(a, b.layout) : compose(a, b.layout);
  write(out, v);
  if (v.ok() || b.by_mode) return;
  constexpr int64_t most = 4096;
  const Verdict<Layout> flat = compose_flat(a.layout, b.layout, most);
  if (!flat.ok()) return;
  const Text text = to_text(ComposedLayout{a.swizzle, a.offset, flat.value});
  out.append(R"(,"flat":")").append(text.view()).append("\"");
}

void divide_line(std::string& out, const ComposedLayout& a, const Tiler& b, Form form) {
  const Verdict<ComposedLayout> v = b.by_mode ? divide_modes(a, b.layout, form) : divide(a, b.layout, form);
  write(out, v);
  if (!v.ok() || v.grade != Grade::padded) return;
  out += R"(,"outside":[)";
  const char* separator = "";
  for (const Outside& o : outside_of(a.layout, b)) {
    out.append(separator).append("{");
    if (b.by_mode) out.append(R"("mode":)").append(std::to_string(o.mode)).append(",");
    out.append(R"("from":)")
        .append(std::to_string(o.from))
        .append(R"(,"to":)")
        .append(std::to_string(o.to))
        .append("}");
    separator = ",";
  }
  out += ']';
}

void product_line(std::string& out, const Layout& a, const Tiler& b, std::string_view form) {
  const bool interleaved = form == "blocked" || form == "raked";
  if (interleaved && b.by_mode)
    throw CommandError{2, "b: " + std::string(form) + " takes a layout, no tiler"};
  const Verdict<Layout> v = form == "blocked" ? blocked_product(a, b.layout)
                            : form == "raked" ? raked_product(a, b.layout)
                            : b.by_mode       ? product_modes(a, b.layout, form_of(form))
                                              : product(a, b.layout, form_of(form));
  write(out, v);
  if (!v.ok() || v.grade != Grade::overlapping) return;
  const Why why = overlap(v.value).why;
  out += R"(,"note":)";
  quote(out, sentence(why).view());
  if (why.reason == Reason::not_injective) write_witness(out, ints(why.n[0], why.n[1]));
}

void complement_line(std::string& out, const Json& line, const Layout& a) {
  const auto m = line.find("m");
  if (m == line.end()) return write(out, complement(a));
  if (!m->is_string()) return write(out, complement(a, integer_of(*m, "m")));
  const Verdict<int64_t> room = parse_room(m->get_ref<const std::string&>());
  if (!room.ok()) throw CommandError{2, "m: " + std::string(room.reason().view())};
  write(out, complement(a, room.value));
}

void inverse_line(std::string& out, const ComposedLayout& a, bool left) {
  if (a.swizzle.bits != 0 || a.offset != 0) return write(out, inverse(a));
  write(out, left ? left_inverse(a.layout) : accept(right_inverse(a.layout)));
}

// The fields of each op besides id and op.
constexpr std::pair<std::string_view, std::string_view> fields_of[] = {
    {"coalesce", "a"},      {"complement", "a m"},   {"compose", "a b"},
    {"divide", "a b form"}, {"product", "a b form"}, {"left_inverse", "a"},
    {"right_inverse", "a"}, {"equal", "a b"},        {"eval", "a x extended"}};

void check_fields(const Json& line, std::string_view op) {
  const auto* known =
      std::find_if(std::begin(fields_of), std::end(fields_of), [op](const auto& f) { return f.first == op; });
  if (known == std::end(fields_of)) throw CommandError{2, "unknown op \"" + std::string(op) + "\""};
  for (const auto& [key, value] : line.items()) {
    if (key == "id" || key == "op") continue;
    const std::string_view fields = known->second;
    const std::size_t at = fields.find(key);
    const bool whole = at != std::string_view::npos && !key.empty() && key.find(' ') == std::string::npos &&
                       (at == 0 || fields[at - 1] == ' ') &&
                       (at + key.size() == fields.size() || fields[at + key.size()] == ' ');
    if (!whole) throw CommandError{2, std::string(op) + " has no field \"" + key + "\""};
  }
}

void answer_line(std::string& out, const Json& line) {
  const std::string_view op = text_of(line, "op");
  check_fields(line, op);
  if (op == "eval") return eval_line(out, line);
  if (op == "equal") return equal_line(out, line);
  if (op == "complement") return complement_line(out, line, layout_of(line, "a"));
  if (op == "product") return product_line(out, layout_of(line, "a"), tiler_of(line), form_name(line, true));
  const ComposedLayout a = composed_of(line, "a");
  if (op == "compose") return compose_line(out, a, tiler_of(line));
  if (op == "divide") return divide_line(out, a, tiler_of(line), form_of(form_name(line, false)));
  if (op == "coalesce") return write(out, accept(coalesce(a)));
  inverse_line(out, a, op == "left_inverse");
}

int run_batch(std::istream& in, const std::string& name) {
  std::string text, out;
  bool all_read = true;
  for (int64_t number = 1; std::getline(in, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Json line = Json::parse(text, nullptr, false);
    if (!line.is_object()) {
      all_read = false;
      out += R"({"id":null,)";
      refuse_line(out, "line " + std::to_string(number) + " is no JSON object");
    } else {
      const auto id = line.find("id");
      const bool plain =
          id != line.end() && id->is_primitive();  // a nested one could be deeper than the stack
      out += R"({"id":)" + (plain ? id->dump() : "null") + ",";
      try {
        if (id != line.end() && !plain) throw CommandError{2, "field \"id\" must be a number or a text"};
        answer_line(out, line);
      } catch (const CommandError& error) {
        refuse_line(out, error.message);
      }
    }
    out += "}\n";
    if (out.size() > 1 << 16) {
      std::fwrite(out.data(), 1, out.size(), stdout);
      out.clear();
    }
  }
  std::fwrite(out.data(), 1, out.size(), stdout);
  std::fflush(stdout);
  if (in.bad()) throw CommandError{2, name + ": cannot be read"};
  return all_read ? 0 : 2;
}

}  // namespace

void add_batch_command(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("batch", "one JSON object a line in, one a line out");
  sub->add_option("FILE", *name, "read this instead of the standard input");
  sub->callback([name] {
    std::ifstream file;
    if (name->empty()) {
      std::ios::sync_with_stdio(false);
    } else {
      file.open(*name);
      if (!file) throw CommandError{2, *name + ": cannot be read"};
    }
    if (run_batch(name->empty() ? std::cin : file, name->empty() ? "the standard input" : *name) != 0)
      throw CommandError{2, "some lines are no JSON objects"};
  });
}

}  // namespace warpfold::cli::layout_tool
