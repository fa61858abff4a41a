// Properties over generated layouts of production sizes (rapidcheck): nested profiles, sizes up to 2^40, where brute
// force stops and values are checked at random points.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "oracle.h"

namespace warpfold::layout {
namespace {

using oracle::text;

// A nested layout of 1 to 6 modes with sizes up to 12 and strides in [-64, 4096].
rc::Gen<Layout> any_layout() {
  return rc::gen::exec([] {
    const int leaves = *rc::gen::inRange(1, 7);
    LayoutBuilder builder;
    builder.begin();
    int open = 0;
    for (int i = 0; i < leaves; ++i) {
      if (*rc::gen::inRange(0, 3) == 0) builder.begin(), ++open;
      builder.add(*rc::gen::inRange<int64_t>(1, 13), *rc::gen::inRange<int64_t>(-64, 4097));
      if (open > 0 && *rc::gen::inRange(0, 2) == 0) builder.end(), --open;
    }
    while (open-- >= 0) builder.end();
    return builder.layout();
  });
}

// A compact layout of rank 1 to 6 with power-of-two-ish sizes, its modes permuted: the shape of real tensors.
rc::Gen<Layout> tensor_layout() {
  return rc::gen::exec([] {
    const int rank = *rc::gen::inRange(1, 7);
    std::vector<int64_t> shape, stride(rank), order;
    for (int i = 0; i < rank; ++i) {
      shape.push_back(*rc::gen::element<int64_t>(2, 3, 4, 8, 12, 16, 64, 128));
      order.push_back(i);
    }
    for (int i = rank - 1; i > 0; --i) std::swap(order[i], order[*rc::gen::inRange(0, i + 1)]);
    int64_t extent = 1;
    for (const int64_t i : order) {
      stride[i] = extent;
      extent *= shape[i];
    }
    return oracle::flat(shape, stride);
  });
}

void expect_holds(bool passed) { EXPECT_TRUE(passed); }

TEST(Property, TextRoundTrip) {
  expect_holds(rc::check("a printed layout reads back as itself", [] {
    const Layout l = *any_layout();
    RC_ASSERT(*parse_layout(text(l)) == l);
  }));
}

TEST(Property, CoordinatesRoundTrip) {
  expect_holds(rc::check("index -> coordinate -> index and offset", [] {
    const Layout l = *any_layout();
    const int64_t x = *rc::gen::inRange<int64_t>(0, l.size());
    const IntTuple c = l.coordinate(x);
    RC_ASSERT(l.index(c) == x);
    RC_ASSERT(l(c) == oracle::value(l, x));
    RC_ASSERT(l.profile.accepts(c.profile));
    // One number for each top-level mode names the same element
    IntTuple by_mode;
    by_mode.profile = Profile::flat(l.rank());
    int64_t rest = x;
    for (int m = 0; m < l.rank(); ++m) {
      by_mode.value[m] = rest % l.mode(m).size();
      rest /= l.mode(m).size();
    }
    RC_ASSERT(l(by_mode) == l(x));
  }));
}

TEST(Property, CoalesceKeepsTheFunction) {
  expect_holds(rc::check("coalesce, by mode and extended", [] {
    const Layout l = *any_layout();
    const int64_t x = *rc::gen::inRange<int64_t>(0, l.size());
    const int64_t far = *rc::gen::inRange<int64_t>(-100'000, 100'000);
    RC_ASSERT(coalesce(l)(x) == l(x));
    RC_ASSERT(coalesce_modes(l)(x) == l(x));
    RC_ASSERT(coalesce_extended(l).extended(far) == oracle::value(l, far));
    RC_ASSERT(equal(l, coalesce(l)) && equal(l, flatten(l)) && equal_modes(l, coalesce_modes(l)));
  }));
}

TEST(Property, CompositionOfTensorsAndTiles) {
  expect_holds(rc::check("A(B(x)) = R(x) at random points", [] {
    const Layout a = *tensor_layout();
    const Layout b = *tensor_layout();
    const Verdict<Layout> v = compose(a, b);
    if (!v.ok()) {
      const int64_t at = b(v.why.witness);
      RC_ASSERT(oracle::value(a, at) == v.why.n[3]);
      RC_ASSERT(v.why.n[3] != v.why.n[4]);
      return;
    }
    for (int i = 0; i < 20; ++i) {
      const int64_t x = *rc::gen::inRange<int64_t>(0, b.size());
      RC_ASSERT(v.value(x) == oracle::value(a, b(x)));
    }
  }));
}

TEST(Property, CompositionIsAssociativeInDomain) {
  expect_holds(rc::check("(A o B) o C = A o (B o C) when C stays inside B", [] {
    const Layout a = *tensor_layout(), b = *tensor_layout();
    const Layout c = make_layout(*rc::gen::inRange<int64_t>(1, 9), *rc::gen::inRange<int64_t>(0, 9));
    const Verdict<Layout> ab = compose(a, b), bc = compose(b, c);
    RC_PRE(in_domain(b, c) && ab.ok() && bc.ok());
    const Verdict<Layout> left = compose(ab.value, c), right = compose(a, bc.value);
    if (left.ok() && right.ok()) RC_ASSERT(equal(left.value, right.value));
  }));
}

TEST(Property, DivisionByShapesThatDivide) {
  expect_holds(rc::check("tiles of a dividing shape are exact and refine the tensor", [] {
    const Layout a = *tensor_layout();
    LayoutBuilder tiler;
    tiler.begin();
    for (int m = 0; m < a.leaves(); ++m) {
      const int64_t n = a.shape[m];
      tiler.add(gcd(n, *rc::gen::element<int64_t>(1, 2, 4, 8, 16)), 1);
    }
    tiler.end();
    const Layout bare = a.profile.is_scalar() ? tiler.layout().mode(0) : tiler.layout();
    const Verdict<Layout> v = divide_modes(a, bare, Form::zipped);
    RC_ASSERT(v.ok());
    RC_ASSERT(v.grade == Grade::exact);
    RC_ASSERT(v->size() == a.size());
    RC_ASSERT(v->mode(0).size() == bare.size());
  }));
}

TEST(Property, ComplementOfTensorModes) {
  expect_holds(rc::check("the modes that are left out are the complement", [] {
    const Layout a = *tensor_layout();
    const int keep = *rc::gen::inRange(0, a.leaves());
    const Layout part = a.mode(keep);
    const Verdict<Layout> v = complement(part, a.size());
    RC_ASSERT(v.ok());
    RC_ASSERT(v->size() * part.size() == a.size());
    RC_ASSERT(complement(v.value, a.size()).ok());
    RC_ASSERT(equal(*complement(v.value, a.size()), part));
  }));
}

TEST(Property, RightInverseOfTensorsIsTwoSided) {
  expect_holds(rc::check("permuted compact layouts invert", [] {
    const Layout a = *tensor_layout();
    const Layout r = right_inverse(a);
    const int64_t x = *rc::gen::inRange<int64_t>(0, a.size());
    RC_ASSERT(r.size() == a.size());
    RC_ASSERT(a(r(x)) == x && r(a(x)) == x);
    RC_ASSERT(equal(*left_inverse(a), r));
    RC_ASSERT(a.coordinate(x) == *coordinate_of_offset(a, a(x)));
  }));
}

TEST(Property, Slices) {
  expect_holds(rc::check("a slice plus its offset is the layout", [] {
    const Layout l = *any_layout();
    IntTuple at;
    at.profile = Profile::flat(l.rank());
    const int free = *rc::gen::inRange(0, l.rank());
    for (int m = 0; m < l.rank(); ++m)
      at.value[m] = m == free ? all : *rc::gen::inRange<int64_t>(0, l.mode(m).size());
    const Verdict<Slice> s = slice(l, at);
    RC_ASSERT(s.ok());
    RC_ASSERT(s->layout == l.mode(free));
    at.value[free] = *rc::gen::inRange<int64_t>(0, l.mode(free).size());
    RC_ASSERT(s->offset + s->layout(at.value[free]) == l(at));
  }));
}

// Whatever the text, the reader returns a layout or a column inside the text.
TEST(Property, ReaderIsTotal) {
  expect_holds(rc::check("any text", [] {
    const std::string s = *rc::gen::container<std::string>(rc::gen::element('(', ')', ',', ':', '1', '9', '-', ' ', 'S', 'w', '<', '>'));
    const Verdict<Layout> v = parse_layout(s);
    if (v.ok()) RC_ASSERT(*parse_layout(text(v.value)) == v.value);
    if (v.why.reason == Reason::syntax) RC_ASSERT(v.why.n[0] >= 1 && v.why.n[0] <= static_cast<int64_t>(s.size()) + 1);
  }));
}

}  // namespace
}  // namespace warpfold::layout
