// A conformance case runs a small kernel of atoms on fixed inputs and returns all that it saw, as 32-bit
// words. The same source runs on the chip and under the emulator; the words must be equal.
#pragma once

#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "warpfold/hopper/tile.h"

namespace conformance {

namespace hp = warpfold::hopper;
using Words = std::vector<uint32_t>;

struct Case {
  std::string name;
  std::function<Words()> run;  // throws std::string for a failure
};

// The cases of each part; a file each.
std::vector<Case> product_cases_bf16();
std::vector<Case> product_cases_f16();
std::vector<Case> product_cases_tf32();
std::vector<Case> product_cases_fp8();
std::vector<Case> product_cases_int8();
std::vector<Case> copy_cases();
std::vector<Case> thread_cases();
std::vector<Case> order_cases();

inline namespace WF_TARGET {

inline void require(const warpfold::Status& s) {
  if (!s) throw s.error().message;
}

// Memory that a kernel can reach, 256-aligned. On the host it is filled with 0xCC before use.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count, std::function<T(size_t)> value = {}) : host_(count) {
    std::memset(static_cast<void*>(host_.data()), 0xCC, count * sizeof(T));
    if (value)
      for (size_t i = 0; i < count; ++i) host_[i] = value(i);
#ifdef __CUDACC__
    check(cudaMalloc(&data_, count * sizeof(T)));
    check(cudaMemcpy(data_, host_.data(), count * sizeof(T), cudaMemcpyHostToDevice));
#else
    storage_.resize(count * sizeof(T) + 256);
    data_ = reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(storage_.data()) + 255) / 256 * 256);
    std::memcpy(static_cast<void*>(data_), host_.data(), count * sizeof(T));
#endif
  }
  Buffer(const Buffer&) = delete;
  ~Buffer() {
#ifdef __CUDACC__
    cudaFree(data_);
#endif
  }
  T* data() { return data_; }
  // After the kernel: the contents as words.
  Words words() {
    Words w(host_.size() * sizeof(T) / 4);
#ifdef __CUDACC__
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(w.data(), data_, w.size() * 4, cudaMemcpyDeviceToHost));
#else
    std::memcpy(w.data(), data_, w.size() * 4);
#endif
    return w;
  }

 private:
#ifdef __CUDACC__
  static void check(cudaError_t e) {
    if (e != cudaSuccess) throw std::string(cudaGetErrorString(e));
  }
#else
  std::vector<uint8_t> storage_;
#endif
  std::vector<T> host_;
  T* data_ = nullptr;
};

}  // namespace WF_TARGET

// Fixed pseudo-random 32 bits for index i of stream s.
constexpr uint32_t noise(uint64_t i, uint64_t s) {
  uint64_t z = (i + 1) * 0x9E3779B97F4A7C15 + s * 0xD1B54A32D192ED03;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return uint32_t(z >> 32);
}

}  // namespace conformance
