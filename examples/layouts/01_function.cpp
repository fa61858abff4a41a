// A layout is a function from coordinates to offsets. (4,(2,3)):(3,(12,1)) has 4 rows; its 6 columns are a 2 x 3
// grid of their own. An element can be named by an index, by (row, column), or by the full nested coordinate.
#include <cstdio>

#include "warpfold/layout/algebra.h"

using namespace warpfold::layout;

int main() {
  constexpr Layout l = "(4,(2,3)):(3,(12,1))"_layout;
  static_assert(l.size() == 24 && l.cosize() == 24);
  static_assert(l(21) == 17 && l(1, 5) == 17 && l("(1,(1,2))"_tuple) == 17, "three names of one element");

  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 6; ++column) std::printf("%4lld", static_cast<long long>(l(row, column)));
    std::printf("\n");
  }
  std::printf("index 21 is coordinate %.*s\n", to_text(l.coordinate(21)).length, to_text(l.coordinate(21)).data);
  return 0;
}
