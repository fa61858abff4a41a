#include <optional>
#include <string>

#include "common.h"
#include "warpfold/kernels/attention/tiles.h"

namespace attention = warpfold::kernels::attention;

namespace {

using warpfold::ErrorCode;
using warpfold::Result;
using warpfold::Status;
using warpfold::c_api::can_run_read;
using warpfold::c_api::copy_of;
using warpfold::c_api::number_of;
using warpfold::c_api::report;
using warpfold::c_api::type_of;

auto invalid(std::string text) { return warpfold::fail(ErrorCode::kInvalidArgument, "attention: " + std::move(text)); }

Result<attention::Problem> problem_of(const wf_attention_problem* given) {
  WF_TRY(const wf_attention_problem p, copy_of(given, "attention"));
  attention::Problem out;
  WF_TRY(out.type, type_of(p.type, "attention: type"));
  WF_TRY(out.output_type, type_of(p.output_type, "attention: output_type"));
  const int mask = number_of(p.mask);
  if (mask < WF_NO_MASK || mask > WF_WINDOW) return invalid("mask " + std::to_string(mask) + " is no wf_mask");
  out.batches = p.batches;
  out.heads = p.heads;
  out.kv_heads = p.kv_heads;
  out.seqlen_q = p.seqlen_q;
  out.seqlen_k = p.seqlen_k;
  out.head_dim = p.head_dim;
  out.v_head_dim = p.v_head_dim;
  out.q = {p.q, p.q_row_stride, p.q_head_stride, p.q_batch_stride};
  out.k = {p.k, p.k_row_stride, p.k_head_stride, p.k_batch_stride};
  out.v = {p.v, p.v_row_stride, p.v_head_stride, p.v_batch_stride};
  out.o = {p.o, p.o_row_stride, p.o_head_stride, p.o_batch_stride};
  out.lse = p.lse;
  out.lse_head_stride = p.lse_head_stride;
  out.lse_batch_stride = p.lse_batch_stride;
  out.q_lengths = {p.q_starts, p.q_used};
  out.k_lengths = {p.k_starts, p.k_used};
  out.scale = p.scale;
  out.mask = attention::Mask(mask);
  out.window_left = p.window_left;
  out.window_right = p.window_right;
  out.softcap = p.softcap;
  out.sink = p.sink;
  out.alibi = p.alibi;
  out.alibi_batch_stride = p.alibi_batch_stride;
  out.q_descale = {p.q_descale, p.descale_batch_stride, p.descale_head_stride};
  out.k_descale = {p.k_descale, p.descale_batch_stride, p.descale_head_stride};
  out.v_descale = {p.v_descale, p.descale_batch_stride, p.descale_head_stride};
  if (p.bias != nullptr) {
    out.bias = {
        p.bias,           warpfold::DType::kBool, p.bias_batch_stride, p.bias_head_stride, p.bias_row_stride,
        p.bias_key_stride};
    if (!p.bias_is_mask) {
      WF_TRY(out.bias.type, type_of(p.bias_type, "attention: bias_type"));
    }
  }
  out.workspace = p.workspace;
  out.workspace_bytes = p.workspace_bytes;
  return out;
}
static_assert(int(attention::Mask::none) == WF_NO_MASK && int(attention::Mask::causal) == WF_CAUSAL &&
              int(attention::Mask::window) == WF_WINDOW);

constexpr int tile_count = int(std::size(attention::all_tiles));

Status run(const wf_attention_problem* p, int tile, void* stream) {
  WF_TRY(const attention::Problem problem, problem_of(p));
  if (tile < -1 || tile >= tile_count)
    return invalid("tile " + std::to_string(tile) + " is not in [-1, " + std::to_string(tile_count) + ")");
  return attention::run(problem, stream, tile < 0 ? std::nullopt : std::optional(attention::all_tiles[size_t(tile)]));
}

Status workspace(const wf_attention_problem* p, int64_t* bytes) {
  if (bytes == nullptr) return invalid("bytes is null");
  WF_TRY(const attention::Problem problem, problem_of(p));
  WF_TRY(*bytes, attention::workspace_bytes(problem));
  return {};
}

}  // namespace

wf_status wf_attention_can_run(const wf_attention_problem* p, char* message, size_t message_bytes) {
  return report(can_run_read(problem_of(p)), message, message_bytes);
}

wf_status wf_attention_workspace(const wf_attention_problem* p, int64_t* bytes, char* message, size_t message_bytes) {
  return report(workspace(p, bytes), message, message_bytes);
}

wf_status wf_attention_run(const wf_attention_problem* p, int tile, void* stream, char* message, size_t message_bytes) {
  return report(run(p, tile, stream), message, message_bytes);
}

int wf_attention_tile_count(void) { return tile_count; }

const char* wf_attention_tile_name(int tile) { return warpfold::c_api::tile_name(attention::all_tiles, tile); }
