// `warpfold layout explain`: every step of a composition, complement, division or product with its numbers;
// with a tiler <4:1,8:2> mode by mode.
#include <cstdio>
#include <memory>

#include "cli/layout/common.h"

namespace warpfold::cli::layout_tool {

using namespace layout;

namespace {

void say(const std::string& line) { std::printf("%s\n", line.c_str()); }
std::string number(int64_t n) { return std::to_string(n); }
std::string pair(int64_t size, int64_t stride) { return number(size) + ":" + number(stride); }

void explain_boundaries(const detail::Composer& composer) {
  const detail::Boundaries& at = composer.at;
  if (at.count == 0) return say("  A is one mode: it never turns, so every B composes");
  for (int t = 0; t < at.count; ++t)
    say("  P_" + number(t + 1) + " = " + number(at.prefix[t]) + ", gap g_" + number(t + 1) + " = " +
        number(composer.a.shape[t]) + "*" + number(composer.a.stride[t]) + " - " +
        number(composer.a.stride[t + 1]) + " = " +
        (detail::Composer::is_cut_off(at.gap[t]) ? "past 64 bits" : number(at.gap[t])));
  say(at.one_sign()
          ? "  the gaps have one sign: nothing cancels, and the carry test below is exact"
          : "  the gaps have both signs: a carry may cancel, so a failed carry test is decided by search");
}

void explain_pieces(const detail::Composer& composer, const Layout& b) {
  for (int p = 0; p < composer.count; ++p) {
    const detail::Piece& piece = composer.pieces[p];
    int64_t stride = 0;
    const bool fits = extended_checked(composer.a, piece.step, stride);
    const bool whole = piece.size == b.shape[piece.leaf];
    say("  mode " + number(piece.leaf) + " of B, " + pair(b.shape[piece.leaf], b.stride[piece.leaf]) +
        (whole ? "" : ", cut: " + pair(piece.size, piece.step)) + "  ->  " + number(piece.size) + " : A(" +
        number(piece.step) + ") = " + (fits ? pair(piece.size, stride) : "past 64 bits"));
  }
}

// Returns whether there is a carry.
bool explain_carries(const detail::Composer& composer) {
  bool carries = false;
  for (int t = 0; t < composer.at.count; ++t) {
    std::string sum;
    for (int p = 0; p < composer.count; ++p) {
      const detail::Piece& piece = composer.pieces[p];
      const int64_t rho = floor_mod(piece.step, composer.at.prefix[t]);
      if (rho == 0 || piece.size == 1) continue;
      sum += (sum.empty() ? "" : " + ") + number(piece.size - 1) + "*" + number(rho);
    }
    const bool fits = composer.most[t] < composer.at.prefix[t];
    say("  t = " + number(t + 1) + ": " +
        (sum.empty() ? "0"
                     : sum + " = " +
                           (composer.most[t] == int64_largest ? "past 64 bits" : number(composer.most[t]))) +
        (fits ? " < " : " >= ") + number(composer.at.prefix[t]) + (fits ? ", no carry" : ", carries"));
    carries = carries || !fits;
  }
  return carries;
}

Verdict<Layout> explain_compose(const Layout& a, const Layout& b) {
  say("compose A o B = R with R(x) = A(B(x))");
  say("  A = " + print(a) + "\n  B = " + print(b));
  const Layout straight = coalesce_extended(a);
  say("1. coalesce A: " + print(straight));
  Why why;
  detail::Composer composer(straight, b, why, composition_work);
  composer.find_boundaries();
  bool good = true;
  explain_boundaries(composer);
  say("2. cut B's modes where A turns: n = min over t of ceil(P_t / (r mod P_t)) must divide N");
  for (int k = 0; good && k < b.leaves(); ++k) good = composer.cut(k);
  explain_pieces(composer, b);
  const Verdict<Layout> v = compose(a, b);
  if (good) {
    say("3. all modes together must not carry: sum of (n-1)*(r mod P_t) < P_t");
    if (explain_carries(composer) && v.ok())
      say("  searched: sum over t of g_t * floor(sum of x*(r mod P_t) / P_t) = 0 at every coordinate x, the "
          "carries cancel");
  }
  if (!v.ok()) {
    say("refused: " + std::string(v.reason().view()));
    const Verdict<Layout> flattened = compose_flat(a, b);
    if (flattened.ok())
      say("the function is the layout " + print(flattened.value) + ", which does not refine B's modes");
    return v;
  }
  say("R = " + print(v.value));
  if (!in_domain(a, b))
    say("  B reaches " + number(b.lowest()) + ".." + number(b.highest()) + ", outside [0," +
        number(a.size()) + "): A's last mode is continued");
  return v;
}

Verdict<Layout> explain_complement(const Layout& a, int64_t m) {
  say("complement of A = " + print(a) + " in [0," + number(m) + ")");
  const Layout sorted = sort_modes(a);
  say("1. sort A by stride: " + print(sorted));
  say("2. the chain 1 | d_0 | N_0*d_0 | d_1 | ... | M; the quotients are the sizes");
  int64_t extent = 1;
  for (int i = 0; i < sorted.leaves() && sorted.shape[0] > 1; ++i) {
    const int64_t n = sorted.shape[i], d = sorted.stride[i];
    int64_t end = 0;
    if (d <= 0 || !checked_mul(n, d, end)) break;
    const bool divides_it = divides(extent, d);
    say("  " + number(extent) + (divides_it ? " | " : " does not divide ") + number(d) +
        (divides_it
             ? ": free " + pair(d / extent, extent) + ", then A's " + pair(n, d) + " up to " + number(end)
             : ""));
    if (!divides_it) break;
    extent = end;
  }
  const Verdict<Layout> v = complement(a, m);
  if (v.ok()) {
    say("  " + number(extent) + " | " + number(m) + ": free " + pair(m / extent, extent));
    say("B = " + print(v.value));
  } else {
    say("refused: " + std::string(v.reason().view()));
  }
  return v;
}

// A / B by one tile; by mode the tile and the layout are those of one mode.
Verdict<Layout> explain_divide(const Layout& a, const Layout& b) {
  say("divide A / B = A o (B, complement(B, |A|))");
  say("  A = " + print(a) + ", |A| = " + number(a.size()) + "\n  B = " + print(b));
  Verdict<Layout> rest = explain_complement(b, a.size());
  const Verdict<Layout> v = divide(a, b);
  if (!rest.ok() && v.grade == Grade::padded && v.ok()) {
    rest = detail::complement_of_sorted(sort_modes(b), a.size(), true);
    say("padded: " + number(a.size()) + " rounds up to " + number(rest->size() * b.size()) +
        "; B* = " + print(rest.value));
  }
  const Verdict<Layout> both = detail::tile_and_rest(b, a.size());
  if (both.ok()) explain_compose(a, both.value);
  if (!v.ok()) say("A / B is refused: " + std::string(v.reason().view()));
  if (v.ok()) say("A / B = " + print(v.value) + "   (" + std::string(grade_name(v.grade)) + ")");
  return v;
}

Verdict<Layout> explain_product(const Layout& a, const Layout& b) {
  say("product A (x) B = (A, A* o B), A* = complement(A, |A| * cosize(B)), continued past its end");
  say("  A = " + print(a) + ", |A| = " + number(a.size()) + "\n  B = " + print(b) +
      ", cosize(B) = " + number(b.cosize()));
  const Verdict<Layout> v = product(a, b);
  int64_t room = 0;
  const Verdict<Layout> free = checked_mul(a.size(), b.cosize(), room) ? complement_padded(a, room) : v;
  if (free.ok()) {
    say("A* in [0," + number(room) + ") = " + print(free.value) +
        (filter(a).size() != a.size() ? ", A's broadcast modes left out" : ""));
    explain_compose(free.value, b);
  }
  if (!v.ok()) say("refused: " + std::string(v.reason().view()));
  if (v.ok()) say("A (x) B = " + print(v.value) + "   (" + std::string(grade_name(v.grade)) + ")");
  if (v.grade == Grade::overlapping) say("  " + std::string(overlap(v.value).reason().view()));
  return v;
}

using Explain = Verdict<Layout> (*)(const Layout&, const Layout&);

// Mode m of A with mode m of the tiler, each on its own; then the whole, whose reason ends the command.
void explain_modes(const Layout& a, const Layout& tiler, Explain one, const Verdict<Layout>& whole,
                   const char* name) {
  for (int m = 0; m < a.rank() && m < tiler.rank(); ++m) {
    say((m > 0 ? "\nmode " : "mode ") + number(m));
    if (!one(a.mode(m), tiler.mode(m)).ok()) break;
  }
  const std::string result = print(answer(whole));
  if (a.rank() > tiler.rank()) say("\nmodes from " + number(tiler.rank()) + " on of A stay as they are");
  say(std::string("\n") + name + " = " + result + "   (" + std::string(grade_name(whole.grade)) + ")");
}

}  // namespace

void add_explain_command(CLI::App& app) {
  struct Arguments {
    std::string op, a, b;
  };
  const auto x = std::make_shared<Arguments>();
  CLI::App* sub =
      app.add_subcommand("explain", "each step of compose, divide or product A B, or complement A M");
  sub->add_option("op", x->op)
      ->required()
      ->check(CLI::IsMember({"compose", "divide", "product", "complement"}));
  sub->add_option("A", x->a, "a layout")->required();
  sub->add_option("B", x->b, "a layout or a tiler <4:1,8:2>; for complement M, a number or a shape")
      ->required();
  sub->callback([x] {
    const Layout a = read_layout("A", x->a);
    if (x->op == "complement") {
      answer(explain_complement(a, read_argument("M", x->b, parse_room(x->b))));
      return;
    }
    const Tiler tiler = read_tiler("B", x->b);
    const Layout& b = tiler.layout;
    const bool compose_them = x->op == "compose", divide_them = x->op == "divide";
    const Explain one = compose_them ? explain_compose : divide_them ? explain_divide : explain_product;
    if (!tiler.by_mode) {
      answer(one(a, b));
      return;
    }
    explain_modes(a, b, one,
                  compose_them  ? compose_modes(a, b)
                  : divide_them ? divide_modes(a, b)
                                : product_modes(a, b),
                  compose_them  ? "A o B"
                  : divide_them ? "A / B"
                                : "A (x) B");
  });
}

}  // namespace warpfold::cli::layout_tool
