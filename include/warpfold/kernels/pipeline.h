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

// One arrival of this warp at the barrier in each of the cluster's blocks, all of which write into the stage.
template <int kBlocks>
WF_ATOM void release(hopper::Barrier empty) {
  if constexpr (kBlocks == 1) {
    if (hopper::lane_id() == 0) hopper::mbarrier_arrive(empty);
  } else {
    if (hopper::lane_id() < kBlocks) hopper::mbarrier_arrive_remote(empty, hopper::lane_id());
  }
}

// The barriers that a thread has initialised are there for all blocks of the cluster.
template <int kBlocks>
WF_ATOM void barriers_ready() {
  if constexpr (kBlocks == 1) {
    hopper::block_sync();
  } else {
    hopper::cluster_arrive<hopper::Order::relaxed>();
    hopper::cluster_wait();
  }
}

// Until here the other blocks of the cluster write into this block's memory and arrive at its barriers.
template <int kBlocks>
WF_ATOM void leave_cluster() {
  if constexpr (kBlocks > 1) {
    hopper::cluster_arrive<hopper::Order::relaxed>();
    hopper::cluster_wait();
  }
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels
