// Cases of WGMMA for tf32: every N.
#include "products.h"

namespace conformance {

std::vector<Case> product_cases_tf32() {
  std::vector<Case> list;
  add_sizes<hp::tf32, hp::tf32>(list, "tf32", EverySize());
  add_swizzles<hp::tf32, hp::tf32>(list, "tf32");
  add_from_registers<hp::tf32, hp::tf32>(list, "tf32");
  add_signs<hp::tf32>(list, "tf32");
  return list;
}

}  // namespace conformance
