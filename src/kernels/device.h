// The GPU that kernels are launched on.
#pragma once

#include <string>

#include "warpfold/core/error.h"
#include "warpfold/hopper/hopper.h"

namespace warpfold::kernels {

// The multiprocessors of the current device, if it is a Hopper GPU; `kernel` begins the errors' text.
inline Result<int> multiprocessors(const char* kernel) {
  int device = 0, major = 0, minor = 0, count = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess)
    return tl::unexpected(hopper::ptx::status(error, (std::string(kernel) + ": no current device").c_str()).error());
  const auto get = [&](int& value, cudaDeviceAttr attribute) {
    return hopper::ptx::status(cudaDeviceGetAttribute(&value, attribute, device), kernel);
  };
  WF_CHECK(get(major, cudaDevAttrComputeCapabilityMajor));
  WF_CHECK(get(minor, cudaDevAttrComputeCapabilityMinor));
  WF_CHECK(get(count, cudaDevAttrMultiProcessorCount));
  if (major != 9)
    return fail(ErrorCode::kUnsupported,
                std::string(kernel) + ": device " + std::to_string(device) + " has compute capability " +
                    std::to_string(major) + "." + std::to_string(minor) + "; the kernels need 9.0 (H100, H200)");
  return count;
}

}  // namespace warpfold::kernels
