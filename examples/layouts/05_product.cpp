// A product repeats a layout in the order of another one: an atom of memory tiled up to a whole buffer, side by side
// (blocked) or interleaved (raked).
#include <cstdio>

#include "warpfold/layout/algebra.h"

using namespace warpfold::layout;

int main() {
  constexpr Layout atom = "(2,5):(5,1)"_layout, grid = "(3,4):(1,3)"_layout;
  static_assert(require(product(atom, grid)) == "((2,5),(3,4)):((5,1),(10,30))"_layout);
  constexpr Layout blocked = require(blocked_product(atom, grid));
  constexpr Layout raked = require(raked_product(atom, grid));
  static_assert(blocked == "((2,3),(5,4)):((5,10),(1,30))"_layout);
  static_assert(raked == "((3,2),(4,5)):((10,5),(30,1))"_layout);

  // Either way a 6 x 20 buffer, every offset once.
  static_assert(is_permutation(blocked) && is_permutation(raked) && blocked.size() == 120);
  std::printf("row 1 begins at %lld (blocked) and %lld (raked)\n", static_cast<long long>(blocked(1, 0)),
              static_cast<long long>(raked(1, 0)));
  return 0;
}
