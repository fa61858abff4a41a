// What the parts of the C interface share: errors as codes with a message, element types.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "warpfold/core/dtype.h"
#include "warpfold/core/error.h"
#include "warpfold/warpfold.h"

namespace warpfold::c_api {

inline void write_message(const std::string& text, char* message, size_t message_bytes) {
  if (message == nullptr || message_bytes == 0) return;
  const size_t length = std::min(text.size(), message_bytes - 1);
  std::memcpy(message, text.data(), length);
  message[length] = 0;
}

inline wf_status report(const Status& status, char* message, size_t message_bytes) {
  write_message(status ? "" : status.error().message, message, message_bytes);
  if (status) return WF_OK;
  switch (status.error().code) {
    case ErrorCode::kInvalidArgument:
      return WF_INVALID_ARGUMENT;
    case ErrorCode::kUnsupported:
      return WF_UNSUPPORTED;
    default:
      return WF_FAILED;
  }
}

// A caller's structure, whose members past struct_bytes, that an older header did not have, are 0.
template <class Struct>
Result<Struct> copy_of(const Struct* given, const char* who) {
  const auto invalid = [&](const std::string& text) {
    return fail(ErrorCode::kInvalidArgument, std::string(who) + ": " + text);
  };
  if (given == nullptr) return invalid("the problem is null");
  if (given->struct_bytes < sizeof(size_t) || given->struct_bytes > sizeof(Struct))
    return invalid("struct_bytes is " + std::to_string(given->struct_bytes) + "; this library knows up to " +
                   std::to_string(sizeof(Struct)) + " bytes");
  Struct copy{};
  std::memcpy(&copy, given, given->struct_bytes);
  return copy;
}

inline Result<DType> type_of(const wf_type& given, const char* name) {
  int type;  // a C caller's value may be none of the enumerators
  static_assert(sizeof(type) == sizeof(given));
  std::memcpy(&type, &given, sizeof(type));
  switch (type) {
    case WF_BF16:
      return DType::kBF16;
    case WF_F16:
      return DType::kF16;
    case WF_I8:
      return DType::kI8;
    case WF_I32:
      return DType::kI32;
    case WF_F32:
      return DType::kF32;
    case WF_F8_E4M3:
      return DType::kF8E4M3;
    case WF_F8_E5M2:
      return DType::kF8E5M2;
  }
  return fail(ErrorCode::kInvalidArgument, std::string(name) + " " + std::to_string(type) + " is no wf_type");
}

}  // namespace warpfold::c_api
