// The atoms under the emulator: each checks what the chip would fault for and hands over to
// emulator/engine.h. Their meaning is written at the device's atoms (warpfold/hopper/device), which have the
// same signatures.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "warpfold/hopper/emulator/engine.h"
#include "warpfold/hopper/emulator/numbers.h"

namespace warpfold::hopper {
inline namespace WF_TARGET {

using TensorMap = emulator::TensorMap;

// ---- Identity
inline int thread_id() { return emulator::identity->thread; }
inline int lane_id() { return thread_id() % 32; }
inline int warp_id() { return thread_id() / 32; }
inline int warpgroup_id() { return thread_id() / 128; }
inline int block_id() { return emulator::identity->block; }
inline int grid_blocks() { return emulator::identity->blocks; }
inline int cluster_rank() { return emulator::identity->rank; }
inline int cluster_blocks() { return emulator::identity->cluster; }
inline bool elect_one() { return emulator::elect(); }

// ---- mbarriers
inline void mbarrier_init(Barrier b, uint32_t arrivals, const char* name, int index = 0) {
  emulator::mbarrier_init(b.address, arrivals, name, index);
}
inline void mbarrier_invalidate(Barrier b) { emulator::mbarrier_invalidate(b.address); }
inline void mbarrier_arrive(Barrier b) { emulator::mbarrier_arrive(b.address, 0); }
inline void mbarrier_arrive_expect_tx(Barrier b, uint32_t bytes) {
  emulator::mbarrier_arrive(b.address, bytes);
}
inline void mbarrier_expect_tx(Barrier b, uint32_t bytes) { emulator::mbarrier_expect(b.address, bytes); }
template <Order kOrder = Order::relaxed>
void mbarrier_arrive_remote(Barrier b, int rank) {
  emulator::mbarrier_arrive_remote(b.address, rank, kOrder);
}
inline bool mbarrier_try_wait(Barrier b, uint32_t parity) {
  return emulator::mbarrier_test(b.address, parity);
}
inline void mbarrier_wait(Barrier b, uint32_t parity) { emulator::mbarrier_wait(b.address, parity); }
inline void mbarrier_wait_backoff(Barrier b, uint32_t parity) { emulator::mbarrier_wait(b.address, parity); }

// ---- Barriers and fences
inline void named_sync(int id, int threads) { emulator::named_barrier(id, threads, true); }
inline void named_arrive(int id, int threads) { emulator::named_barrier(id, threads, false); }
inline void block_sync() { emulator::block_barrier(); }
inline void warp_sync() { emulator::warp_barrier(); }
template <Order kOrder = Order::release>
void cluster_arrive() {
  emulator::cluster_arrive(kOrder);
}
inline void cluster_wait() { emulator::cluster_wait(); }
inline void cluster_sync() {
  emulator::cluster_arrive(Order::release);
  emulator::cluster_wait();
}
inline void fence_mbarrier_init() { emulator::fence_mbarrier_init(); }
inline void fence_async_shared() { emulator::fence_async(); }
inline void fence_async() { emulator::fence_async(); }
inline void fence_block() {}
inline void fence_cluster() { emulator::fence_cluster(); }
inline void fence_device() { emulator::fence_device(); }
inline void fence_tensor_map(const void*) {}
template <int kRegisters>
void registers_increase() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  emulator::set_registers(kRegisters, true);
}
template <int kRegisters>
void registers_decrease() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  emulator::set_registers(kRegisters, false);
}
inline void grid_dependency_wait() { emulator::grid_dependency_wait(); }
inline void grid_dependency_launch() {}

