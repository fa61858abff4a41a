// Why a swizzled tile has no bank conflicts. An 8 x 8 tile of 16-byte units, row-major, is read column by column:
// the 8 units of a column all lie in the same 4 of the 32 banks. Sw<3,0,3> adds the row to the column bitwise.
#include <cstdio>

#include "warpfold/layout/algebra.h"

using namespace warpfold::layout;

// The most units of one column that share a bank group (16 bytes = 4 banks; 8 groups).
constexpr int ways(const ComposedLayout& tile) {
  int worst = 0;
  for (int64_t column = 0; column < 8; ++column) {
    int in_group[8] = {};
    for (int64_t row = 0; row < 8; ++row) {
      const int now = ++in_group[tile(row, column) % 8];
      if (now > worst) worst = now;
    }
  }
  return worst;
}

int main() {
  constexpr Layout tile = "(8,8):(8,1)"_layout;
  static_assert(ways({Swizzle{}, 0, tile}) == 8, "every column is an 8-way conflict");
  static_assert(ways({Swizzle{3, 0, 3}, 0, tile}) == 1, "no conflict");

  // The same swizzle in bytes, and in 2-byte elements.
  static_assert(require(recast(Swizzle{3, 0, 3}, 128, 8)) == Swizzle{3, 4, 3});
  static_assert(require(recast(Swizzle{3, 4, 3}, 8, 16)) == Swizzle{3, 3, 3});
  std::printf("8-way conflict without, none with Sw<3,0,3>\n");
  return 0;
}
