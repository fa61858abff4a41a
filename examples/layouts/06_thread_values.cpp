// A thread-value layout says which element of a tile a thread holds as its v-th value. Composed with the tile's
// memory layout it becomes the address of that element; inverted, it tells who holds an element.
#include <cstdio>

#include "warpfold/layout/algebra.h"

using namespace warpfold::layout;

int main() {
  // 32 threads on an 8 x 16 tile: thread t holds the columns 2*(t%4), +1, +8, +9 of row t/4.
  constexpr Layout threads = "((4,8),(2,2)):((16,1),(8,64))"_layout;  // (thread, value) -> row + 8*column
  static_assert(is_permutation(threads));

  // The tile lies row-major in memory with rows of 24 elements.
  constexpr Layout memory = "(8,16):(24,1)"_layout;
  constexpr Layout address = require(compose(memory, threads));
  static_assert(address == "((4,8),(2,2)):((2,24),(1,8))"_layout);
  static_assert(vector_width(address.mode(1), "4:1"_layout, 4) == 2, "two values lie side by side");

  // Who holds row 3, column 9?
  constexpr Layout holder = right_inverse(threads);
  const int64_t who = holder(3 + 8 * 9);
  std::printf("row 3, column 9: thread %lld, value %lld\n", static_cast<long long>(who % 32),
              static_cast<long long>(who / 32));
  return who % 32 == 12 && who / 32 == 3 ? 0 : 1;
}
