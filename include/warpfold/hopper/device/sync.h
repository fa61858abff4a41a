// Who a thread is, and how threads wait for one another: mbarriers, named barriers, cluster barriers, fences.
#pragma once

#include "warpfold/hopper/types.h"

namespace warpfold::hopper {
inline namespace WF_TARGET {

// ---- Identity. Grids and clusters have one dimension.
WF_ATOM int thread_id() { return int(threadIdx.x); }
WF_ATOM int lane_id() { return thread_id() % 32; }
// Broadcast, so that the compiler knows that roles are uniform over a warp.
WF_ATOM int warp_id() { return __shfl_sync(0xFFFFFFFF, thread_id() / 32, 0); }
WF_ATOM int warpgroup_id() { return __shfl_sync(0xFFFFFFFF, thread_id() / 128, 0); }
WF_ATOM int block_id() { return int(blockIdx.x); }
WF_ATOM int grid_blocks() { return int(gridDim.x); }
WF_ATOM int cluster_rank() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return int(rank);
}
WF_ATOM int cluster_blocks() {
  uint32_t blocks;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  return int(blocks);
}
// True in one lane of the warp, the same one each time. All lanes take part.
WF_ATOM bool elect_one() {
  uint32_t elected;
  asm volatile("{.reg .pred p; elect.sync _|p, 0xFFFFFFFF; selp.u32 %0, 1, 0, p;}" : "=r"(elected));
  return elected != 0;
}

// ---- mbarriers. A phase ends when its arrivals and its bytes are complete; wait(parity) returns once the phase of
// that parity has ended, so that a fresh barrier lets a wait on parity 1 pass. The name is for the emulator's reports.
WF_ATOM void mbarrier_init(Barrier b, uint32_t arrivals, const char*, int = 0) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b.address), "r"(arrivals) : "memory");
}
WF_ATOM void mbarrier_invalidate(Barrier b) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(b.address) : "memory");
}
WF_ATOM void mbarrier_arrive(Barrier b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(b.address) : "memory");
}
WF_ATOM void mbarrier_arrive_expect_tx(Barrier b, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b.address), "r"(bytes) : "memory");
}
WF_ATOM void mbarrier_expect_tx(Barrier b, uint32_t bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(b.address), "r"(bytes) : "memory");
}
// Arrives on the same barrier of block `rank` of the cluster. A release at cluster scope is a memory barrier of the
// whole GPU (it was 47 % of the stalls of a GEMM), so relaxed is the default: it publishes no writes.
template <Order kOrder = Order::relaxed>
WF_ATOM void mbarrier_arrive_remote(Barrier b, int rank) {
  if constexpr (kOrder == Order::relaxed)
    asm volatile(
        "{.reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1; "
        "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [remote];}" ::"r"(b.address),
        "r"(rank)
        : "memory");
  else
    asm volatile(
        "{.reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1; "
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];}" ::"r"(b.address),
        "r"(rank)
        : "memory");
}
// False when the phase has not ended after a time that the hardware chooses.
WF_ATOM bool mbarrier_try_wait(Barrier b, uint32_t parity) {
  uint32_t done;
  asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "r"(b.address), "r"(parity)
               : "memory");
  return done != 0;
}
WF_ATOM void mbarrier_wait(Barrier b, uint32_t parity) {
  while (!mbarrier_try_wait(b, parity)) {
  }
}
// For long waits: leaves the issue slots to other warps between tries.
WF_ATOM void mbarrier_wait_backoff(Barrier b, uint32_t parity) {
  while (!mbarrier_try_wait(b, parity)) __nanosleep(32);
}

// ---- Barriers of a block (id 1 to 15; 0 is block_sync) and of a cluster.
WF_ATOM void named_sync(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
WF_ATOM void named_arrive(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
WF_ATOM void block_sync() { __syncthreads(); }
WF_ATOM void warp_sync() { __syncwarp(); }
template <Order kOrder = Order::release>
WF_ATOM void cluster_arrive() {
  if constexpr (kOrder == Order::relaxed)
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  else
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
WF_ATOM void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
WF_ATOM void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

// ---- Fences
// Makes mbarrier_init visible to the cluster and to the copy engine; a barrier of the block or cluster follows.
WF_ATOM void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// Makes the thread's own accesses to shared memory visible to TMA and WGMMA.
WF_ATOM void fence_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
WF_ATOM void fence_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
WF_ATOM void fence_block() { __threadfence_block(); }
WF_ATOM void fence_cluster() { asm volatile("fence.acq_rel.cluster;" ::: "memory"); }
WF_ATOM void fence_device() { __threadfence(); }
WF_ATOM void fence_tensor_map(const void* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

// ---- Registers of a warpgroup: a multiple of 8 from 24 to 256.
template <int kRegisters>
WF_ATOM void registers_increase() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
WF_ATOM void registers_decrease() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// ---- Programmatic dependent launch: wait for the kernel before; let the next one start.
WF_ATOM void grid_dependency_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
WF_ATOM void grid_dependency_launch() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

}  // namespace WF_TARGET
}  // namespace warpfold::hopper
