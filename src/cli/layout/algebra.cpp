// The sub-commands that compute: eval, coalesce, complement, compose, divide, product, inverse, equal, recognise,
// swizzle. Each prints one answer, or ends with the reason.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "cli/layout/common.h"

namespace warpfold::cli::layout_tool {

using namespace layout;

namespace {

struct Arguments {
  std::string a, b, m, form = "logical";
  std::vector<std::string> rest;
  int64_t from = 0, to = 0;
  bool modes = false, extended = false, padded = false, left = false, flat = false;
};

using Shared = std::shared_ptr<Arguments>;

CLI::App* command(CLI::App& app, const char* name, const char* help, const Shared& arguments, bool two) {
  CLI::App* sub = app.add_subcommand(name, help);
  sub->add_option("A", arguments->a, "a layout")->required();
  if (two) sub->add_option("B", arguments->b, "a layout, or a tiler <4:1,8:2>")->required();
  return sub;
}

void show(const std::string& line) { std::printf("%s\n", line.c_str()); }

// Beside the answer, so that the answer stays what the next command reads.
void remark(const std::string& line) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", line.c_str());
}

std::vector<int64_t> numbers(std::string_view name, const std::vector<std::string>& texts) {
  std::vector<int64_t> list;
  for (const std::string& text : texts) list.push_back(read_number(name, text));
  return list;
}

void eval(const Arguments& x) {
  const ComposedLayout l = read_composed("A", x.a);
  for (const std::string& at : x.rest) {
    show(std::to_string(offset_at(l, read_tuple("coordinate", at), x.extended, "--extended")));
  }
  if (!x.rest.empty()) return;
  constexpr int64_t most = int64_t{1} << 20;
  if (l.size() > most)
    throw CommandError{1, std::to_string(l.size()) + " values are too many to list; name the coordinates"};
  std::string line;
  for (int64_t i = 0; i < l.size(); ++i) line += (i > 0 ? " " : "") + std::to_string(l(i));
  show(line);
}

void coalesce_command(const Arguments& x) {
  ComposedLayout l = read_composed("A", x.a);
  l.layout = x.modes      ? coalesce_modes(l.layout)
             : x.extended ? coalesce_extended(l.layout)
                          : coalesce(l.layout);
  show(print(l));
}

void complement_command(const Arguments& x) {
  const Layout l = read_layout("A", x.a);
  if (x.m.empty() && x.padded) throw CommandError{2, "--padded rounds M up: give M"};
  if (x.m.empty()) return show(print(answer(complement(l))));
  const int64_t m = read_argument("M", x.m, parse_room(x.m));
  show(print(answer(x.padded ? complement_padded(l, m) : complement(l, m))));
}

void equal_command(const Arguments& x) {
  const ComposedLayout a = read_composed("A", x.a), b = read_composed("B", x.b);
  const bool plain = a.swizzle.bits == 0 && b.swizzle.bits == 0 && a.offset == 0 && b.offset == 0;
  if (x.extended && !plain)
    throw CommandError{2, "--extended compares plain layouts, without a swizzle in front"};
  const int64_t index =
      x.extended ? first_extended_difference(a.layout, b.layout) : answer(first_difference(a, b));
  if (index >= 0 || (!x.extended && a.size() != b.size()))
    throw CommandError{1, difference(a, b, x.extended, index)};
  show("equal: " + (x.extended ? print(coalesce_extended(a.layout)) : print(coalesce(a))));
}

void compose_command(const Arguments& x) {
  const ComposedLayout a = read_composed("A", x.a);
  const Tiler b = read_tiler("B", x.b);
  const Verdict<ComposedLayout> v = b.by_mode ? compose_modes(a, b.layout) : compose(a, b.layout);
  if (!v.ok() && !b.by_mode) {
    const Verdict<Layout> flattened = compose_flat(a.layout, b.layout);
    const std::string text = print(ComposedLayout{a.swizzle, a.offset, flattened.value});
    if (flattened.ok() && x.flat) return show(text);
    if (flattened.ok())
      throw CommandError{1, std::string(v.reason().view()) + "\nthe function is the layout " + text +
                                ", which does not refine B's modes (--flat accepts it)"};
  }
  show(print(answer(v)));
}

void divide_command(const Arguments& x) {
  const ComposedLayout a = read_composed("A", x.a);
  const Tiler b = read_tiler("B", x.b);
  const Form form = form_of(x.form);
  const Verdict<ComposedLayout> v = b.by_mode ? divide_modes(a, b.layout, form) : divide(a, b.layout, form);
  if (v.why.reason == Reason::lossy) {
    bool complete = true;
    const std::string indices = list_lost(v.why, " ", complete);
    throw CommandError{1,
                       std::string(v.reason().view()) + "\nindices: " + indices + (complete ? "" : " ...")};
  }
  show(print(answer(v)));
  if (v.grade == Grade::exact) return;
  std::string note;
  for (const Outside& o : outside_of(a.layout, b))
    note += (note.empty() ? "" : ", ") + std::string("the indices from ") + std::to_string(o.from) + " to " +
            std::to_string(o.to) + (b.by_mode ? " of mode " + std::to_string(o.mode) : "");
  remark("padded: size " + std::to_string(v->size()) + " for " + std::to_string(a.size()) +
         " elements; predicate " + note);
}

void product_command(const Arguments& x) {
  const Layout a = read_layout("A", x.a);
  const Tiler b = read_tiler("B", x.b);
  const bool interleaved = x.form == "blocked" || x.form == "raked";
  if (interleaved && b.by_mode)
    throw CommandError{2, "B: " + x.form + " takes a layout, its modes side by side with A's"};
  const Verdict<Layout> v = x.form == "blocked" ? blocked_product(a, b.layout)
                            : x.form == "raked" ? raked_product(a, b.layout)
                            : b.by_mode         ? product_modes(a, b.layout, form_of(x.form))
                                                : product(a, b.layout, form_of(x.form));
  show(print(answer(v)));
  if (v.grade == Grade::overlapping) remark("overlapping: " + std::string(overlap(v.value).reason().view()));
}

void inverse_command(const Arguments& x) {
  const ComposedLayout c = read_composed("A", x.a);
  if (c.swizzle.bits != 0 || c.offset != 0) return show(print(answer(inverse(c))));
  show(print(x.left ? answer(left_inverse(c.layout)) : right_inverse(c.layout)));
}

// The bits of a matrix that do not simply stay: y4 = x4 ^ x7.
std::string equations(const Gf2Matrix& m) {
  std::string lines;
  for (int row = 0; row < m.rows; ++row) {
    std::string sum;
    for (int i = 0; i < m.columns; ++i)
      if (m.column[i] >> row & 1) sum += (sum.empty() ? "x" : " ^ x") + std::to_string(i);
    if (sum != "x" + std::to_string(row)) lines += "\ny" + std::to_string(row) + " = " + sum;
  }
  return lines;
}

void swizzle_command(const Arguments& x) {
  const auto read = [&x](const char* name, const std::string& text) {
    const Swizzle s = read_argument(name, text, parse_swizzle(text));
    return x.from != 0 || x.to != 0 ? answer(recast(s, x.from, x.to)) : s;
  };
  const Swizzle first = read("A", x.a), then = x.b.empty() ? Swizzle{} : read("--after", x.b);
  for (const int64_t offset : numbers("offset", x.rest)) show(std::to_string(then(first(offset))));
  if (!x.rest.empty()) return;
  const Verdict<Swizzle> one = x.b.empty() ? accept(first) : compose(then, first);
  if (one.ok()) return show(print(one.value));
  const int bits = std::max(to_gf2(first, 0).columns, to_gf2(then, 0).columns);
  show("no single Sw<B,M,S>; over GF(2) bit i of the result is yi, the other bits stay:" +
       equations(*multiply(to_gf2(then, bits), to_gf2(first, bits))));
}

void recognise_command(const Arguments& x) {
  const std::vector<int64_t> table = numbers("value", x.rest);
  show(print(answer(recognise(table.data(), static_cast<int64_t>(table.size())))));
}

}  // namespace

