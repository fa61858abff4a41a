// Runs a planned product on the current device.
#include "instances.h"

namespace warpfold::kernels::gemm {

WF_GEMM_INSTANCES(extern, hopper::bf16, hopper::bf16)
WF_GEMM_INSTANCES(extern, hopper::f16, hopper::f16)
WF_GEMM_INSTANCES(extern, int8_t, int32_t)
WF_GEMM_INSTANCES(extern, int8_t, hopper::bf16)
WF_GEMM_INSTANCES(extern, int8_t, hopper::f16)

namespace {

// The multiprocessors of the current device, if it is a Hopper GPU.
Result<int> multiprocessors() {
  int device = 0, major = 0, minor = 0, count = 0;
  WF_CHECK(hopper::ptx::status(cudaGetDevice(&device), "gemm: no current device"));
  WF_CHECK(hopper::ptx::status(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "gemm"));
  WF_CHECK(hopper::ptx::status(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "gemm"));
  WF_CHECK(hopper::ptx::status(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "gemm"));
  if (major != 9)
    return fail(ErrorCode::kUnsupported,
                "gemm: device " + std::to_string(device) + " has compute capability " + std::to_string(major) + "." +
                    std::to_string(minor) + "; the kernels need 9.0 (H100, H200)");
  return count;
}

}  // namespace

Status run(const Problem& problem, const Plan& chosen, void* stream) {
  WF_CHECK(can_run(problem));
  if (chosen.blocks == 0) return {};
  WF_CHECK(multiprocessors());
  return with_tile(chosen.tile, [&](auto tile) {
    using Tile = decltype(tile);
    const auto go = [&]<class Element, class Output>(Element, Output) {
      return launch<Config<Element, Output, Tile>>(problem, chosen.blocks, stream);
    };
    using hopper::bf16;
    using hopper::f16;
    if (problem.type == DType::kBF16) return go(bf16{}, bf16{});
    if (problem.type == DType::kF16) return go(f16{}, f16{});
    if (problem.output_type == DType::kI32) return go(int8_t{}, int32_t{});
    if (problem.output_type == DType::kBF16) return go(int8_t{}, bf16{});
    return go(int8_t{}, f16{});
  });
}

Status run(const Problem& problem, void* stream, std::optional<TileId> tile) {
  WF_CHECK(can_run(problem));
  WF_TRY(const int count, multiprocessors());
  WF_TRY(const Plan chosen, plan(problem, count, tile));
  return run(problem, chosen, stream);
}

}  // namespace warpfold::kernels::gemm
