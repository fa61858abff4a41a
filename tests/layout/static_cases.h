// Every operation at compile time: the same assertions for g++, clang and nvcc.
#pragma once

#include "warpfold/layout/algebra.h"

namespace warpfold::layout::static_cases {

// Values
constexpr Layout nested = "(4,(2,3)):(3,(12,1))"_layout;
static_assert(nested.size() == 24 && nested.cosize() == 24 && nested.rank() == 2 && nested.depth() == 2);
static_assert(nested(1, 5) == 17 && nested("(1,(1,2))"_tuple) == 17 && nested(21) == 17);
static_assert(nested.coordinate(21) == "(1,(1,2))"_tuple && nested.index("(1,(1,2))"_tuple) == 21);
static_assert(nested.mode(1) == "(2,3):(12,1)"_layout && nested.mode(0) == "4:3"_layout);
static_assert(to_text(nested).view() == "(4,(2,3)):(3,(12,1))");
static_assert("((2,3),4)"_layout.rank() == 2 && "((2,3))"_layout.rank() == 1 && "7"_layout.rank() == 1);
static_assert("():()"_layout.size() == 1 && "():()"_layout.rank() == 0 && "():()"_layout(0) == 0);
static_assert("8:-1"_layout.cosize() == 8 && "8:-1"_layout.lowest() == -7);
static_assert("(4,2):(1,10)"_layout.extended(-1) == -7 && "(4,2):(1,10)"_layout.extended(9) == 21);
static_assert(require(column_major("(4,(2,3))"_tuple)) == "(4,(2,3)):(1,(4,8))"_layout);
static_assert(require(row_major("(4,(2,3))"_tuple)) == "(4,(2,3)):(6,(3,1))"_layout);
static_assert(!parse_layout("(4,8):(1,4").ok() && !parse_layout("4:99999999999999999999").ok());

static_assert(floor_mod(int64_lowest, 3) == 1 && floor_mod(int64_lowest + 1, int64_largest) == 0,
              "no wrapped product");
static_assert(!make_swizzle(1, 1, int64_lowest).ok());
static_assert(require(compose("(6917529027641081856,1):(0,1)"_layout, "2:-9223372036854775806"_layout)) ==
              "2:-2"_layout);

// Canonical form and equality
static_assert(coalesce("(2,(1,6)):(1,(6,2))"_layout) == "12:1"_layout);
static_assert(coalesce_extended("(4,1):(1,0)"_layout) == "(4,1):(1,0)"_layout);
static_assert(coalesce_modes("((2,2),3):((1,2),4)"_layout) == "(4,3):(1,4)"_layout);
static_assert(flatten(nested) == "(4,2,3):(3,12,1)"_layout &&
              filter("(4,2,3):(0,1,2)"_layout) == "6:1"_layout);
static_assert(equal_modes("((2,2),3):((1,2),4)"_layout, "(4,3):(1,4)"_layout) &&
              !equal_modes("(2,6):(1,2)"_layout, "12:1"_layout));
static_assert(first_difference("4:1"_layout, "(2,2):(1,3)"_layout) == 2 &&
              first_extended_difference("(4,1):(1,0)"_layout, "4:1"_layout) == 4);
static_assert(sort_modes("(2,3):(3,1)"_layout) == "(3,2):(1,3)"_layout && is_compact("(2,3):(3,1)"_layout));
static_assert(is_tractable("(2,2,2):(1,2,4)"_layout) && !is_tractable("(2,2,2):(1,7,4)"_layout));
static_assert(require(mutual_refinement(ints(6, 6), ints(2, 6, 6))) ==
              Refinement{"((2,3),(2,3))"_tuple, "(2,(3,2),(3,2))"_tuple});
static_assert(equal("(2,(1,6)):(1,(6,2))"_layout, "12:1"_layout) && !equal("4:1"_layout, "5:1"_layout));
static_assert(!equal_extended("(4,1):(1,0)"_layout, "4:1"_layout));
static_assert(injective(nested).ok() && !injective("(4,4):(1,2)"_layout).ok());
constexpr int64_t table[] = {0, 2, 4, 1, 3, 5};
static_assert(require(recognise(table, 6)) == "(3,2):(2,1)"_layout);

// Composition
static_assert(require(compose("(6,2):(8,2)"_layout, "(4,3):(3,1)"_layout)) == "((2,2),3):((24,2),8)"_layout);
static_assert(require(compose("(8,8):(8,1)"_layout, "6:3"_layout)) == "(3,2):(24,9)"_layout);
static_assert(require(compose("(6,3,8):(3,3,24)"_layout, "4:16"_layout)) == "4:18"_layout,
              "mixed signs that cancel");
static_assert(
    compose("(6,2):(1,7)"_layout, "(3,2):(2,3)"_layout).reason().view() ==
    "not composable: modes 0 and 1 of B carry past 6 = P_1 of A: at coordinate (2,1) A(B) = 8 but the layout "
    "gives 7");
static_assert(require(compose_flat("(4,6):(6,1)"_layout, "(3,8):(1,3)"_layout)) == "(4,6):(6,1)"_layout);
static_assert(require(compose_modes("(12,(4,8)):(59,(13,1))"_layout, "(3,8):(4,2)"_layout)) ==
              "(3,(2,4)):(236,(26,1))"_layout);
static_assert(in_domain("24:1"_layout, "4:2"_layout) && !in_domain("4:1"_layout, "8:1"_layout));

// Complement, division, product
static_assert(require(complement("(2,2):(1,6)"_layout, 24)) == "(3,2):(2,12)"_layout);
static_assert(require(complement("(2,2,2):(1,6,60)"_layout)) == "(3,5):(2,12)"_layout);
static_assert(!complement("4:2"_layout, 19).ok() &&
              complement_padded("4:2"_layout, 19).grade == Grade::padded);
static_assert(require(divide("(4,2,3):(2,1,8)"_layout, "4:2"_layout)) ==
              "((2,2),(2,3)):((4,1),(2,8))"_layout);
static_assert(divide("19:1"_layout, "4:2"_layout).grade == Grade::padded);
static_assert(divide("40:1"_layout, "(4,2):(1,10)"_layout).why.reason == Reason::lossy);
static_assert(require(divide_modes("(8,12):(12,1)"_layout, "(4,3):(1,1)"_layout, Form::zipped)) ==
              "((4,3),(2,4)):((12,1),(48,3))"_layout);
constexpr Layout quartered = "24:1"_layout, by_two = "4:2"_layout;
static_assert(require(divide(quartered, by_two, Form::zipped)) == "(4,(2,3)):(2,(1,8))"_layout);
static_assert(require(divide(quartered, by_two, Form::tiled)) == "(4,2,3):(2,1,8)"_layout);
static_assert(require(divide(quartered, "(2,2):(1,2)"_layout, Form::flat)) == "(2,2,6):(1,2,4)"_layout);
static_assert(require(divide_modes("(8,12):(12,1)"_layout, "(4,3):(1,1)"_layout, Form::tiled)) ==
              "((4,3),2,4):((12,1),48,3)"_layout);
static_assert(require(divide_modes("(8,12):(12,1)"_layout, "(4,3):(1,1)"_layout, Form::flat)) ==
              "(4,3,2,4):(12,1,48,3)"_layout);
constexpr LostIndices lost = lost_indices(divide("40:1"_layout, "(4,2):(1,10)"_layout).why);
static_assert(lost.first() == 8 && lost.next(8) == 9 && lost.next(9) == 18 && lost.count() == 8 &&
              lost.last() == 39);
static_assert(require(product("(2,5):(5,1)"_layout, "(3,4):(1,3)"_layout, Form::zipped)) ==
              "((2,5),(3,4)):((5,1),(10,30))"_layout);
static_assert(require(product("(2,5):(5,1)"_layout, "(3,4):(1,3)"_layout, Form::tiled)) ==
              "((2,5),3,4):((5,1),10,30)"_layout);
static_assert(require(product("(2,5):(5,1)"_layout, "(3,4):(1,3)"_layout, Form::flat)) ==
              "(2,5,3,4):(5,1,10,30)"_layout);
static_assert(require(product_modes("(2,5):(5,1)"_layout, "(3,4):(5,6)"_layout)) ==
              "((2,3),(5,4)):((5,10),(1,30))"_layout);
static_assert(product_modes("(4,2):(1,4)"_layout, "(2,3):(1,1)"_layout).grade == Grade::overlapping &&
              overlap("((4,2),(2,3)):((1,4),(4,1))"_layout).why.n[1] == 16);
static_assert(require(product("(2,2):(4,1)"_layout, "6:1"_layout)) == "((2,2),(2,3)):((4,1),(2,8))"_layout);
static_assert(require(blocked_product("(2,5):(5,1)"_layout, "(3,4):(1,3)"_layout)) ==
              "((2,3),(5,4)):((5,10),(1,30))"_layout);
static_assert(require(raked_product("(2,5):(5,1)"_layout, "(3,4):(1,3)"_layout)) ==
              "((3,2),(4,5)):((10,5),(30,1))"_layout);

// Inverses, vectors, recast, slices
static_assert(right_inverse("(4,8):(8,1)"_layout) == "(8,4):(4,1)"_layout);
static_assert(require(left_inverse("(4,2):(1,5)"_layout)) == "(5,2):(1,4)"_layout);
static_assert(require(left_inverse("(2,2):(3,5)"_layout)) == "(2,4,2):(0,1,3)"_layout);
static_assert(left_inverse("(2,3,2):(5,3,29)"_layout).why.reason == Reason::left_inverse_none);
static_assert(require(coordinate_of_offset("(3,2,3,2):(1,6,15,45)"_layout, 15)) == "(0,0,1,0)"_tuple);
static_assert(require(index_of("(4,2):(-1,5)"_layout, 3)) == 6 && !index_of("(4,2):(2,16)"_layout, 3).ok());
static_assert(nullspace("(4,2,3):(0,1,0)"_layout) == "(4,3):(1,8)"_layout);
static_assert(require(max_common_vector("(2,3):(1,2)"_layout, "6:1"_layout)) == 6 &&
              vector_width("(2,3):(1,2)"_layout, "6:1"_layout, 4) == 2);
static_assert(require(recast("(8,4):(1,8)"_layout, 16, 32)) == "(4,4):(1,4)"_layout);
static_assert(require(upcast("(8,4):(1,8)"_layout, 4)) == "(2,4):(1,2)"_layout &&
              !upcast("3:1"_layout, 2).ok());
static_assert(require(downcast("(4,4):(1,4)"_layout, 2)) == "(8,4):(1,8)"_layout);
static_assert(require(make_layout(ints(4, 2), ints(1, 8))) == "(4,2):(1,8)"_layout &&
              !make_layout(ints(4, 2), ints(1)).ok());
static_assert(require(slice(nested, ints(1, all))) == Slice{"(2,3):(12,1)"_layout, 3});
static_assert(require(group("(2,3,4):(1,2,6)"_layout, 1, 3)) == "(2,(3,4)):(1,(2,6))"_layout);

// Permutations, swizzles, GF(2)
static_assert(count_permutations(12) == 14 && is_permutation("(3,2):(2,1)"_layout));
static_assert(require(prime_list_layout(ints(2, 2, 2), ints(2, 3, 1))) == "(2,2,2):(2,4,1)"_layout);
static_assert(Swizzle{3, 4, 3}(128) == 144 && Swizzle{2, 0, -3}(1) == 9);
static_assert(require(recast(Swizzle{3, 4, 3}, 8, 16)) == Swizzle{3, 3, 3} &&
              !recast(Swizzle{3, 4, 3}, 8, 6).ok());
static_assert(require(parse_composed("Sw<3,3,3> o (8,64):(64,1)"))(1, 0) == 72);
static_assert(to_gf2("(4,4):(4,1)"_layout).ok() && !to_gf2("(4,4):(1,5)"_layout).ok());
static_assert(require(inverse(to_gf2(Swizzle{3, 4, 3}, 10))) == to_gf2(Swizzle{3, 4, 3}, 10));
static_assert(!compose(Swizzle{3, 4, 3}, Swizzle{2, 4, 4}).ok());
static_assert(require(compose(Swizzle{3, 4, 3}, Swizzle{3, 4, 3})) == Swizzle{} &&
              equal(Swizzle{0, 2, 2}, Swizzle{}));
static_assert(require(to_swizzle(to_gf2(Swizzle{3, 4, 3}, 12))) == Swizzle{3, 4, 3});

static_assert(require(multiply(to_gf2(Swizzle{3, 4, 3}, 10), to_gf2(Swizzle{3, 4, 3}, 10))) ==
              to_gf2(Swizzle{}, 10));

// Composed layouts
constexpr ComposedLayout swizzled = require(parse_composed("Sw<2,0,2> o (4,4):(4,1)"));
static_assert(require(compose(swizzled, "(2,4):(2,4)"_layout)).layout == "(2,4):(8,1)"_layout);
static_assert(coalesce(swizzled) == swizzled && swizzled(1) == 5);
static_assert(require(compose_modes(swizzled, "(2,2):(2,2)"_layout)).layout == "(2,2):(8,2)"_layout);
static_assert(require(divide(swizzled, "4:4"_layout)).layout == "(4,4):(1,4)"_layout);
static_assert(require(divide_modes(swizzled, "(2,2):(1,1)"_layout)).layout ==
              "((2,2),(2,2)):((4,8),(1,2))"_layout);
static_assert(require(slice(swizzled, ints(1, all))) == ComposedLayout{{2, 0, 2}, 4, "4:1"_layout});
static_assert(require(first_difference(swizzled, ComposedLayout{{}, 0, "(4,4):(4,1)"_layout})) == 1);
static_assert(require(inverse(swizzled)).swizzle == Swizzle{2, 0, -2} && to_gf2(swizzled).ok());

// A layout as a template argument
template <Layout layout>
WF_HD constexpr int64_t offset_of(int64_t x) {
  return layout(x);
}
static_assert(offset_of<nested>(21) == 17);

// A configuration type, as kernels take it: layouts as static members.
struct TileConfig {
  static constexpr Layout tile = "(64,64):(64,1)"_layout;
  static constexpr Layout by_thread = require(divide(tile, "(4,8):(1,64)"_layout));
};
static_assert(TileConfig::by_thread.size() == 4096);

}  // namespace warpfold::layout::static_cases