void add_algebra_commands(CLI::App& app) {
  const auto add = [&](const char* name, const char* help, bool two, auto options, auto run) {
    const Shared arguments = std::make_shared<Arguments>();
    CLI::App* sub = command(app, name, help, arguments, two);
    options(sub, *arguments);
    sub->callback([arguments, run] { run(*arguments); });
  };
  add(
      "eval", "offsets at indices or coordinates, or all of them", false,
      [](CLI::App* sub, Arguments& x) {
        sub->add_option("coordinates", x.rest, "5 or (1,(0,2))");
        sub->add_flag("--extended", x.extended, "also outside the shape, the last mode without bound");
      },
      eval);
  add(
      "coalesce", "the canonical form", false,
      [](CLI::App* sub, Arguments& x) {
        sub->add_flag("--modes", x.modes, "each top-level mode by itself");
        sub->add_flag("--extended", x.extended, "keep the function past the size");
      },
      coalesce_command);
  add(
      "complement", "the layout that completes A to [0, M)", false,
      [](CLI::App* sub, Arguments& x) {
        sub->add_option("M", x.m, "a number, or a shape of this size; default: the smallest that works");
        sub->add_flag("--padded", x.padded, "round M up to whole blocks and ignore broadcast modes");
      },
      complement_command);
  add(
      "compose", "A(B(x)) as a layout that refines B", true,
      [](CLI::App* sub, Arguments& x) {
        sub->add_flag("--flat", x.flat, "accept a layout that does not refine B");
      },
      compose_command);
  add(
      "divide", "A in tiles of B", true,
      [](CLI::App* sub, Arguments& x) {
        sub->add_option("--form", x.form, "nesting of the result")
            ->check(CLI::IsMember({"logical", "zipped", "tiled", "flat"}));
      },
      divide_command);
  add(
      "product", "copies of A in the order of B", true,
      [](CLI::App* sub, Arguments& x) {
        sub->add_option("--form", x.form, "nesting of the result")
            ->check(CLI::IsMember({"logical", "zipped", "tiled", "flat", "blocked", "raked"}));
      },
      product_command);
  add(
      "inverse", "right inverse: A(R(i)) = i; with --left J(A(i)) = i; both of a swizzled bijection", false,
      [](CLI::App* sub, Arguments& x) { sub->add_flag("--left", x.left, "the left inverse"); },
      inverse_command);
  add(
      "equal", "do A and B have one function?", true,
      [](CLI::App* sub, Arguments& x) { sub->add_flag("--extended", x.extended, "also past the size"); },
      equal_command);
  add(
      "swizzle", "applies, recasts or composes Sw<B,M,S>", false,
      [](CLI::App* sub, Arguments& x) {
        sub->add_option("offsets", x.rest, "offsets to swizzle");
        sub->add_option("--after", x.b, "another swizzle that is applied afterwards");
        add_number(sub, "--from", x.from, "recast from elements of so many bits")
            ->needs(add_number(sub, "--to", x.to, "to so many bits"));
      },
      swizzle_command);

  const Shared arguments = std::make_shared<Arguments>();
  CLI::App* recognise_sub =
      app.add_subcommand("recognise", "the layout with these values, or where it stops being one");
  recognise_sub->add_option("values", arguments->rest, "0 2 4 1 3 5")->required();
  recognise_sub->callback([arguments] { recognise_command(*arguments); });
}

}  // namespace warpfold::cli::layout_tool
