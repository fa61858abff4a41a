// Asynchronous copies between global and shared memory: TMA boxes of 1 to 5 dimensions, bulk copies, cp.async.
#pragma once

#include <cuda.h>

#include "warpfold/hopper/types.h"

namespace warpfold::hopper {
inline namespace WF_TARGET {

using TensorMap = CUtensorMap;

namespace ptx {

// The policies that createpolicy gives for whole ranges, as constants.
constexpr uint64_t l2_policy(CacheHint hint) {
  return hint == CacheHint::evict_first  ? 0x12F0000000000000
         : hint == CacheHint::evict_last ? 0x14F0000000000000
                                         : 0x1000000000000000;
}

}  // namespace ptx

// ---- cp.async: kBytes of 4, 8 or 16, of which valid_bytes are read and the rest is zero.
template <int kBytes>
WF_ATOM void copy_async(uint32_t destination, const void* source, int valid_bytes = kBytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(source), "r"(valid_bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(destination), "l"(source), "n"(kBytes),
                 "r"(valid_bytes) : "memory");
}
WF_ATOM void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kPending>
WF_ATOM void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
// Arrives on the barrier once all of this thread's earlier copies have landed; counts as one of its arrivals.
WF_ATOM void copy_async_arrive(Barrier b) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(b.address) : "memory");
}

// ---- TMA. Coordinates are those of the box's first element, dimension 0 first. Elements outside the tensor are
// loaded as zero (and count as bytes) and are not stored.
WF_ATOM void tma_prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

#define WF_COORDS_1 "{%5}"
#define WF_COORDS_2 "{%5, %6}"
#define WF_COORDS_3 "{%5, %6, %7}"
#define WF_COORDS_4 "{%5, %6, %7, %8}"
#define WF_COORDS_5 "{%5, %6, %7, %8, %9}"
// All forms have the same operands, so that one list of numbers serves them: 0 shared, 1 map, 2 barrier, 3 mask,
// 4 policy, then five coordinates.
#define WF_TMA(text) \
  asm volatile(text ::"r"(shared), "l"(&map), "r"(barrier), "h"(mask), "l"(policy), "r"(c[0]), "r"(c[1]), "r"(c[2]), \
               "r"(c[3]), "r"(c[4]) : "memory")
#define WF_TMA_RANKS(before, after)                                                  \
  if constexpr (kRank == 1) WF_TMA(before(1d) "[%1, " WF_COORDS_1 "]" after);        \
  else if constexpr (kRank == 2) WF_TMA(before(2d) "[%1, " WF_COORDS_2 "]" after);   \
  else if constexpr (kRank == 3) WF_TMA(before(3d) "[%1, " WF_COORDS_3 "]" after);   \
  else if constexpr (kRank == 4) WF_TMA(before(4d) "[%1, " WF_COORDS_4 "]" after);   \
  else WF_TMA(before(5d) "[%1, " WF_COORDS_5 "]" after)
#define WF_TMA_LOAD "cp.async.bulk.tensor."
#define WF_LOAD(d) WF_TMA_LOAD #d ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
#define WF_LOAD_HINT(d) WF_TMA_LOAD #d ".shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
#define WF_CAST(d) WF_TMA_LOAD #d ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
#define WF_CAST_HINT(d) \
  WF_TMA_LOAD #d ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%0], "
#define WF_STORE(d) WF_TMA_LOAD #d ".global.shared::cta.bulk_group "
#define WF_STORE_HINT(d) WF_TMA_LOAD #d ".global.shared::cta.bulk_group.L2::cache_hint "
#define WF_REDUCE(d) "cp.reduce.async.bulk.tensor." #d ".global.shared::cta.add.bulk_group "
#define WF_PREFETCH(d) "cp.async.bulk.prefetch.tensor." #d ".L2.global "

