// What the parts of the C interface share: errors as codes with a message, enumerators, tiles.
#pragma once

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>

#include "warpfold/core/dtype.h"
#include "warpfold/core/error.h"
#include "warpfold/kernels/gemm/gemm.h"
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

// The number of an enumerator. A C caller's may be none of the enumeration, which C++ must not read as one.
template <class Enum>
int number_of(const Enum& given) {
  static_assert(std::is_enum_v<Enum> && sizeof(int) == sizeof(Enum));
  int number;
  std::memcpy(&number, &given, sizeof(number));
  return number;
}

inline Result<DType> type_of(const wf_type& given, const char* name) {
  const int type = number_of(given);
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

inline Result<kernels::gemm::Activation> activation_of(const wf_activation& given, const char* who) {
  using kernels::gemm::Activation;
  static_assert(int(Activation::relu) == WF_RELU && int(Activation::silu) == WF_SILU &&
                int(Activation::gelu_tanh) == WF_GELU_TANH && int(Activation::gelu_erf) == WF_GELU_ERF);
  const int activation = number_of(given);
  if (activation < WF_IDENTITY || activation > WF_GELU_ERF)
    return fail(ErrorCode::kInvalidArgument,
                std::string(who) + ": activation " + std::to_string(activation) + " is no wf_activation");
  return Activation(activation);
}

// The tile of an index into `tiles`; -1: Warpfold chooses.
template <class Tiles>
auto tile_of(const Tiles& tiles, int tile, const char* who) -> Result<std::optional<std::decay_t<decltype(tiles[0])>>> {
  using Id = std::decay_t<decltype(tiles[0])>;
  const int count = int(std::size(tiles));
  if (tile == -1) return std::optional<Id>();
  if (tile < 0 || tile >= count)
    return fail(ErrorCode::kInvalidArgument,
                std::string(who) + ": tile " + std::to_string(tile) + " is not in [0, " + std::to_string(count) + ")");
  return std::optional<Id>(tiles[size_t(tile)]);
}
template <class Tiles>
const char* tile_name(const Tiles& tiles, int tile) {
  if (tile < 0 || tile >= int(std::size(tiles))) return "";
  return with_tile(tiles[size_t(tile)], [](auto t) { return t.name; });
}

// Can the problem run that a caller's structure has been read into, or failed to be?
template <class Problem>
Status can_run_read(const Result<Problem>& problem) {
  if (!problem) return tl::unexpected(problem.error());
  return can_run(*problem);
}

}  // namespace warpfold::c_api
