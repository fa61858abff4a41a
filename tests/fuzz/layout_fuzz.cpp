// Any bytes as the text of two layouts and a number, a line each: a reason, or layouts that print as they are
// read. Every operation then answers without overflow, and its answer holds at the ends and in the middle, in
// 128-bit arithmetic.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "warpfold/layout/algebra.h"

namespace {

using namespace warpfold::layout;
__extension__ typedef __int128 Wide;

constexpr int64_t work = 1000;

void require(bool holds) {
  if (!holds) std::abort();
}

// The extended function of l.
Wide value(const Layout& l, Wide x) {
  Wide sum = 0;
  for (int i = 0; i < l.leaves(); ++i) {
    Wide rest = x / l.shape[i];
    if (rest * l.shape[i] > x) --rest;
    sum += (i + 1 == l.leaves() ? x : x - rest * l.shape[i]) * l.stride[i];
    x = rest;
  }
  return sum;
}

template <class Check>
void at_some(int64_t size, const Check& holds) {
  for (const int64_t x : {int64_t{0}, size / 3, size / 2, size - 1}) require(holds(x));
}

void composes(const Layout& a, const Layout& b, const Verdict<Layout>& v) {
  if (v.ok()) {
    require(check(v.value).none() && v->size() == b.size());
    at_some(b.size(), [&](int64_t x) { return value(v.value, x) == value(a, value(b, x)); });
  } else if (v.why.reason == Reason::turns || v.why.reason == Reason::carries) {
    Wide y = 0;
    for (int i = 0; i < b.leaves(); ++i) y += static_cast<Wide>(v.why.witness.value[i]) * b.stride[i];
    require(value(a, y) == v.why.n[3] && v.why.n[3] != v.why.n[4]);
  }
}

void divides(const Layout& a, const Layout& b, const Verdict<Layout>& v) {
  if (v.ok()) {
    require(v.grade == Grade::exact ? v->size() == a.size() : v->size() > a.size());
    at_some(b.size(), [&](int64_t x) { return value(v->mode(0), x) == value(a, value(b, x)); });
  } else if (v.why.reason == Reason::lossy) {
    const LostIndices lost = lost_indices(v.why);
    require(lost.first() <= lost.last() && lost.count() > 0);
    (void)lost.next(lost.first());
  }
}

void one(const Layout& l, int64_t n) {
  at_some(l.size(), [&](int64_t x) { return value(coalesce(l), x) == value(l, x); });
  const Layout right = right_inverse(l);
  at_some(right.size(), [&](int64_t x) { return value(l, value(right, x)) == x; });
  if (const auto left = left_inverse(l, work); left.ok())
    at_some(l.size(), [&](int64_t x) { return value(*left, value(l, x)) == x; });
  if (const auto v = injective(l, work); v.why.reason == Reason::not_injective)
    require(v.why.n[0] != v.why.n[1] && value(l, v.why.n[0]) == value(l, v.why.n[1]));
  if (const auto v = complement(l, n); v.ok())
    require(value(*v, v->size() - 1) + value(l, l.size() - 1) == n - 1);
  if (const auto v = complement_padded(l, n); v.ok()) require(check(v.value).none());
  for (const int64_t to : {4, 6, 8, 64})
    if (const auto v = recast(l, 16, to); v.ok()) require(check(v.value).none());
  (void)downcast(l, n);
  (void)upcast(l, n);
  (void)coordinate_of_offset(l, n);
  (void)nullspace(l);
  (void)is_tractable(l);
  if (const auto m = to_gf2(l); m.ok())
    at_some(l.size(),
            [&](int64_t x) { return static_cast<Wide>((*m)(static_cast<uint64_t>(x))) == value(l, x); });
}

void two(const Layout& a, const Layout& b) {
  composes(a, b, compose(a, b, work));
  if (b.size() <= work)
    if (const auto v = compose_flat(a, b, work); v.ok()) composes(a, b, v);
  divides(a, b, divide(a, b));
  for (const Form form : {Form::zipped, Form::tiled, Form::flat}) {
    (void)divide(a, b, form);
    (void)divide_modes(a, b, form);
    (void)product_modes(a, b, form);
  }
  if (const auto v = product(a, b); v.ok())
    require(v->rank() == 2 && equal(v->mode(0), a) && check(v.value).none());
  (void)blocked_product(a, b);
  (void)raked_product(a, b);
  if (const int64_t i = first_difference(a, b); i >= 0) require(value(a, i) != value(b, i));
  if (const int64_t i = first_extended_difference(a, b); i >= 0) require(value(a, i) != value(b, i));
  (void)max_common_vector(a, b, work);
  (void)vector_width(a, b, 16);
  (void)mutual_refinement(a.shapes(), b.shapes());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string_view line[3];
  for (std::string_view& part : line) {
    const std::size_t end = text.find('\n');
    part = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  const auto composed = parse_composed(line[0]);
  const auto b = parse_layout(line[1]);
  const auto n = parse_tuple(line[2]);
  require(composed.ok() || !composed.reason().view().empty());
  if (!composed.ok()) return 0;
  require(to_text(*parse_composed(to_text(*composed).view())).view() == to_text(*composed).view());
  const Layout& a = composed->layout;
  one(a, n.ok() && n->leaves() > 0 ? n->value[0] : 1);
  if (b.ok()) two(a, *b);
  if (b.ok()) (void)first_difference(*composed, ComposedLayout{composed->swizzle, 0, *b}, work);
  if (n.ok()) (void)slice(*composed, *n);
  return 0;
}
