// A ring of stages between a producer and its consumers: two mbarriers a stage, `full` and `empty`.
#pragma once

#include "warpfold/hopper/hopper.h"

namespace warpfold::kernels {
inline namespace WF_TARGET {

// A position in the ring; the parity flips each time the ring wraps.
template <int kStages>
struct RingCursor {
  int stage = 0;
  uint32_t parity = 0;

  WF_ATOM void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
  WF_ATOM void advance(int by) {
    stage += by;
    parity ^= uint32_t(stage / kStages) & 1;
    stage %= kStages;
  }
};

// An array of mbarriers, 8 bytes each.
struct BarrierArray {
  uint32_t address;
  WF_ATOM hopper::Barrier operator[](int i) const { return {address + uint32_t(i) * 8}; }
};

}  // namespace WF_TARGET
}  // namespace warpfold::kernels
