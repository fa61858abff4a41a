#include <optional>
#include <string>

#include "common.h"
#include "warpfold/kernels/gemm/grouped_gemm.h"
#include "warpfold/kernels/gemm/row_sums.h"
#include "warpfold/kernels/gemm/tiles.h"

namespace gemm = warpfold::kernels::gemm;

namespace {

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

auto invalid(std::string text) { return warpfold::fail(ErrorCode::kInvalidArgument, "gemm: " + std::move(text)); }

Result<gemm::Problem> problem_of(const wf_gemm_problem* given) {
  WF_TRY(const wf_gemm_problem p, copy_of(given, "gemm"));
  gemm::Problem out;
  WF_TRY(out.type, type_of(p.a_type, "gemm: a_type"));
  WF_TRY(out.b_type, type_of(p.b_type, "gemm: b_type"));
  WF_TRY(out.output_type, type_of(p.output_type, "gemm: output_type"));
  WF_TRY(out.activation, activation_of(p.activation, "gemm"));
  const int gate = number_of(p.gate);
  if (gate < WF_NO_GATE || gate > WF_GATE_CONCATENATED) return invalid("gate " + std::to_string(gate) + " is no wf_gate");
  out.m = p.m;
  out.n = p.n;
  out.k = p.k;
  out.batches = p.batches;
  out.a = {p.a, p.a_stride, p.a_batch_stride, p.a_column_major != 0};
  out.b = {p.b, p.b_stride, p.b_batch_stride, p.b_column_major != 0};
  out.c = {p.c, p.c_stride, p.c_batch_stride, p.d_column_major != 0};
  out.d = p.d;
  out.d_stride = p.d_stride;
  out.d_batch_stride = p.d_batch_stride;
  out.d_column_major = p.d_column_major != 0;
  out.alpha = p.alpha;
  out.beta = p.beta;
  out.row_scale = p.row_scale;
  out.column_scale = p.column_scale;
  out.one_row_scale = p.one_row_scale != 0;
  out.one_column_scale = p.one_column_scale != 0;
  out.bias = p.bias;
  out.row_bias = p.row_bias;
  out.gate = gemm::Gate(gate);
  out.fast_accumulation = p.fast_accumulation != 0;
  out.a_zero = p.a_zero;
  out.b_zero = p.b_zero;
  out.one_a_zero = p.one_a_zero != 0;
  out.one_b_zero = p.one_b_zero != 0;
  out.a_sums = p.a_sums;
  out.b_sums = p.b_sums;
  out.output_scale = p.output_scale;
  out.output_zero = p.output_zero;
  out.row_amax = p.row_amax;
  out.workspace = p.workspace;
  out.workspace_bytes = p.workspace_bytes;
  return out;
}
static_assert(int(gemm::Gate::interleaved) == WF_GATE_INTERLEAVED && int(gemm::Gate::concatenated) == WF_GATE_CONCATENATED);

Status run(const wf_gemm_problem* p, int tile, void* stream) {
  WF_TRY(const gemm::Problem problem, problem_of(p));
  WF_TRY(const auto id, tile_of(gemm::all_tiles, tile, "gemm"));
  return gemm::run(problem, stream, id);
}

Result<gemm::GroupedProblem> problem_of(const wf_gemm_grouped_problem* given) {
  WF_TRY(const wf_gemm_grouped_problem p, copy_of(given, "grouped gemm"));
  gemm::GroupedProblem out;
  WF_TRY(out.type, type_of(p.type, "grouped gemm: type"));
  WF_TRY(out.output_type, type_of(p.output_type, "grouped gemm: output_type"));
  out.rows = p.rows;
  out.n = p.n;
  out.k = p.k;
  out.groups = p.groups;
  out.a = {p.a, p.a_stride};
  out.b = {p.b, p.b_stride, p.b_group_stride};
  out.d = p.d;
  out.d_stride = p.d_stride;
  out.alpha = p.alpha;
  out.starts = p.starts;
  out.counts = p.counts;
  out.row_step = p.row_step;
  out.b_pointers = p.b_pointers;
  out.row_scale = p.row_scale;
  out.column_scale = p.column_scale;
  out.one_column_scale = p.one_column_scale != 0;
  out.bias = p.bias;
  WF_TRY(out.activation, activation_of(p.activation, "gemm"));
  return out;
}

Status run(const wf_gemm_grouped_problem* p, int tile, void* stream) {
  WF_TRY(const gemm::GroupedProblem problem, problem_of(p));
  WF_TRY(const auto id, tile_of(gemm::all_tiles, tile, "gemm"));
  return gemm::run(problem, stream, id);
}

Status make_plan(const wf_gemm_problem* p, int multiprocessors, int tile, wf_gemm_plan* out) {
  WF_TRY(const gemm::Problem problem, problem_of(p));
  WF_TRY(const auto id, tile_of(gemm::all_tiles, tile, "gemm"));
  if (out == nullptr) return invalid("the plan is null");
  WF_TRY(const gemm::Plan plan, gemm::plan(problem, multiprocessors, id));
  *out = {int32_t(plan.tile), plan.blocks, plan.workspace_bytes, plan.microseconds};
  return {};
}

}  // namespace

wf_status wf_gemm_can_run(const wf_gemm_problem* p, char* message, size_t message_bytes) {
  const auto problem = problem_of(p);
  const Status status = can_run_read(problem);
  const wf_status code = report(status, message, message_bytes);
  if (status) warpfold::c_api::write_message(gemm::copy_reason(*problem), message, message_bytes);
  return code;
}

wf_status wf_gemm_make_plan(const wf_gemm_problem* p, int multiprocessors, int tile, wf_gemm_plan* plan, char* message,
                            size_t message_bytes) {
  return report(make_plan(p, multiprocessors, tile, plan), message, message_bytes);
}

wf_status wf_gemm_workspace(const wf_gemm_problem* p, int multiprocessors, int64_t* bytes, char* message,
                            size_t message_bytes) {
  if (bytes == nullptr) return report(invalid("bytes is null"), message, message_bytes);
  wf_gemm_plan plan{};
  const Status status = make_plan(p, multiprocessors, -1, &plan);
  *bytes = plan.workspace_bytes;
  return report(status, message, message_bytes);
}

wf_status wf_gemm_run(const wf_gemm_problem* p, int tile, void* stream, char* message, size_t message_bytes) {
  return report(run(p, tile, stream), message, message_bytes);
}

wf_status wf_gemm_row_sums(const int8_t* matrix, int64_t rows, int64_t k, int64_t batches, int64_t stride,
                           int64_t batch_stride, int32_t* sums, void* stream, char* message, size_t message_bytes) {
  return report(gemm::row_sums({matrix, rows, k, batches, stride, batch_stride, sums}, stream), message, message_bytes);
}

wf_status wf_gemm_grouped_can_run(const wf_gemm_grouped_problem* p, char* message, size_t message_bytes) {
  return report(can_run_read(problem_of(p)), message, message_bytes);
}

wf_status wf_gemm_grouped_run(const wf_gemm_grouped_problem* p, int tile, void* stream, char* message,
                              size_t message_bytes) {
  return report(run(p, tile, stream), message, message_bytes);
}

int wf_abi_version(void) { return WF_ABI_VERSION; }

int wf_gemm_tile_count(void) { return int(std::size(gemm::all_tiles)); }

const char* wf_gemm_tile_name(int tile) { return warpfold::c_api::tile_name(gemm::all_tiles, tile); }
