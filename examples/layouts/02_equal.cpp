// Two layouts may be written differently and still be one function. The canonical form decides it without looking
// at a single value, and a table of values can be turned back into a layout.
#include <cstdio>

#include "warpfold/layout/algebra.h"

using namespace warpfold::layout;

int main() {
  static_assert(coalesce("(2,(1,6)):(1,(6,2))"_layout) == "12:1"_layout);
  static_assert(equal("(4,6):(1,4)"_layout, "24:1"_layout));
  static_assert(!equal("(4,6):(6,1)"_layout, "24:1"_layout));

  // From values to the layout ...
  const int64_t rows_first[] = {0, 2, 4, 1, 3, 5};
  const Verdict<Layout> found = recognise(rows_first, 6);
  std::printf("0 2 4 1 3 5 is %s\n", to_text(*found).data);

  // ... or to the index at which it stops being one.
  const int64_t shuffled[] = {0, 4, 3, 2, 1, 5};
  const Verdict<Layout> none = recognise(shuffled, 6);
  std::printf("0 4 3 2 1 5 is %s\n", none.reason().data);
  return found.ok() && !none.ok() ? 0 : 1;
}
