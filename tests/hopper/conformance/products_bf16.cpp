// Cases of WGMMA for bf16: every N; every major under every swizzle.
#include "products.h"

namespace conformance {

std::vector<Case> product_cases_bf16() {
  std::vector<Case> list;
  add_sizes<hp::bf16, hp::bf16>(list, "bf16", EverySize());
  add_swizzles<hp::bf16, hp::bf16>(list, "bf16");
  add_from_registers<hp::bf16, hp::bf16>(list, "bf16");
  add_majors<hp::bf16, hp::SwizzleMode::none>(list, "bf16");
  add_majors<hp::bf16, hp::SwizzleMode::b32>(list, "bf16");
  add_majors<hp::bf16, hp::SwizzleMode::b64>(list, "bf16");
  add_majors<hp::bf16, hp::SwizzleMode::b128>(list, "bf16");
  add_signs<hp::bf16>(list, "bf16");
  return list;
}

}  // namespace conformance
