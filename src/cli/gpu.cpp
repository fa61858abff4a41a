#include "cli/gpu.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <memory>

namespace warpfold::cli {
namespace {

// The driver interface's types, as in cuda.h.
using CuResult = int;
using CuDevice = int;
using CuInit = CuResult (*)(unsigned flags);
using CuDeviceGetCount = CuResult (*)(int* count);
using CuDeviceGet = CuResult (*)(CuDevice* device, int ordinal);
using CuDeviceGetName = CuResult (*)(char* name, int length, CuDevice device);

constexpr const char* kLibrary = "libcuda.so.1";

}  // namespace

std::string describe_gpus() {
  const auto close = [](void* library) { ::dlclose(library); };
  const std::unique_ptr<void, decltype(close)> library(::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL), close);
  if (!library) return fmt::format("none ({} not found)", kLibrary);
  const auto init = reinterpret_cast<CuInit>(::dlsym(library.get(), "cuInit"));
  const auto get_count = reinterpret_cast<CuDeviceGetCount>(::dlsym(library.get(), "cuDeviceGetCount"));
  const auto get = reinterpret_cast<CuDeviceGet>(::dlsym(library.get(), "cuDeviceGet"));
  const auto get_name = reinterpret_cast<CuDeviceGetName>(::dlsym(library.get(), "cuDeviceGetName"));
  if (!init || !get_count || !get || !get_name)
    return fmt::format("none ({} lacks the driver's functions)", kLibrary);
  if (const CuResult error = init(0)) return fmt::format("none (the driver gave error {})", error);
  int count = 0;
  if (get_count(&count) != 0 || count == 0) return "none (the driver lists no device)";
  std::string text = fmt::format("{} found:", count);
  for (int i = 0; i < count; ++i) {
    CuDevice device = 0;
    std::array<char, 128> name{};
    const bool known =
        get(&device, i) == 0 && get_name(name.data(), static_cast<int>(name.size()), device) == 0;
    text += fmt::format("{} {}", i ? "," : "", known ? name.data() : "unknown");
  }
  return text;
}

}  // namespace warpfold::cli
