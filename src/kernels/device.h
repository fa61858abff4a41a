// The GPU that kernels are launched on.
#pragma once

#include <initializer_list>
#include <string>

#include "kernels/device_rules.h"
#include "warpfold/core/error.h"
#include "warpfold/hopper/hopper.h"

namespace warpfold::kernels {

inline Place place_of(const cudaPointerAttributes& a) {
  switch (a.type) {
    case cudaMemoryTypeDevice:
      return Place::device;
    case cudaMemoryTypeHost:
      return Place::host;
    case cudaMemoryTypeManaged:
      return Place::managed;
    default:
      return Place::unregistered;
  }
}

// The multiprocessors of the current device, if it is a Hopper GPU that reaches the arguments of `kernel`.
inline Result<int> multiprocessors(const char* kernel, std::initializer_list<Argument> arguments) {
  DeviceFacts d;
  int pageable = 0, count = 0;
  if (const cudaError_t error = cudaGetDevice(&d.number); error != cudaSuccess)
    return tl::unexpected(
        hopper::ptx::status(error, (std::string(kernel) + ": no current device").c_str()).error());
  const auto get = [&](int& value, cudaDeviceAttr attribute) {
    return hopper::ptx::status(cudaDeviceGetAttribute(&value, attribute, d.number), kernel);
  };
  WF_CHECK(get(d.major, cudaDevAttrComputeCapabilityMajor));
  WF_CHECK(get(d.minor, cudaDevAttrComputeCapabilityMinor));
  WF_CHECK(get(count, cudaDevAttrMultiProcessorCount));
  WF_CHECK(get(pageable, cudaDevAttrPageableMemoryAccess));
  d.reads_pageable = pageable != 0;
  WF_CHECK(check_capability(kernel, d));
  for (const Argument& a : arguments) {
    if (a.data == nullptr) continue;
    cudaPointerAttributes found{};
    WF_CHECK(hopper::ptx::status(cudaPointerGetAttributes(&found, a.data), kernel));
    WF_CHECK(check_place(kernel, a.name, place_of(found), found.device, d));
  }
  return count;
}

}  // namespace warpfold::kernels
