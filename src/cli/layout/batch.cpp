// `warpfold layout batch`: one JSON object a line in, one a line out.
//   in   {"id":1,"op":"compose","a":"(6,2):(8,2)","b":"(4,3):(3,1)"}
//        ops coalesce, complement ("m"), compose, divide, product, left_inverse, right_inverse, equal, eval ("x")
//   out  {"id":1,"ok":true,"layout":"((2,2),3):((24,2),8)","verdict":"exact"}
//        {"id":1,"ok":false,"reason":"...","witness":[2,1]}   the coordinate of B, or the indices that a
//        division loses: 64 at most, then with "count", how many they are
// A line that is no JSON object is answered with "ok":false and its number; the exit code is then 2.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>

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
  for (int i = 0; i < witness.leaves(); ++i) out += (i > 0 ? "," : "") + std::to_string(witness.value[i]);
  out += ']';
}

void write(std::string& out, const Verdict<Layout>& v) {
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
  if (at == line.end() || !at->is_string()) throw CommandError{2, std::string("field \"") + key + "\" must be a text"};
  return at->get_ref<const std::string&>();
}

Layout layout_of(const Json& line, const char* key) {
  const Verdict<Layout> v = parse_layout(text_of(line, key));
  if (!v.ok()) throw CommandError{2, std::string(key) + ": " + std::string(v.reason().view())};
  return v.value;
}

Tiler tiler_of(const Json& line) {
  const Verdict<Tiler> v = parse_tiler(text_of(line, "b"));
  if (!v.ok()) throw CommandError{2, "b: " + std::string(v.reason().view())};
  return v.value;
}

int64_t integer_of(const Json& value, const char* key) {
  if (!value.is_number_integer()) throw CommandError{2, std::string("field \"") + key + "\" must be a 64-bit integer"};
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(int64_largest))
    throw CommandError{2, std::string("field \"") + key + "\": overflow: the number does not fit 64 bits"};
  return value.get<int64_t>();
}

void eval_line(std::string& out, const Json& line) {
  const Verdict<ComposedLayout> l = parse_composed(text_of(line, "a"));
  if (!l.ok()) throw CommandError{2, "a: " + std::string(l.reason().view())};
  const auto x = line.find("x");
  if (x == line.end()) {
    constexpr int64_t most = int64_t{1} << 20;
    if (l->size() > most) throw CommandError{1, std::to_string(l->size()) + " values are too many to list; give \"x\""};
    out += R"("ok":true,"values":[)";
    for (int64_t i = 0; i < l->size(); ++i) out += (i > 0 ? "," : "") + std::to_string(l.value(i));
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
  out += R"("ok":true,"value":)" + std::to_string(offset_at(l.value, c));
}

void equal_line(std::string& out, const Json& line) {
  const Layout a = layout_of(line, "a"), b = layout_of(line, "b");
  out += equal(a, b) ? R"("ok":true,"equal":true)" : R"("ok":true,"equal":false)";
}

// A refusal says in "flat" which layout has the function without refining B, where coalescing B shows one.
void compose_line(std::string& out, const Layout& a, const Tiler& b) {
  const Verdict<Layout> v = b.by_mode ? compose_modes(a, b.layout) : compose(a, b.layout);
  write(out, v);
  if (v.ok() || b.by_mode) return;
  const Verdict<Layout> merged = compose(a, coalesce(b.layout));
  if (merged.ok()) out.append(R"(,"flat":")").append(to_text(coalesce(merged.value)).view()).append("\"");
}

void answer_line(std::string& out, const Json& line) {
  const std::string_view op = text_of(line, "op");
  if (op == "eval") return eval_line(out, line);
  if (op == "equal") return equal_line(out, line);
  const Layout a = layout_of(line, "a");
  if (op == "coalesce") return write(out, accept(coalesce(a)));
  if (op == "right_inverse") return write(out, accept(right_inverse(a)));
  if (op == "left_inverse") return write(out, left_inverse(a));
  if (op == "complement") {
    const auto m = line.find("m");
    return write(out, m == line.end() ? complement(a) : complement(a, integer_of(*m, "m")));
  }
  if (op != "compose" && op != "divide" && op != "product")
    throw CommandError{2, "unknown op \"" + std::string(op) + "\""};
  const Tiler b = tiler_of(line);
  if (op == "compose") return compose_line(out, a, b);
  if (op == "divide") return write(out, b.by_mode ? divide_modes(a, b.layout) : divide(a, b.layout));
  write(out, b.by_mode ? product_modes(a, b.layout) : product(a, b.layout));
}

int run_batch(std::istream& in) {
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
      const bool plain = id != line.end() && id->is_primitive();  // a nested one could be deeper than the stack
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
    if (run_batch(name->empty() ? std::cin : file) != 0) throw CommandError{2, "some lines are no JSON objects"};
  });
}

}  // namespace warpfold::cli::layout_tool
