// Cases of WGMMA for the four mixes of e4m3 and e5m2: every N of one, some of the others.
#include "products.h"

namespace conformance {

std::vector<Case> product_cases_fp8() {
  std::vector<Case> list;
  add_sizes<hp::e4m3, hp::e4m3>(list, "e4m3 e4m3", EverySize());
  add_swizzles<hp::e4m3, hp::e4m3>(list, "e4m3 e4m3");
  add_from_registers<hp::e4m3, hp::e4m3>(list, "e4m3 e4m3");
  add_mix<hp::e4m3, hp::e5m2>(list, "e4m3 e5m2");
  add_mix<hp::e5m2, hp::e4m3>(list, "e5m2 e4m3");
  add_mix<hp::e5m2, hp::e5m2>(list, "e5m2 e5m2");
  add_signs<hp::e5m2>(list, "e5m2 e5m2");
  return list;
}

}  // namespace conformance
