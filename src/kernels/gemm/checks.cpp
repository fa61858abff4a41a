// What a product must fulfil, and which tile it gets. No CUDA here: the answers are the same on every
// machine.
#include <fmt/format.h>

#include <algorithm>

#include "warpfold/kernels/gemm/config.h"
#include "warpfold/kernels/gemm/gemm.h"

namespace warpfold::kernels::gemm {
namespace {

// TMA coordinates are 32-bit, and a tile may stick out of the matrix.
constexpr int64_t largest_size = (int64_t{1} << 31) - 1024;

Status check_size(char name, int64_t size) {
  if (size < 0)
    return fail(ErrorCode::kInvalidArgument, fmt::format("gemm: {} = {} is negative", name, size));
  if (size > largest_size)
    return fail(ErrorCode::kUnsupported, fmt::format("gemm: {} = {} is above {}", name, size, largest_size));
  return {};
}

Status check_matrix(char name, DType type, const void* data, int64_t rows, int64_t width, int64_t stride) {
  const int64_t element = info(type).block_bytes;
  const auto invalid = [](std::string text) { return fail(ErrorCode::kInvalidArgument, std::move(text)); };
  const auto unsupported = [](std::string text) { return fail(ErrorCode::kUnsupported, std::move(text)); };
  if (data == nullptr) return invalid(fmt::format("gemm: {} is null", name));
  if (const auto address = reinterpret_cast<uintptr_t>(data); address % 16 != 0)
    return unsupported(fmt::format(
        "gemm: {} starts {} bytes after a multiple of 16; TMA needs a multiple of 16", name, address % 16));
  if (rows <= 1) return {};  // the stride is never used
  if (stride < width)
    return invalid(fmt::format("gemm: {} has a row stride of {} elements, below its rows of {} elements",
                               name, stride, width));
  if (stride >= (int64_t{1} << 40) / element)
    return unsupported(fmt::format("gemm: {} has a row stride of {} elements; TMA needs less than 2^40 bytes",
                                   name, stride));
  if (stride * element % 16 != 0)
    return unsupported(
        fmt::format("gemm: {} has a row stride of {} elements = {} bytes; TMA needs a multiple of 16 bytes",
                    name, stride, stride * element));
  return {};
}

int64_t tiles(const Problem& p, TileId id) {
  return with_tile(id, [&](auto tile) {
    const int64_t cluster_m = int64_t{tile.tile_m} * tile.cluster;
    return ((p.m + cluster_m - 1) / cluster_m) * ((p.n + tile.tile_n - 1) / tile.tile_n);
  });
}

// Time of a product on a tile, in elements of the output that one multiprocessor works on, one after the
// other: waves of tiles, each as long as its area times what the tile costs beside 128 x 128. Measured on an
// H200 in bf16 from 1024 to 16384 cubed (bench/results); the cooperative tiles win nowhere there.
struct TileCost {
  TileId id;
  double factor;
};
constexpr TileCost costs[] = {{TileId::m128_n128_ping_pong, 1.0},
                              {TileId::m128_n192_ping_pong, 0.99},
                              {TileId::m64_n64_ping_pong, 1.6}};

TileId choose(const Problem& p, int multiprocessors) {
  TileId best{};
  double least = 0;
  int64_t waves_of_best = 0;
  for (const TileCost& c : costs) {
    const int64_t waves = (tiles(p, c.id) + multiprocessors - 1) / multiprocessors;
    const double area = with_tile(c.id, [](auto t) { return double(t.tile_m) * t.tile_n; });
    const double cost = double(waves) * area * c.factor;
    if (least != 0 && cost >= least) continue;
    best = c.id;
    least = cost;
    waves_of_best = waves;
  }
  // With many waves L2 is what limits: pairs of blocks that share B read less of it.
  if (best == TileId::m128_n128_ping_pong && waves_of_best >= 16) return TileId::m128_n128_ping_pong_cluster2;
  return best;
}

}  // namespace

Status can_run(const Problem& p) {
  if (p.type != DType::kBF16 && p.type != DType::kF16 && p.type != DType::kI8)
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("gemm: element type {} is not supported; BF16, F16 and I8 are", info(p.type).name));
  const bool integers = p.type == DType::kI8, exact = integers && p.output_type == DType::kI32;
  if (integers ? !exact && p.output_type != DType::kBF16 && p.output_type != DType::kF16
               : p.output_type != p.type)
    return fail(ErrorCode::kUnsupported, fmt::format("gemm: {} with a result of type {} is not supported",
                                                     info(p.type).name, info(p.output_type).name));
  if (!integers && (p.row_scale != nullptr || p.column_scale != nullptr))
    return fail(ErrorCode::kUnsupported, fmt::format("gemm: {} takes no scales; I8 does", info(p.type).name));
  if (exact && (p.alpha != 1 || p.beta != 0 || p.row_scale != nullptr || p.column_scale != nullptr))
    return fail(ErrorCode::kUnsupported, "gemm: a result of type I32 takes neither alpha, beta nor scales");
  WF_CHECK(check_size('M', p.m));
  WF_CHECK(check_size('N', p.n));
  WF_CHECK(check_size('K', p.k));
  if (p.m == 0 || p.n == 0) return {};
  if (p.alpha != 0 && p.k > 0) {
    WF_CHECK(check_matrix('A', p.type, p.a.data, p.m, p.k, p.a.stride));
    WF_CHECK(check_matrix('B', p.type, p.b.data, p.n, p.k, p.b.stride));
  }
  if (p.beta != 0) WF_CHECK(check_matrix('C', p.output_type, p.c.data, p.m, p.n, p.c.stride));
  WF_CHECK(check_matrix('D', p.output_type, p.d, p.m, p.n, p.d_stride));
  if (reinterpret_cast<uintptr_t>(p.column_scale) % 8 != 0 ||
      reinterpret_cast<uintptr_t>(p.row_scale) % 4 != 0)
    return fail(ErrorCode::kInvalidArgument,
                "gemm: scales are misaligned; column_scale starts on 8 bytes, row_scale on 4");
  if (const int64_t count = tiles(p, TileId::m64_n64_ping_pong); count > (int64_t{1} << 30))
    return fail(ErrorCode::kUnsupported, fmt::format("gemm: M x N = {} x {} has too many tiles", p.m, p.n));
  return {};
}

Result<Plan> plan(const Problem& p, int multiprocessors, std::optional<TileId> tile) {
  WF_CHECK(can_run(p));
  if (multiprocessors < 2)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("gemm: {} multiprocessors, at least 2 are needed", multiprocessors));
  Plan result;
  if (p.m == 0 || p.n == 0) return result;
  result.tile = tile.value_or(choose(p, multiprocessors));
  const int cluster = with_tile(result.tile, [](auto t) { return t.cluster; });
  result.blocks = int(std::min<int64_t>(tiles(p, result.tile), multiprocessors / cluster)) * cluster;
  return result;
}

}  // namespace warpfold::kernels::gemm
