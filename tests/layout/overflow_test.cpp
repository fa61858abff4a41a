// Numbers at the end of 64 bits: whatever does not fit is refused by name, and no refusal prints a wrapped number.
#include <gtest/gtest.h>

#include "oracle.h"

namespace warpfold::layout {
namespace {

using oracle::read;
using oracle::text;

constexpr int64_t big = int64_t{1} << 62;

TEST(Overflow, CompositionPastSixtyFourBits) {
  const Layout a = read("(2,2):(1,4611686018427387904)"), b = read("(2,2):(4611686018427387904,1)");
  const Verdict<Layout> v = compose_flat(a, b);
  EXPECT_EQ(v.why.reason, Reason::composed_overflow) << text(v);
  EXPECT_EQ(text(v),
            "overflow: at coordinate (1,0) B has 4611686018427387904, and A there or the layout's offset "
            "does not fit 64 "
            "bits");
  EXPECT_EQ(text(compose(a, b)), text(v));
  // The coordinate that decides has no value: neither a turn nor a carry can be claimed with numbers.
  const Verdict<Layout> turn = compose(read("(5,2):(1152921504606846976,1)"), make_layout(3, 4));
  EXPECT_EQ(turn.why.reason, Reason::composed_overflow) << text(turn);
  const Verdict<Layout> carry = compose(read("(6,2):(1152921504606846976,7)"), read("(2,2):(4,5)"));
  EXPECT_EQ(carry.why.reason, Reason::composed_overflow) << text(carry);
}

// A gap between modes may be wider than 64 bits where every offset fits.
TEST(Overflow, WideGapsComposeAllTheSame) {
  EXPECT_EQ(text(compose(read("(3,2):(4300000000000000000,1)"), make_layout(2, 1))), "2:4300000000000000000");
  EXPECT_EQ(text(compose(read("(3,2):(4300000000000000000,1)"), make_layout(2, 3))), "2:1");
  EXPECT_EQ(text(compose(read("(3,2):(-4300000000000000000,1)"), read("(3,2):(1,3)"))),
            "(3,2):(-4300000000000000000,1)");
  EXPECT_EQ(compose(read("(3,2):(4300000000000000000,1)"), read("(2,2):(2,1)")).why.reason,
            Reason::composed_overflow);
  EXPECT_EQ(text(compose(read("(2,2):(4000000000000000000,-5000000000000000000)"), read("(2,2):(2,1)"))),
            "(2,2):(-5000000000000000000,4000000000000000000)");
  // Mixed signs
  EXPECT_EQ(text(compose(read("(3,2,2):(2300000000000000000,1,3)"), read("(3,2):(1,3)"))),
            "(3,2):(2300000000000000000,1)");
}

// A mode of one element never takes its step, so A's offset there need not fit.
TEST(Overflow, StepsThatAreNotTaken) {
  EXPECT_EQ(text(compose(read("4:2305843009213693952"), read("(2,1):(1,8)"))), "(2,1):(2305843009213693952,0)");
  EXPECT_EQ(compose(read("4:2305843009213693952"), read("(2,2):(1,8)")).why.reason, Reason::composed_overflow);
}

// 2 * 2^62 is no stride, though it would wrap to the next one.
TEST(Overflow, CoalescingDoesNotWrap) {
  const Layout l = read("(2,1):(4611686018427387904,-9223372036854775808)");
  EXPECT_EQ(coalesce_extended(l), l);
  EXPECT_EQ(text(coalesce(l)), "2:4611686018427387904");
}

TEST(Overflow, Capacity) {
  std::vector<int64_t> shape(max_leaves, 2), stride;
  for (int i = 0; i < max_leaves; ++i) stride.push_back(int64_t{2} << 2 * i);
  const Layout l = oracle::flat(shape, stride);  // a gap of 2 before each mode
  EXPECT_EQ(complement(l, int64_t{1} << 48)->leaves(), max_leaves);
  EXPECT_EQ(text(complement(l, int64_t{1} << 50)), "the result needs more than 24 modes");
  EXPECT_EQ(divide(make_layout(int64_t{1} << 48, 1), l).why.reason, Reason::too_many_modes);
  EXPECT_EQ(product(l, read("2:1")).why.reason, Reason::too_many_modes);
  const Layout full = *column_major(oracle::flat(shape, stride).shapes());  // leaves no room for a rest of one tile
  for (const Form form : {Form::logical, Form::tiled, Form::flat})
    EXPECT_EQ(divide(make_layout(int64_t{1} << 24, 1), full, form).why.reason, Reason::too_many_modes);
  EXPECT_EQ(compose(make_layout(int64_t{1} << 50, 1), l).value, l);
  EXPECT_EQ(compose(l, read("16777216:1"))->leaves(), max_leaves);
  EXPECT_EQ(compose(l, read("(16777216,2):(1,16777216)")).why.reason, Reason::too_many_modes);
}

TEST(Overflow, SearchNamesTheWorkThatWasAllowed) {
  const Verdict<Layout> joint = compose(read("(3,5,4):(2,2,14)"), read("(3,3):(7,4)"), 4);
  EXPECT_EQ(text(joint), "undecided: more than 4 steps of search would be needed");
  const Verdict<Layout> run = compose(read("(6,3,8):(3,3,24)"), make_layout(1000, 16), 1);
  EXPECT_EQ(text(run), "undecided: more than 1 steps of search would be needed");
}

TEST(Overflow, TablesOfValues) {
  const int64_t wide[] = {0, big, 5}, longer[] = {0, big, 0, 7};
  EXPECT_EQ(text(recognise(wide, 3)),
            "not a layout: at index 2 the value is 5 but a layout would have one past 64 bits");
  EXPECT_EQ(text(recognise(longer, 4)),
            "not a layout: at index 3 the value is 7 but a layout would have 4611686018427387904");
  const int64_t high[] = {0, big, int64_largest};
  EXPECT_EQ(recognise(high, 3).why.reason, Reason::not_a_layout_wide);
}

TEST(Overflow, CompactLayouts) {
  const IntTuple shape = ints(int64_t{1} << 32, int64_t{1} << 32, 4);
  EXPECT_EQ(text(row_major(shape)),
            "overflow: the size 17179869184 * 4294967296 at mode 0 does not fit 64 bits");
  EXPECT_EQ(column_major(shape).why.reason, Reason::size_overflow);
  EXPECT_EQ(row_major(ints(4, 0)).why.reason, Reason::bad_size);
  EXPECT_EQ(text(row_major(*parse_tuple("(4,(2,3))"))), "(4,(2,3)):(6,(3,1))");
}

TEST(Overflow, ShapeAndStrideAreNestedAlike) {
  EXPECT_EQ(text(make_layout(*parse_tuple("(4,(2,3))"), ints(1, 2))),
            "the stride is not nested like the shape");
  EXPECT_EQ(make_layout(ints(4, 2), ints(big, 1)).why.reason, Reason::offset_overflow);
  EXPECT_EQ(text(make_layout(ints(4, 2), ints(1, 8))), "(4,2):(1,8)");
}

TEST(Overflow, Recast) {
  EXPECT_EQ(text(downcast(read("4:3"), int64_largest)),
            "overflow: the offset 9223372036854775807 * 3 of mode 0 does not fit 64 bits");
  EXPECT_EQ(downcast(read("4:1"), int64_largest).why.reason, Reason::size_overflow);
}

TEST(Overflow, Slices) {
  const Layout l = read("(4,(2,3)):(3,(12,1))");
  EXPECT_EQ(text(slice(l, ints(all, int64_largest)).reason()), "");
  const IntTuple far = ints(int64_largest, all);
  EXPECT_EQ(text(slice(l, far).reason()),
            "overflow: the offset at " + text(to_text(far)) + " does not fit 64 bits");
  EXPECT_EQ(slice(read("4:3"), ints(int64_largest)).why.reason, Reason::coordinate_overflow);
}

}  // namespace
}  // namespace warpfold::layout
