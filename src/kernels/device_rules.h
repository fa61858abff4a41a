// Which GPU serves, and which memory it reaches: what device.h asks CUDA about, as rules.
#pragma once

#include <string>

#include "warpfold/core/error.h"

namespace warpfold::kernels {

// A pointer of a problem; null: the argument is not used.
struct Argument {
  const void* data = nullptr;
  const char* name = "";
};

struct DeviceFacts {
  int number = 0, major = 9, minor = 0;  // compute capability
  bool reads_pageable = false;           // any memory of the host, without its being registered
};

enum class Place { device, host, managed, unregistered };  // as cudaPointerGetAttributes tells them apart

// The kernels are compiled for sm_90a, which no other capability runs.
inline Status check_capability(const char* kernel, const DeviceFacts& d) {
  if (d.major == 9 && d.minor == 0) return {};
  return fail(ErrorCode::kUnsupported, std::string(kernel) + ": device " + std::to_string(d.number) +
                                           " has compute capability " + std::to_string(d.major) + "." +
                                           std::to_string(d.minor) + "; the kernels need 9.0 (H100, H200)");
}

// `owner`: the device whose memory it is.
inline Status check_place(const char* kernel, const char* name, Place place, int owner,
                          const DeviceFacts& d) {
  if (place == Place::device && owner != d.number)
    return fail(ErrorCode::kInvalidArgument, std::string(kernel) + ": " + name + " lies on device " +
                                                 std::to_string(owner) + ", but the current device is " +
                                                 std::to_string(d.number));
  if (place == Place::unregistered && !d.reads_pageable)
    return fail(ErrorCode::kInvalidArgument,
                std::string(kernel) + ": " + name +
                    " is no memory of a GPU, nor memory of the host that CUDA has allocated or registered");
  return {};
}

}  // namespace warpfold::kernels
