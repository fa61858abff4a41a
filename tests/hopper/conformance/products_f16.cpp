// Cases of WGMMA for fp16.
#include "products.h"

namespace conformance {

std::vector<Case> product_cases_f16() {
  std::vector<Case> list;
  add_sizes<hp::f16, hp::f16>(list, "f16", std::integer_sequence<int, 8, 24, 64, 136, 256>());
  add_swizzles<hp::f16, hp::f16>(list, "f16");
  add_majors<hp::f16, hp::SwizzleMode::b128>(list, "f16");
  add_signs<hp::f16>(list, "f16");
  return list;
}

}  // namespace conformance
