// The tensor types of ggml by their number in a GGUF file: those Warpfold reads, and the names of all others,
// so that a file with one of them is refused with a word the user can look up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "warpfold/core/dtype.h"

namespace warpfold::formats {

inline std::optional<DType> dtype_of_ggml(std::uint32_t id) {
  switch (id) {
    case 0:
      return DType::kF32;
    case 1:
      return DType::kF16;
    case 2:
      return DType::kQ4_0;
    case 3:
      return DType::kQ4_1;
    case 6:
      return DType::kQ5_0;
    case 7:
      return DType::kQ5_1;
    case 8:
      return DType::kQ8_0;
    case 12:
      return DType::kQ4_K;
    case 13:
      return DType::kQ5_K;
    case 14:
      return DType::kQ6_K;
    case 24:
      return DType::kI8;
    case 25:
      return DType::kI16;
    case 26:
      return DType::kI32;
    case 27:
      return DType::kI64;
    case 28:
      return DType::kF64;
    case 30:
      return DType::kBF16;
    default:
      return std::nullopt;
  }
}

// "IQ2_XXS (ggml type 16)", or "unknown ggml type 99".
inline std::string unsupported_ggml_type(std::uint32_t id) {
  const std::string_view known = [id]() -> std::string_view {
    switch (id) {
      case 4:
        return "Q4_2";
      case 5:
        return "Q4_3";
      case 9:
        return "Q8_1";
      case 10:
        return "Q2_K";
      case 11:
        return "Q3_K";
      case 15:
        return "Q8_K";
      case 16:
        return "IQ2_XXS";
      case 17:
        return "IQ2_XS";
      case 18:
        return "IQ3_XXS";
      case 19:
        return "IQ1_S";
      case 20:
        return "IQ4_NL";
      case 21:
        return "IQ3_S";
      case 22:
        return "IQ2_S";
      case 23:
        return "IQ4_XS";
      case 29:
        return "IQ1_M";
      case 31:
        return "Q4_0_4_4";
      case 32:
        return "Q4_0_4_8";
      case 33:
        return "Q4_0_8_8";
      case 34:
        return "TQ1_0";
      case 35:
        return "TQ2_0";
      case 36:
        return "IQ4_NL_4_4";
      case 37:
        return "IQ4_NL_4_8";
      case 38:
        return "IQ4_NL_8_8";
      case 39:
        return "MXFP4";
      case 40:
        return "NVFP4";
      case 41:
        return "Q1_0";
      default:
        return "";
    }
  }();
  return known.empty() ? fmt::format("unknown ggml type {}", id)
                       : fmt::format("{} (ggml type {})", known, id);
}

}  // namespace warpfold::formats
