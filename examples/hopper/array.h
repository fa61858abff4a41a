// Memory that host and kernel share, for examples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#ifdef __CUDACC__
#include <cuda_runtime.h>
template <class T>
class Array {
 public:
  explicit Array(size_t n) { cudaMallocManaged(&data_, n * sizeof(T)); }
  ~Array() { cudaFree(data_); }
  T* data() { return data_; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  T* data_ = nullptr;
};
inline void synchronize() { cudaDeviceSynchronize(); }
inline bool has_device() {
  int count = 0, major = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0 &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess && major == 9;
}
#else
template <class T>
class Array {
 public:
  explicit Array(size_t n) : storage_(n + 64), data_(storage_.data()) {
    while (reinterpret_cast<uintptr_t>(data_) % 64 != 0) ++data_;
  }
  T* data() { return data_; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  std::vector<T> storage_;
  T* data_;
};
inline void synchronize() {}
inline bool has_device() { return true; }
#endif