// ---- Exchange inside a warp
template <class T>
T shuffle(T value, int lane) {
  static_assert(sizeof(T) == 4);
  return std::bit_cast<T>(emulator::exchange("shuffle", std::bit_cast<uint32_t>(value), lane));
}
template <class T>
T shuffle_xor(T value, int mask) {
  static_assert(sizeof(T) == 4);
  return std::bit_cast<T>(
      emulator::exchange("shuffle_xor", std::bit_cast<uint32_t>(value), lane_id() ^ mask));
}
template <class T>
T shuffle_up(T value, int delta) {
  static_assert(sizeof(T) == 4);
  const int source = lane_id() - delta < 0 ? lane_id() : lane_id() - delta;
  return std::bit_cast<T>(emulator::exchange("shuffle_up", std::bit_cast<uint32_t>(value), source));
}
template <class T>
T shuffle_down(T value, int delta) {
  static_assert(sizeof(T) == 4);
  const int source = lane_id() + delta > 31 ? lane_id() : lane_id() + delta;
  return std::bit_cast<T>(emulator::exchange("shuffle_down", std::bit_cast<uint32_t>(value), source));
}
inline uint32_t warp_ballot(bool predicate) { return emulator::ballot(predicate); }
inline bool warp_any(bool predicate) { return emulator::ballot(predicate) != 0; }
inline bool warp_all(bool predicate) { return emulator::ballot(predicate) == 0xFFFFFFFF; }
inline uint32_t byte_permute(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t s = selector >> 4 * i & 0xF;
    uint32_t byte = uint32_t(bytes >> 8 * (s & 7)) & 0xFF;
    if ((s & 8) != 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
    result |= byte << 8 * i;
  }
  return result;
}
inline uint32_t select_bits(uint32_t a, uint32_t mask, uint32_t bits) { return (a & mask) | bits; }

// ---- Shared memory
inline uint32_t dynamic_shared() { return uint32_t(emulator::identity->rank) << 24 | emulator::shared_start; }
template <class T>
T load_shared(uint32_t address) {
  T value;
  emulator::shared_read(address, &value, sizeof(T));
  return value;
}
template <class T>
void store_shared(uint32_t address, const T& value) {
  emulator::shared_write(address, &value, sizeof(T));
}
inline uint32_t map_shared(uint32_t address, int rank) { return emulator::map_shared(address, rank); }
template <class T>
T load_cluster(uint32_t address) {
  static_assert(sizeof(T) == 4);
  return load_shared<T>(address);
}
template <class T>
void store_cluster(uint32_t address, const T& value) {
  static_assert(sizeof(T) == 4);
  store_shared(address, value);
}
template <int kMatrices, bool kTranspose = false>
void ldmatrix(uint32_t (&r)[kMatrices], uint32_t address) {
  static_assert(kMatrices == 1 || kMatrices == 2 || kMatrices == 4);
  emulator::load_matrices(r, kMatrices, kTranspose, address);
}
template <int kMatrices, bool kTranspose = false>
void stmatrix(uint32_t address, const uint32_t (&r)[kMatrices]) {
  static_assert(kMatrices == 1 || kMatrices == 2 || kMatrices == 4);
  emulator::store_matrices(r, kMatrices, kTranspose, address);
}

// ---- Global memory. Threads of one launch never run at the same time, so plain accesses are atomic.
template <class T>
T load_global(const T* p) {
  emulator::global_read(p, sizeof(T));
  return *p;
}
template <class T>
void store_global(T* p, const T& value) {
  emulator::global_write(p, sizeof(T));
  *p = value;
}
inline int atomic_add(int* p, int value) {
  emulator::global_atomic(p);
  return std::exchange(*p, *p + value);
}
inline float atomic_add(float* p, float value) {
  emulator::global_atomic(p);
  return std::exchange(*p, *p + value);
}
inline int atomic_max(int* p, int value) {
  emulator::global_atomic(p);
  return std::exchange(*p, *p < value ? value : *p);
}
inline int atomic_add_release(int* p, int value) {
  emulator::global_release(p);
  return std::exchange(*p, *p + value);
}
inline int load_acquire(const int* p) {
  emulator::global_acquire(p);
  return *p;
}
inline void store_release(int* p, int value) {
  emulator::global_release(p);
  *p = value;
}

// ---- Asynchronous copies
template <int kBytes>
void copy_async(uint32_t destination, const void* source, int valid_bytes = kBytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  emulator::copy_async(destination, source, kBytes, uint32_t(valid_bytes));
}
inline void copy_async_commit() { emulator::copy_async_commit(); }
template <int kPending>
void copy_async_wait() {
  emulator::copy_async_wait(kPending);
}
inline void copy_async_arrive(Barrier b) { emulator::copy_async_arrive(b.address); }

