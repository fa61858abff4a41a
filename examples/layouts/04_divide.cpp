// Division cuts a layout into tiles: mode 0 runs through a tile, mode 1 through the tiles. The grade says whether
// the tiles fit; a tile that would lose elements is refused with the strides that would not.
#include <cstdio>

#include "warpfold/layout/algebra.h"

using namespace warpfold::layout;

int main() {
  // Tiles of 4 x 3 of a row-major 8 x 12 matrix: ((tile), (tiles)).
  constexpr Layout tiled = require(divide_modes("(8,12):(12,1)"_layout, "(4,3):(1,1)"_layout, Form::zipped));
  static_assert(tiled == "((4,3),(2,4)):((12,1),(48,3))"_layout);
  std::printf("tile (1,2) begins at offset %lld\n", static_cast<long long>(tiled.mode(1)("(1,2)"_tuple)));

  // 19 elements in tiles of 4: five places of the last tiles lie outside.
  constexpr Verdict<Layout> padded = divide("19:1"_layout, "4:2"_layout);
  static_assert(padded.ok() && padded.grade == Grade::padded && padded.value.size() == 24);

  const Verdict<Layout> lossy = divide("40:1"_layout, "(4,2):(1,10)"_layout);
  std::printf("%s\n", lossy.reason().data);
  return lossy.ok() ? 1 : 0;
}
