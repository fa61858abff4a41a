// Composition: walk layout A in the order that layout B gives. The answer is exact: a layout where one exists, and
// otherwise the reason with a coordinate at which every candidate would be wrong.
#include <cstdio>

#include "warpfold/layout/algebra.h"

using namespace warpfold::layout;

int main() {
  // Every third element of a row-major 8 x 8 matrix.
  constexpr Layout matrix = "(8,8):(8,1)"_layout;
  constexpr Layout third = require(compose(matrix, "6:3"_layout));
  static_assert(third == "(3,2):(24,9)"_layout);
  for (int64_t x = 0; x < 6; ++x)
    if (third(x) != matrix(3 * x)) return 1;

  // Its diagonal is a layout too.
  static_assert(require(compose(matrix, "8:9"_layout)) == "8:9"_layout);

  // Injective and divisible, yet no layout: two modes of B carry together past a boundary of A.
  const Verdict<Layout> none = compose("(6,2):(1,7)"_layout, "(3,2):(2,3)"_layout);
  std::printf("%s\n", none.reason().data);
  return none.ok() ? 1 : 0;
}