namespace ptx {

template <CacheHint kHint, bool kMulticast, int kRank>
WF_ATOM void tma_load(uint32_t shared, const TensorMap& map, uint32_t barrier, uint16_t mask, const int (&c)[5]) {
  constexpr uint64_t policy = l2_policy(kHint);
  if constexpr (kMulticast && kHint != CacheHint::none) {
    WF_TMA_RANKS(WF_CAST_HINT, ", [%2], %3, %4;");
  } else if constexpr (kMulticast) {
    WF_TMA_RANKS(WF_CAST, ", [%2], %3;");
  } else if constexpr (kHint != CacheHint::none) {
    WF_TMA_RANKS(WF_LOAD_HINT, ", [%2], %4;");
  } else {
    WF_TMA_RANKS(WF_LOAD, ", [%2];");
  }
}

enum class Out { store, reduce_add, prefetch };
template <Out kWhat, CacheHint kHint, int kRank>
WF_ATOM void tma_out(const TensorMap& map, uint32_t shared, const int (&c)[5]) {
  constexpr uint64_t policy = l2_policy(kHint);
  constexpr uint32_t barrier = 0;
  constexpr uint16_t mask = 0;
  if constexpr (kWhat == Out::prefetch) {
    WF_TMA_RANKS(WF_PREFETCH, ";");
  } else if constexpr (kWhat == Out::reduce_add) {
    WF_TMA_RANKS(WF_REDUCE, ", [%0];");
  } else if constexpr (kHint != CacheHint::none) {
    WF_TMA_RANKS(WF_STORE_HINT, ", [%0], %4;");
  } else {
    WF_TMA_RANKS(WF_STORE, ", [%0];");
  }
}

}  // namespace ptx

#undef WF_PREFETCH
#undef WF_REDUCE
#undef WF_STORE_HINT
#undef WF_STORE
#undef WF_CAST_HINT
#undef WF_CAST
#undef WF_LOAD_HINT
#undef WF_LOAD
#undef WF_TMA_LOAD
#undef WF_TMA_RANKS
#undef WF_TMA
#undef WF_COORDS_5
#undef WF_COORDS_4
#undef WF_COORDS_3
#undef WF_COORDS_2
#undef WF_COORDS_1

template <CacheHint kHint = CacheHint::none, class... Coordinates>
WF_ATOM void tma_load(uint32_t destination, const TensorMap& map, Barrier b, Coordinates... coordinates) {
  static_assert(sizeof...(Coordinates) >= 1 && sizeof...(Coordinates) <= 5);
  const int c[5] = {coordinates...};
  ptx::tma_load<kHint, false, sizeof...(Coordinates)>(destination, map, b.address, 0, c);
}
// Delivers the box and its bytes at the same offsets in every block of the cluster whose bit of `mask` is set.
template <CacheHint kHint = CacheHint::none, class... Coordinates>
WF_ATOM void tma_load_multicast(uint32_t destination, const TensorMap& map, Barrier b, uint16_t mask,
                                Coordinates... coordinates) {
  static_assert(sizeof...(Coordinates) >= 1 && sizeof...(Coordinates) <= 5);
  const int c[5] = {coordinates...};
  ptx::tma_load<kHint, true, sizeof...(Coordinates)>(destination, map, b.address, mask, c);
}
template <CacheHint kHint = CacheHint::none, class... Coordinates>
WF_ATOM void tma_store(const TensorMap& map, uint32_t source, Coordinates... coordinates) {
  static_assert(sizeof...(Coordinates) >= 1 && sizeof...(Coordinates) <= 5);
  const int c[5] = {coordinates...};
  ptx::tma_out<ptx::Out::store, kHint, sizeof...(Coordinates)>(map, source, c);
}
// Adds to global memory in the map's element type.
template <class... Coordinates>
WF_ATOM void tma_reduce_add(const TensorMap& map, uint32_t source, Coordinates... coordinates) {
  static_assert(sizeof...(Coordinates) >= 1 && sizeof...(Coordinates) <= 5);
  const int c[5] = {coordinates...};
  ptx::tma_out<ptx::Out::reduce_add, CacheHint::none, sizeof...(Coordinates)>(map, source, c);
}
// Fetches the box into L2.
template <class... Coordinates>
WF_ATOM void tma_prefetch(const TensorMap& map, Coordinates... coordinates) {
  static_assert(sizeof...(Coordinates) >= 1 && sizeof...(Coordinates) <= 5);
  const int c[5] = {coordinates...};
  ptx::tma_out<ptx::Out::prefetch, CacheHint::none, sizeof...(Coordinates)>(map, 0, c);
}

// ---- Bulk copies: addresses and size are multiples of 16 bytes.
WF_ATOM void bulk_load(uint32_t destination, const void* source, uint32_t bytes, Barrier b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(destination),
               "l"(source), "r"(bytes), "r"(b.address) : "memory");
}
WF_ATOM void bulk_store(void* destination, uint32_t source, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(destination), "r"(source), "r"(bytes)
               : "memory");
}
// Groups of the thread's stores: wait until at most kPending groups still read shared memory, or are not yet written.
WF_ATOM void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int kPending>
WF_ATOM void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
template <int kPending>
WF_ATOM void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace WF_TARGET
}  // namespace warpfold::hopper
