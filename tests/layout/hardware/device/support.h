// What every device check needs: CUDA calls that throw, buffers, JSON fragments, the chip's instructions.
// The library's own instruction wrappers are not used: the checks judge the layouts that those will be built
// on.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "warpfold/layout/hardware/banks.h"
#include "warpfold/layout/hardware/fragments.h"
#include "warpfold/layout/hardware/tma.h"

namespace device_check {

namespace wl = warpfold::layout;
namespace hw = warpfold::layout::hardware;

inline void cuda(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}
#define CUDA(call) ::device_check::cuda((call), #call)

template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t n) : n_(n) {
    CUDA(cudaMalloc(&data_, n * sizeof(T)));
    CUDA(cudaMemset(data_, 0, n * sizeof(T)));
  }
  explicit Buffer(const std::vector<T>& v) : Buffer(v.size()) {
    CUDA(cudaMemcpy(data_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { cudaFree(data_); }
  T* get() { return data_; }
  std::vector<T> read() const {
    std::vector<T> v(n_);
    CUDA(cudaMemcpy(v.data(), data_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
  }

 private:
  T* data_ = nullptr;
  std::size_t n_;
};

inline void finish_kernel(const char* name) {
  cuda(cudaGetLastError(), name);
  cuda(cudaDeviceSynchronize(), name);
}

// The value of a verdict, or an exception with its sentence.
template <class V>
auto value(const V& verdict) {
  if (!verdict.ok()) throw std::runtime_error(std::string(verdict.reason().view()));
  return *verdict;
}
inline wl::Layout layout(const char* text) { return value(wl::parse_layout(text)); }
inline std::string text(const wl::Layout& l) { return std::string(wl::to_text(l).view()); }

// "key":value pairs of one JSON object.
class Json {
 public:
  Json& field(const char* key, const std::string& v) { return raw(key, quoted(v)); }
  Json& field(const char* key, const char* v) { return raw(key, quoted(v)); }
  Json& field(const char* key, bool v) { return raw(key, v ? "true" : "false"); }
  Json& field(const char* key, long long v) { return raw(key, std::to_string(v)); }
  Json& field(const char* key, int v) { return raw(key, std::to_string(v)); }
  Json& field(const char* key, double v) {
    char number[64];
    std::snprintf(number, sizeof number, "%.4f", v);
    return raw(key, number);
  }
  template <class T>
  Json& list(const char* key, const std::vector<T>& v) {
    std::string s = "[";
    for (const T& x : v) s += (s.size() > 1 ? "," : "") + std::to_string(x);
    return raw(key, s + "]");
  }
  std::string str() const { return "{" + body_ + "}"; }

  static std::string quoted(const std::string& v) {
    std::string s = "\"";
    for (const char c : v) {
      if (c == '"' || c == '\\') s += '\\';
      s += static_cast<unsigned char>(c) < 32 ? ' ' : c;
    }
    return s + "\"";
  }

 private:
  Json& raw(const char* key, const std::string& v) {
    body_ += (body_.empty() ? "\"" : ",\"") + std::string(key) + "\":" + v;
    return *this;
  }
  std::string body_;
};

// One result line of a child process: the section it belongs to, a tab, the object.
inline void emit(const char* section, const Json& j) {
  std::printf("%s\t%s\n", section, j.str().c_str());
  std::fflush(stdout);
}

// ---- Instructions

__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ __forceinline__ void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

template <int Matrices, bool Trans>
__device__ __forceinline__ void ldmatrix(uint32_t address, uint32_t (&r)[4]) {
  if constexpr (Matrices == 1 && !Trans)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(r[0])
                 : "r"(address)
                 : "memory");
  if constexpr (Matrices == 1 && Trans)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(r[0])
                 : "r"(address)
                 : "memory");
  if constexpr (Matrices == 2 && !Trans)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(address)
                 : "memory");
  if constexpr (Matrices == 2 && Trans)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(address)
                 : "memory");
  if constexpr (Matrices == 4 && !Trans)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  if constexpr (Matrices == 4 && Trans)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}
template <int Matrices, bool Trans>
__device__ __forceinline__ void stmatrix(uint32_t address, const uint32_t (&r)[4]) {
  if constexpr (Matrices == 1 && !Trans)
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(address), "r"(r[0]) : "memory");
  if constexpr (Matrices == 1 && Trans)
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(address), "r"(r[0])
                 : "memory");
  if constexpr (Matrices == 2 && !Trans)
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};" ::"r"(address), "r"(r[0]),
                 "r"(r[1])
                 : "memory");
  if constexpr (Matrices == 2 && Trans)
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};" ::"r"(address), "r"(r[0]),
                 "r"(r[1])
                 : "memory");
  if constexpr (Matrices == 4 && !Trans)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(r[0]),
                 "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
  if constexpr (Matrices == 4 && Trans)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address),
                 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

}  // namespace device_check
