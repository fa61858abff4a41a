#include <algorithm>
#include <cstring>
#include <tuple>

#include "warpfold/kernels/gemm/config.h"
#include "warpfold/kernels/gemm/gemm.h"
#include "warpfold/warpfold.h"

namespace gemm = warpfold::kernels::gemm;

namespace {

wf_status report(const warpfold::Status& status, char* message, size_t message_bytes) {
  const std::string text = status ? "" : status.error().message;
  if (message != nullptr && message_bytes > 0) {
    const size_t length = std::min(text.size(), message_bytes - 1);
    std::memcpy(message, text.data(), length);
    message[length] = 0;
  }
  if (status) return WF_OK;
  switch (status.error().code) {
    case warpfold::ErrorCode::kInvalidArgument:
      return WF_INVALID_ARGUMENT;
    case warpfold::ErrorCode::kUnsupported:
      return WF_UNSUPPORTED;
    default:
      return WF_FAILED;
  }
}

warpfold::Result<gemm::Problem> problem_of(const wf_gemm_problem* p) {
  if (p == nullptr) return warpfold::fail(warpfold::ErrorCode::kInvalidArgument, "gemm: the problem is null");
  gemm::Problem out;
  for (const auto& [given, name, type] :
       {std::tuple{p->type, "type", &out.type}, {p->output_type, "output_type", &out.output_type}})
    switch (given) {
      case WF_BF16:
        *type = warpfold::DType::kBF16;
        break;
      case WF_F16:
        *type = warpfold::DType::kF16;
        break;
      case WF_I8:
        *type = warpfold::DType::kI8;
        break;
      case WF_I32:
        *type = warpfold::DType::kI32;
        break;
      default:
        return warpfold::fail(
            warpfold::ErrorCode::kInvalidArgument,
            "gemm: " + std::string(name) + " " + std::to_string(int(given)) + " is no wf_type");
    }
  out.m = p->m;
  out.n = p->n;
  out.k = p->k;
  out.a = {p->a, p->a_stride};
  out.b = {p->b, p->b_stride};
  out.c = {p->c, p->c_stride};
  out.d = p->d;
  out.d_stride = p->d_stride;
  out.alpha = p->alpha;
  out.beta = p->beta;
  out.row_scale = p->row_scale;
  out.column_scale = p->column_scale;
  return out;
}

constexpr int tile_count = int(std::size(gemm::all_tiles));

warpfold::Status run(const wf_gemm_problem* p, int tile, void* stream) {
  WF_TRY(const gemm::Problem problem, problem_of(p));
  if (tile == -1) return gemm::run(problem, stream);
  if (tile < 0 || tile >= tile_count)
    return warpfold::fail(
        warpfold::ErrorCode::kInvalidArgument,
        "gemm: tile " + std::to_string(tile) + " is not in [0, " + std::to_string(tile_count) + ")");
  return gemm::run(problem, stream, gemm::all_tiles[tile]);
}

}  // namespace

wf_status wf_gemm_can_run(const wf_gemm_problem* p, char* message, size_t message_bytes) {
  const auto problem = problem_of(p);
  return report(problem ? gemm::can_run(*problem) : warpfold::Status(tl::unexpected(problem.error())),
                message, message_bytes);
}

wf_status wf_gemm_run(const wf_gemm_problem* p, int tile, void* stream, char* message, size_t message_bytes) {
  return report(run(p, tile, stream), message, message_bytes);
}

int wf_gemm_choose(const wf_gemm_problem* p, int multiprocessors) {
  const auto problem = problem_of(p);
  if (!problem) return -1;
  const auto chosen = gemm::plan(*problem, multiprocessors);
  return chosen ? int(chosen->tile) : -1;
}

int wf_gemm_tile_count(void) { return tile_count; }

const char* wf_gemm_tile_name(int tile) {
  if (tile < 0 || tile >= tile_count) return "";
  return gemm::with_tile(gemm::all_tiles[tile], [](auto t) { return t.name; });
}
