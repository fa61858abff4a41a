// Shared and global memory through registers.
#pragma once

#include "warpfold/hopper/types.h"

namespace warpfold::hopper {
inline namespace WF_TARGET {

// The block's dynamic shared memory; its start is a multiple of 1024.
WF_ATOM uint32_t dynamic_shared() {
  extern __shared__ __align__(1024) uint8_t wf_dynamic_shared[];
  return uint32_t(__cvta_generic_to_shared(wf_dynamic_shared));
}

// ---- Shared memory: T has 1, 2, 4, 8 or 16 bytes and is aligned to its size.
template <class T>
WF_ATOM T load_shared(uint32_t address) {
  return *static_cast<const T*>(__cvta_shared_to_generic(address));
}
template <class T>
WF_ATOM void store_shared(uint32_t address, const T& value) {
  *static_cast<T*>(__cvta_shared_to_generic(address)) = value;
}
// The address of the same place in block `rank` of the cluster, for load_cluster and store_cluster.
WF_ATOM uint32_t map_shared(uint32_t address, int rank) {
  uint32_t mapped;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}
template <class T>
WF_ATOM T load_cluster(uint32_t address) {
  static_assert(sizeof(T) == 4);
  uint32_t bits;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(bits) : "r"(address) : "memory");
  T value;
  memcpy(&value, &bits, sizeof(T));
  return value;
}
template <class T>
WF_ATOM void store_cluster(uint32_t address, const T& value) {
  static_assert(sizeof(T) == 4);
  uint32_t bits;
  memcpy(&bits, &value, sizeof(T));
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(bits) : "memory");
}

// 8x8 matrices of 16-bit elements. Lane 8 i + r gives the address of row r of matrix i; register i of lane l holds
// elements 2 (l%4), +1 of row l/4 of matrix i, or of its transpose.
template <int kMatrices, bool kTranspose = false>
WF_ATOM void ldmatrix(uint32_t (&r)[kMatrices], uint32_t address) {
  static_assert(kMatrices == 1 || kMatrices == 2 || kMatrices == 4);
  if constexpr (kMatrices == 1 && !kTranspose)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(address) : "memory");
  else if constexpr (kMatrices == 1)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(address) : "memory");
  else if constexpr (kMatrices == 2 && !kTranspose)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(address) : "memory");
  else if constexpr (kMatrices == 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(address) : "memory");
  else if constexpr (!kTranspose)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}
template <int kMatrices, bool kTranspose = false>
WF_ATOM void stmatrix(uint32_t address, const uint32_t (&r)[kMatrices]) {
  static_assert(kMatrices == 1 || kMatrices == 2 || kMatrices == 4);
  if constexpr (kMatrices == 1 && !kTranspose)
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(address), "r"(r[0]) : "memory");
  else if constexpr (kMatrices == 1)
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(address), "r"(r[0]) : "memory");
  else if constexpr (kMatrices == 2 && !kTranspose)
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(r[0]), "r"(r[1])
                 : "memory");
  else if constexpr (kMatrices == 2)
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(r[0]), "r"(r[1])
                 : "memory");
  else if constexpr (!kTranspose)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r[0]),
                 "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r[0]),
                 "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}

// ---- Global memory
template <class T>
WF_ATOM T load_global(const T* p) {
  return *p;
}
template <class T>
WF_ATOM void store_global(T* p, const T& value) {
  *p = value;
}
// Relaxed; returns the value before.
WF_ATOM int atomic_add(int* p, int value) { return atomicAdd(p, value); }
WF_ATOM float atomic_add(float* p, float value) { return atomicAdd(p, value); }
WF_ATOM int atomic_max(int* p, int value) { return atomicMax(p, value); }
WF_ATOM int atomic_add_release(int* p, int value) {
  int before;
  asm volatile("atom.add.release.gpu.s32 %0, [%1], %2;" : "=r"(before) : "l"(p), "r"(value) : "memory");
  return before;
}
WF_ATOM int load_acquire(const int* p) {
  int value;
  asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
  return value;
}
WF_ATOM void store_release(int* p, int value) {
  asm volatile("st.release.gpu.s32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
}

}  // namespace WF_TARGET
}  // namespace warpfold::hopper
