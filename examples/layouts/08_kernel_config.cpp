// The way a kernel uses layouts: a configuration type with constant members, proved while it compiles. Nothing here
// is computed at run time; with a wrong stride the build stops with the reason.
#include <cstdio>

#include "warpfold/layout/algebra.h"

using namespace warpfold::layout;

struct CopyConfig {
  static constexpr int threads = 128;
  static constexpr int vector = 8;                                    // 2-byte elements a 16-byte access
  static constexpr Layout tile = "(64,64):(64,1)"_layout;             // (rows, columns) in shared memory
  static constexpr Layout order = "((8,16),(8,4)):((512,1),(64,16))"_layout;  // (thread, value) -> row + 64*column
  static constexpr Layout address = require(compose(tile, order));    // (thread, value) -> element

  static_assert(order.mode(0).size() == threads);
  static_assert(is_permutation(order), "every element is copied once");
  static_assert(coalesce(address.mode(1)).shape[0] == vector && coalesce(address.mode(1)).stride[0] == 1,
                "the values of a thread come in 16-byte vectors");
};

template <class Config>
int64_t first_element(int64_t thread) {
  return Config::address(thread, 0);
}

int main() {
  for (int64_t thread = 0; thread < 10; thread += 9)
    std::printf("thread %lld begins at element %lld\n", static_cast<long long>(thread),
                static_cast<long long>(first_element<CopyConfig>(thread)));
  return first_element<CopyConfig>(9) == 64 + 8 ? 0 : 1;
}
