// What the ladders of kernels share on the host: memory that kernels see, schedules, times.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "warpfold/hopper/hopper.h"

namespace ladder {

// Memory that kernels see, with a copy on the host.
#ifdef __CUDACC__
inline void* allocate(size_t bytes) {
  void* p = nullptr;
  return cudaMalloc(&p, bytes) == cudaSuccess ? p : nullptr;
}
inline void release(void* p) { cudaFree(p); }
inline void copy(void* to, const void* from, size_t bytes) { cudaMemcpy(to, from, bytes, cudaMemcpyDefault); }
// What has gone wrong on the device; null if nothing.
inline const char* fault() {
  const cudaError_t e = cudaGetLastError();
  return e == cudaSuccess ? nullptr : cudaGetErrorString(e);
}
#else
inline void* allocate(size_t bytes) { return std::aligned_alloc(128, (bytes + 127) / 128 * 128); }
inline void release(void* p) { std::free(p); }
inline void copy(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
inline const char* fault() { return nullptr; }  // launch() returns the emulator's errors
#endif

template <class T>
struct Buffer {
  std::vector<T> host;
  std::unique_ptr<T, void (*)(void*)> memory;
  explicit Buffer(size_t n) : host(n), memory(static_cast<T*>(allocate(n * sizeof(T))), release) {}
  void upload() { copy(memory.get(), host.data(), host.size() * sizeof(T)); }
  void download() { copy(host.data(), memory.get(), host.size() * sizeof(T)); }
};

// Under how many of the emulator's schedules a step is checked; WF_SEEDS=n asks for others.
inline int schedules() {
#ifdef __CUDACC__
  return 1;
#else
  const char* given = std::getenv("WF_SEEDS");
  return given != nullptr ? std::atoi(given) : 20;
#endif
}

#ifdef __CUDACC__
// The least time in ms of ten launches; 0, and the reason printed, if one fails.
template <class Launch>
float least_ms(const char* step, Launch launch) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  float least = std::numeric_limits<float>::infinity(), ms = 0;
  for (int i = 0; i < 10; ++i) {
    cudaEventRecord(begin);
    const warpfold::Status s = launch();
    cudaEventRecord(end);
    const cudaError_t e = cudaEventSynchronize(end);
    if (!s || e != cudaSuccess)
      return std::printf("%s: %s\n", step, s ? cudaGetErrorString(e) : s.error().message.c_str()), 0.0f;
    cudaEventElapsedTime(&ms, begin, end);
    least = std::min(least, ms);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return least;
}
#endif

}  // namespace ladder