inline void tma_prefetch_map(const TensorMap&) {}
template <CacheHint kHint = CacheHint::none, class... Coordinates>
void tma_load(uint32_t destination, const TensorMap& map, Barrier b, Coordinates... coordinates) {
  const int at[] = {coordinates...};
  emulator::tma_load(destination, map, b.address, 0, at, sizeof...(Coordinates));
}
template <CacheHint kHint = CacheHint::none, class... Coordinates>
void tma_load_multicast(uint32_t destination, const TensorMap& map, Barrier b, uint16_t mask,
                        Coordinates... coordinates) {
  const int at[] = {coordinates...};
  emulator::tma_load(destination, map, b.address, 0x10000u | mask, at, sizeof...(Coordinates));
}
template <CacheHint kHint = CacheHint::none, class... Coordinates>
void tma_store(const TensorMap& map, uint32_t source, Coordinates... coordinates) {
  const int at[] = {coordinates...};
  emulator::tma_store(map, source, at, sizeof...(Coordinates), false);
}
template <class... Coordinates>
void tma_reduce_add(const TensorMap& map, uint32_t source, Coordinates... coordinates) {
  const int at[] = {coordinates...};
  emulator::tma_store(map, source, at, sizeof...(Coordinates), true);
}
template <class... Coordinates>
void tma_prefetch(const TensorMap& map, Coordinates... coordinates) {
  const int at[] = {coordinates...};
  emulator::tma_prefetch(map, at, sizeof...(Coordinates));
}
inline void bulk_load(uint32_t destination, const void* source, uint32_t bytes, Barrier b) {
  emulator::bulk_load(destination, source, bytes, b.address);
}
inline void bulk_store(void* destination, uint32_t source, uint32_t bytes) {
  emulator::bulk_store(destination, source, bytes);
}
inline void bulk_commit() { emulator::bulk_commit(); }
template <int kPending>
void bulk_wait_read() {
  emulator::bulk_wait(kPending, true);
}
template <int kPending>
void bulk_wait() {
  emulator::bulk_wait(kPending, false);
}

// ---- WGMMA
template <class Op>
constexpr emulator::Product product_of(uint64_t a, uint64_t b, bool accumulate, bool a_in_registers) {
  return {emulator::element_type<typename Op::A>(),
          emulator::element_type<typename Op::B>(),
          Op::n,
          Op::major_a == Major::mn,
          Op::major_b == Major::mn,
          Op::sign_a == Sign::minus,
          Op::sign_b == Sign::minus,
          accumulate,
          a_in_registers,
          a,
          b};
}
template <class Op>
void wgmma(typename Op::Accumulator (&d)[Op::accumulators], uint64_t a, uint64_t b, bool accumulate) {
  emulator::wgmma(product_of<Op>(a, b, accumulate, false), reinterpret_cast<uint32_t*>(d), nullptr);
}
template <class Op>
void wgmma(typename Op::Accumulator (&d)[Op::accumulators], const uint32_t (&a)[4], uint64_t b,
           bool accumulate) {
  static_assert(Op::major_a == Major::k, "WGMMA: A from registers has no major");
  emulator::wgmma(product_of<Op>(0, b, accumulate, true), reinterpret_cast<uint32_t*>(d), a);
}
inline void wgmma_fence() { emulator::wgmma_fence(); }
inline void wgmma_commit() { emulator::wgmma_commit(); }
template <int kPending>
void wgmma_wait() {
  emulator::wgmma_wait(kPending);
}
template <class T, int kRegisters>
void keep_in_registers(T (&)[kRegisters]) {}
template <int kCount, int kRegisters>
void define_again(uint32_t (&)[kCount][kRegisters]) {}

// ---- Host
template <class T>
Result<TensorMap> make_tensor_map(const T* base, const layout::hardware::TensorMap& shape) {
  TensorMap map{reinterpret_cast<uint8_t*>(const_cast<T*>(base)), emulator::element_type<T>(), shape};
  map.shape.address = int64_t(reinterpret_cast<uintptr_t>(base));
  map.shape.element_bytes = int(sizeof(T));
  if (const auto why = layout::hardware::check(map.shape); why.rule != layout::hardware::Rule::none)
    return fail(ErrorCode::kInvalidArgument,
                "tensor map: " + std::string(layout::hardware::sentence(why).view()));
  return map;
}
template <class... Parameters, class... Arguments>
Status launch(const Launch& l, void (*kernel)(Parameters...), const Arguments&... arguments) {
  return emulator::run(l, [&] { kernel(arguments...); });
}

}  // namespace WF_TARGET
}  // namespace warpfold::hopper
