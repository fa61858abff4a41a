// Cases of WGMMA for fp16: every N; every major under every swizzle.
#include "products.h"

namespace conformance {

std::vector<Case> product_cases_f16() {
  std::vector<Case> list;
  add_sizes<hp::f16, hp::f16>(list, "f16", EverySize());
  add_swizzles<hp::f16, hp::f16>(list, "f16");
  add_from_registers<hp::f16, hp::f16>(list, "f16");
  add_majors<hp::f16, hp::SwizzleMode::none>(list, "f16");
  add_majors<hp::f16, hp::SwizzleMode::b32>(list, "f16");
  add_majors<hp::f16, hp::SwizzleMode::b64>(list, "f16");
  add_majors<hp::f16, hp::SwizzleMode::b128>(list, "f16");
  add_signs<hp::f16>(list, "f16");
  return list;
}

}  // namespace conformance
