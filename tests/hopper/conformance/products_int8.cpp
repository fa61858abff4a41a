// Cases of WGMMA for the four mixes of int8_t and uint8_t: every N of one, some of the others.
#include "products.h"

namespace conformance {

std::vector<Case> product_cases_int8() {
  std::vector<Case> list;
  add_sizes<int8_t, int8_t>(list, "s8 s8",
                            std::integer_sequence<int, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176,
                                                  192, 208, 224, 240, 256>());
  add_swizzles<int8_t, int8_t>(list, "s8 s8");
  add_from_registers<int8_t, int8_t>(list, "s8 s8");
  add_mix<int8_t, uint8_t>(list, "s8 u8");
  add_mix<uint8_t, int8_t>(list, "u8 s8");
  add_mix<uint8_t, uint8_t>(list, "u8 u8");
  return list;
}

}  // namespace conformance
