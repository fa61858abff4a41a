// Runs a planned product on the current device.
#include "instances.h"

namespace warpfold::kernels::gemm {

WF_GEMM_INSTANCES(extern, hopper::bf16)
WF_GEMM_INSTANCES(extern, hopper::f16)

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
    return problem.type == DType::kF16 ? launch<Config<hopper::f16, Tile>>(problem, chosen.blocks, stream)
                                       : launch<Config<hopper::bf16, Tile>>(problem, chosen.blocks, stream);
  });
}

Status run(const Problem& problem, void* stream, std::optional<TileId> tile) {
  WF_CHECK(can_run(problem));
  WF_TRY(const int count, multiprocessors());
  WF_TRY(const Plan chosen, plan(problem, count, tile));
  return run(problem, chosen, stream);
}

}  // namespace warpfold::kernels::gemm
