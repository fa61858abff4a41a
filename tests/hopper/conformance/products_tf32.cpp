// Cases of WGMMA for tf32.
#include "products.h"

namespace conformance {

std::vector<Case> product_cases_tf32() {
  std::vector<Case> list;
  add_sizes<hp::tf32, hp::tf32>(list, "tf32", std::integer_sequence<int, 8, 24, 64, 136, 256>());
  add_swizzles<hp::tf32, hp::tf32>(list, "tf32");
  add_signs<hp::tf32>(list, "tf32");
  return list;
}

}  // namespace conformance
