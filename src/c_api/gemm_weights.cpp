#include <optional>
#include <string>

#include "common.h"
#include "warpfold/kernels/weight_only/tiles.h"

namespace weight_only = warpfold::kernels::weight_only;

namespace {

using warpfold::DType;
using warpfold::ErrorCode;
using warpfold::Result;
using warpfold::Status;
using warpfold::c_api::activation_of;
using warpfold::c_api::can_run_read;
using warpfold::c_api::copy_of;
using warpfold::c_api::number_of;
using warpfold::c_api::report;
using warpfold::c_api::tile_of;
using warpfold::c_api::type_of;

auto invalid(std::string text) {
  return warpfold::fail(ErrorCode::kInvalidArgument, "weight-only: " + std::move(text));
}

Result<DType> weight_type_of(const wf_weight_type& given) {
  const int type = number_of(given);
  switch (type) {
    case WF_Q8_0:
      return DType::kQ8_0;
    case WF_Q4_0:
      return DType::kQ4_0;
    case WF_Q4_1:
      return DType::kQ4_1;
  }
  return invalid("weight_type " + std::to_string(type) + " is no wf_weight_type");
}

Result<weight_only::Problem> problem_of(const wf_gemm_weights_problem* given) {
  WF_TRY(const wf_gemm_weights_problem p, copy_of(given, "weight-only"));
  weight_only::Problem out;
  WF_TRY(out.weight_type, weight_type_of(p.weight_type));
  WF_TRY(out.type, type_of(p.a_type, "weight-only: a_type"));
  WF_TRY(out.output_type, type_of(p.output_type, "weight-only: output_type"));
  WF_TRY(out.activation, activation_of(p.activation, "weight-only"));
  out.m = p.m;
  out.n = p.n;
  out.k = p.k;
  out.a = {p.a, p.a_stride};
  out.weights = p.weights;
  out.c = {p.c, p.c_stride};
  out.d = p.d;
  out.d_stride = p.d_stride;
  out.alpha = p.alpha;
  out.beta = p.beta;
  out.row_scale = p.row_scale;
  out.column_scale = p.column_scale;
  out.bias = p.bias;
  out.workspace = p.workspace;
  out.workspace_bytes = p.workspace_bytes;
  return out;
}

Status run(const wf_gemm_weights_problem* p, int tile, void* stream) {
  WF_TRY(const weight_only::Problem problem, problem_of(p));
  WF_TRY(const auto id, tile_of(weight_only::all_tiles, tile, "weight-only"));
  return weight_only::run(problem, stream, id);
}

Status make_plan(const wf_gemm_weights_problem* p, int multiprocessors, int tile, wf_gemm_plan* out) {
  WF_TRY(const weight_only::Problem problem, problem_of(p));
  WF_TRY(const auto id, tile_of(weight_only::all_tiles, tile, "weight-only"));
  if (out == nullptr) return invalid("the plan is null");
  WF_TRY(const weight_only::Plan plan, weight_only::plan(problem, multiprocessors, id));
  *out = {int32_t(plan.tile), plan.blocks, plan.workspace_bytes, plan.microseconds};
  return {};
}

Status packed_bytes(const wf_weight_type& type, int64_t n, int64_t k, int64_t* bytes) {
  WF_TRY(const DType of, weight_type_of(type));
  if (bytes == nullptr) return invalid("bytes is null");
  WF_CHECK(weight_only::can_pack(of, n, k));
  *bytes = weight_only::packed_bytes(of, n, k);
  return {};
}

Status pack(const wf_weight_type& type, int64_t n, int64_t k, const void* rows, int64_t row_bytes, void* packed,
            int64_t bytes) {
  WF_TRY(const DType of, weight_type_of(type));
  if (row_bytes < 0 || bytes < 0)
    return invalid("row_bytes = " + std::to_string(row_bytes) +
                   " or packed_bytes = " + std::to_string(bytes) + " is negative");
  if ((rows == nullptr && row_bytes > 0) || (packed == nullptr && bytes > 0))
    return invalid("rows or packed is null");
  return weight_only::pack(of, n, k, {static_cast<const std::byte*>(rows), size_t(row_bytes)},
                           {static_cast<std::byte*>(packed), size_t(bytes)});
}

}  // namespace

wf_status wf_gemm_weights_packed_bytes(wf_weight_type type, int64_t n, int64_t k, int64_t* bytes,
                                       char* message, size_t message_bytes) {
  return report(packed_bytes(type, n, k, bytes), message, message_bytes);
}

wf_status wf_gemm_weights_pack(wf_weight_type type, int64_t n, int64_t k, const void* rows, int64_t row_bytes,
                               void* packed, int64_t bytes, char* message, size_t message_bytes) {
  return report(pack(type, n, k, rows, row_bytes, packed, bytes), message, message_bytes);
}

wf_status wf_gemm_weights_can_run(const wf_gemm_weights_problem* p, char* message, size_t message_bytes) {
  return report(can_run_read(problem_of(p)), message, message_bytes);
}

wf_status wf_gemm_weights_make_plan(const wf_gemm_weights_problem* p, int multiprocessors, int tile,
                                    wf_gemm_plan* plan, char* message, size_t message_bytes) {
  return report(make_plan(p, multiprocessors, tile, plan), message, message_bytes);
}

wf_status wf_gemm_weights_run(const wf_gemm_weights_problem* p, int tile, void* stream, char* message,
                              size_t message_bytes) {
  return report(run(p, tile, stream), message, message_bytes);
}

int wf_gemm_weights_tile_count(void) { return int(std::size(weight_only::all_tiles)); }

const char* wf_gemm_weights_tile_name(int tile) { return warpfold::c_api::tile_name(weight_only::all_tiles, tile); }
