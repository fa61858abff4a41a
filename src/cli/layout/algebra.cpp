// The sub-commands that compute: eval, coalesce, complement, compose, divide, product, inverse, equal, recognise,
// swizzle. Each prints one answer, or ends with the reason.
#include <cstdio>
#include <memory>
#include <vector>

#include "cli/layout/common.h"

namespace warpfold::cli::layout_tool {

using namespace layout;

namespace {

struct Arguments {
  std::string a, b, form = "logical", kind = "logical";
  std::vector<std::string> rest;
  std::vector<int64_t> numbers;
  int64_t m = 0, from = 0, to = 0;
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

Form form_of(const std::string& name) {
  if (name == "zipped") return Form::zipped;
  if (name == "tiled") return Form::tiled;
  return name == "flat" ? Form::flat : Form::logical;
}

void eval(const Arguments& x) {
  const ComposedLayout l = read_composed("A", x.a);
  for (const std::string& at : x.rest) {
    show(std::to_string(offset_at(l, read_tuple("coordinate", at))));
  }
  if (!x.rest.empty()) return;
  constexpr int64_t most = int64_t{1} << 20;
  if (l.size() > most)
    throw CommandError{1, std::to_string(l.size()) + " values are too many to list; name the coordinates"};
  std::string line;
  for (int64_t i = 0; i < l.size(); ++i) line += (i > 0 ? " " : "") + std::to_string(l(i));
  show(line);
}

void equal_command(const Arguments& x) {
  const Layout a = read_layout("A", x.a), b = read_layout("B", x.b);
  const bool same = x.extended ? equal_extended(a, b) : equal(a, b);
  if (same) return show("equal: " + print(x.extended ? coalesce_extended(a) : coalesce(a)));
  std::string reason = "different: " + print(coalesce(a)) + " and " + print(coalesce(b));
  if (a.size() != b.size()) throw CommandError{1, reason + " have sizes " + std::to_string(a.size()) + " and " + std::to_string(b.size())};
  constexpr int64_t most = int64_t{1} << 24;
  for (int64_t i = 0; i < a.size() && i < most; ++i)
    if (a(i) != b(i))
      throw CommandError{1, reason + ": at index " + std::to_string(i) + " they are " + std::to_string(a(i)) + " and " +
                                std::to_string(b(i))};
  throw CommandError{1, reason};
}

void compose_command(const Arguments& x) {
  const Layout a = read_layout("A", x.a);
  const Tiler b = read_argument("B", x.b, parse_tiler(x.b));
  const Verdict<Layout> v = b.by_mode ? compose_modes(a, b.layout) : compose(a, b.layout);
  if (!v.ok() && !b.by_mode) {
    const Verdict<Layout> flattened = compose_flat(a, b.layout);
    if (flattened.ok() && x.flat) return show(print(flattened.value));
    if (flattened.ok())
      throw CommandError{1, std::string(v.reason().view()) + "\nthe function is the layout " + print(flattened.value) +
                                ", which does not refine B's modes (--flat accepts it)"};
  }
  show(print(answer(v)));
}

void divide_command(const Arguments& x) {
  const Layout a = read_layout("A", x.a);
  const Tiler b = read_argument("B", x.b, parse_tiler(x.b));
  const Verdict<Layout> v = b.by_mode ? divide_modes(a, b.layout, form_of(x.form)) : divide(a, b.layout, form_of(x.form));
  if (v.why.reason == Reason::lossy) {
    bool complete = true;
    const std::string indices = list_lost(v.why, " ", complete);
    throw CommandError{1, std::string(v.reason().view()) + "\nindices: " + indices + (complete ? "" : " ...")};
  }
  show(print(answer(v)));
  std::fflush(stdout);
  if (v.grade == Grade::exact) return;
  const std::string size = std::to_string(v->size()), elements = std::to_string(a.size());
  std::string note = "padded: size " + size + " for " + elements + " elements; ";
  note += b.by_mode ? "predicate the rest"
                    : "predicate the indices from " + elements + " to " + std::to_string(v->size() - 1);
  std::fprintf(stderr, "%s\n", note.c_str());
}

void product_command(const Arguments& x) {
  const Layout a = read_layout("A", x.a);
  const Tiler b = read_argument("B", x.b, parse_tiler(x.b));
  if (x.kind == "blocked") return show(print(answer(blocked_product(a, b.layout))));
  if (x.kind == "raked") return show(print(answer(raked_product(a, b.layout))));
  show(print(answer(b.by_mode ? product_modes(a, b.layout, form_of(x.kind)) : product(a, b.layout, form_of(x.kind)))));
}

void swizzle_command(const Arguments& x) {
  Swizzle s = read_argument("A", x.a, parse_swizzle(x.a));
  if (!x.b.empty()) s = answer(compose(read_argument("--after", x.b, parse_swizzle(x.b)), s));
  if (x.from != 0 || x.to != 0) s = answer(recast(s, x.from, x.to));
  if (x.numbers.empty()) return show(print(s));
  for (const int64_t offset : x.numbers) show(std::to_string(s(offset)));
}

}  // namespace

void add_algebra_commands(CLI::App& app) {
  const auto add = [&](const char* name, const char* help, bool two, auto options, auto run) {
    const Shared arguments = std::make_shared<Arguments>();
    CLI::App* sub = command(app, name, help, arguments, two);
    options(sub, *arguments);
    sub->callback([arguments, run] { run(*arguments); });
  };
  add("eval", "offsets at indices or coordinates, or all of them", false,
      [](CLI::App* sub, Arguments& x) { sub->add_option("coordinates", x.rest, "5 or (1,(0,2))"); }, eval);
  add("coalesce", "the canonical form", false,
      [](CLI::App* sub, Arguments& x) {
        sub->add_flag("--modes", x.modes, "each top-level mode by itself");
        sub->add_flag("--extended", x.extended, "keep the function past the size");
      },
      [](const Arguments& x) {
        const Layout l = read_layout("A", x.a);
        show(print(x.modes ? coalesce_modes(l) : x.extended ? coalesce_extended(l) : coalesce(l)));
      });
  add("complement", "the layout that completes A to [0, M)", false,
      [](CLI::App* sub, Arguments& x) {
        sub->add_option("M", x.m, "default: the smallest that works");
        sub->add_flag("--padded", x.padded, "round M up to whole blocks and ignore broadcast modes");
      },
      [](const Arguments& x) {
        const Layout l = read_layout("A", x.a);
        show(print(answer(x.m == 0 ? complement(l) : x.padded ? complement_padded(l, x.m) : complement(l, x.m))));
      });
  add("compose", "A(B(x)) as a layout that refines B", true,
      [](CLI::App* sub, Arguments& x) { sub->add_flag("--flat", x.flat, "accept a layout that does not refine B"); },
      compose_command);
  add("divide", "A in tiles of B", true,
      [](CLI::App* sub, Arguments& x) {
        sub->add_option("--form", x.form, "nesting of the result")
            ->check(CLI::IsMember({"logical", "zipped", "tiled", "flat"}));
      },
      divide_command);
  add("product", "copies of A in the order of B", true,
      [](CLI::App* sub, Arguments& x) {
        sub->add_option("--form", x.kind, "nesting of the result")
            ->check(CLI::IsMember({"logical", "zipped", "tiled", "flat", "blocked", "raked"}));
      },
      product_command);
  add("inverse", "right inverse: A(R(i)) = i; with --left J(A(i)) = i", false,
      [](CLI::App* sub, Arguments& x) { sub->add_flag("--left", x.left, "the left inverse"); },
      [](const Arguments& x) {
        const Layout l = read_layout("A", x.a);
        show(print(x.left ? answer(left_inverse(l)) : right_inverse(l)));
      });
  add("equal", "do A and B have one function?", true,
      [](CLI::App* sub, Arguments& x) { sub->add_flag("--extended", x.extended, "also past the size"); }, equal_command);
  add("swizzle", "applies, recasts or composes Sw<B,M,S>", false,
      [](CLI::App* sub, Arguments& x) {
        sub->add_option("offsets", x.numbers, "offsets to swizzle");
        sub->add_option("--after", x.b, "another swizzle that is applied afterwards");
        sub->add_option("--from", x.from, "recast from elements of so many bits")->needs(sub->add_option("--to", x.to, "to so many bits"));
      },
      swizzle_command);

  const Shared arguments = std::make_shared<Arguments>();
  CLI::App* recognise_sub = app.add_subcommand("recognise", "the layout with these values, or where it stops being one");
  recognise_sub->add_option("values", arguments->numbers, "0 2 4 1 3 5")->required();
  recognise_sub->callback([arguments] {
    show(print(answer(recognise(arguments->numbers.data(), static_cast<int64_t>(arguments->numbers.size())))));
  });
}

}  // namespace warpfold::cli::layout_tool
