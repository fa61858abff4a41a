// What the emulated atoms call: the running thread's view of its cluster. A failure (deadlock, race, misuse)
// ends the launch; launch() returns it as an error.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "warpfold/core/error.h"
#include "warpfold/hopper/types.h"
#include "warpfold/layout/hardware/tma.h"

namespace warpfold::hopper::emulator {

struct Options {
  uint64_t seed = 1;  // of the schedule; the same seed gives the same run
  bool check_races = true;
  int resident_clusters = 3;  // that run at once, interleaved; the rest follow as they end
  // Questions in vain (load_acquire, mbarrier_try_wait), or turns of threads in which nothing happens that
  // could end a wait, until that is a deadlock.
  uint64_t patience = 1 << 21;
};
Options& options();  // of the calling thread's launches

enum class ElementType : uint8_t { bf16, f16, tf32, f32, e4m3, e5m2, s8, u8, s32, bits };
template <class T>
constexpr ElementType element_type() {
  if constexpr (__is_same(T, bf16))
    return ElementType::bf16;
  else if constexpr (__is_same(T, f16))
    return ElementType::f16;
  else if constexpr (__is_same(T, tf32))
    return ElementType::tf32;
  else if constexpr (__is_same(T, float))
    return ElementType::f32;
  else if constexpr (__is_same(T, e4m3))
    return ElementType::e4m3;
  else if constexpr (__is_same(T, e5m2))
    return ElementType::e5m2;
  else if constexpr (__is_same(T, int8_t))
    return ElementType::s8;
  else if constexpr (__is_same(T, uint8_t))
    return ElementType::u8;
  else if constexpr (__is_same(T, int32_t))
    return ElementType::s32;
  else
    return ElementType::bits;
}

struct TensorMap {
  uint8_t* base = nullptr;
  ElementType type = ElementType::bits;
  layout::hardware::TensorMap shape;
};

// ---- Identity of the running thread
struct Identity {
  int thread, block, blocks, rank, cluster;
};
extern thread_local const Identity* identity;

// A shared address is an offset in a block's memory, with the block's rank from bit 24 on.
constexpr uint32_t shared_start = 1024;  // the hardware keeps the first KiB

// ---- mbarriers; `address` is in the thread's own block
void mbarrier_init(uint32_t address, uint32_t arrivals, const char* name, int index);
void mbarrier_invalidate(uint32_t address);
void mbarrier_arrive(uint32_t address, uint32_t expect_bytes);
void mbarrier_expect(uint32_t address, uint32_t bytes);
void mbarrier_arrive_remote(uint32_t address, int rank, Order order);
bool mbarrier_test(uint32_t address, uint32_t parity);
void mbarrier_wait(uint32_t address, uint32_t parity);

// ---- Barriers, fences, registers
void named_barrier(int id, int threads, bool wait);
void block_barrier();
void warp_barrier();
void cluster_arrive(Order order);
void cluster_wait();
void fence_mbarrier_init();
void fence_async();
void fence_cluster();
void fence_device();
void grid_dependency_wait();
void set_registers(int count, bool increase);

// ---- Exchange inside a warp: gives every lane the word of lane `source`
uint32_t exchange(const char* atom, uint32_t value, int source);
uint32_t ballot(bool predicate);
bool elect();

// ---- Shared memory; the first three take the memory of any rank
void shared_read(uint32_t address, void* value, uint32_t bytes);
void shared_write(uint32_t address, const void* value, uint32_t bytes);
uint32_t map_shared(uint32_t address, int rank);
void load_matrices(uint32_t* registers, int matrices, bool transpose, uint32_t address);
void store_matrices(const uint32_t* registers, int matrices, bool transpose, uint32_t address);

// ---- Global memory
void global_read(const void* p, uint32_t bytes);   // before a read of *p
void global_write(const void* p, uint32_t bytes);  // before a write of *p
void global_atomic(const void* p);                 // before a relaxed atomic
void global_release(const void* p);
void global_acquire(const void* p);

// ---- Asynchronous copies
void copy_async(uint32_t destination, const void* source, uint32_t bytes, uint32_t valid_bytes);
void copy_async_commit();
void copy_async_wait(uint32_t pending);
void copy_async_arrive(uint32_t barrier);
void tma_load(uint32_t destination, const TensorMap& map, uint32_t barrier, uint32_t mask, const int* at,
              int rank);
void tma_store(const TensorMap& map, uint32_t source, const int* at, int rank, bool add);
void tma_prefetch(const TensorMap& map, const int* at, int rank);
void bulk_load(uint32_t destination, const void* source, uint32_t bytes, uint32_t barrier);
void bulk_store(void* destination, uint32_t source, uint32_t bytes);
void bulk_commit();
void bulk_wait(uint32_t pending, bool read_only);

// ---- WGMMA
struct Product {
  ElementType a, b;
  int n;
  bool a_mn_major, b_mn_major, negate_a, negate_b, accumulate, a_in_registers;
  uint64_t a_descriptor, b_descriptor;
  bool operator==(const Product&) const = default;
};
void wgmma(const Product& product, uint32_t* accumulators, const uint32_t* a_registers);
void wgmma_fence();
void wgmma_commit();
void wgmma_wait(uint32_t pending);

// Runs kernel() in every thread of the grid.
Status run(const Launch& launch, const std::function<void()>& kernel);

}  // namespace warpfold::hopper::emulator
