// What a problem must fulfil. No CUDA here: the answers are the same on every machine.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan.h"

namespace warpfold::kernels::attention {
namespace {

__extension__ typedef __int128 Wide;  // for products of sizes and strides

// TMA coordinates are 32-bit, and a tile may stick out of its sequence.
constexpr int64_t largest_size = (int64_t{1} << 31) - 1024;
constexpr int64_t counter_bytes = 4;

auto invalid(std::string text) { return fail(ErrorCode::kInvalidArgument, "attention: " + std::move(text)); }
auto unsupported(std::string text) { return fail(ErrorCode::kUnsupported, "attention: " + std::move(text)); }

Status check_size(const char* name, int64_t size, int64_t least) {
  if (size < least) return invalid(fmt::format("{} = {} is below {}", name, size, least));
  if (size > largest_size) return unsupported(fmt::format("{} = {} is above {}", name, size, largest_size));
  return {};
}

Status check_head_dim(const char* name, int64_t dim, int64_t step) {
  if (dim < step || dim > 256 || dim % step != 0)
    return unsupported(
        fmt::format("{} = {}; multiples of {} from {} to 256 are supported", name, dim, step, step));
  return {};
}

Status check_descale(const char* name, const Descale& d, bool eight_bit) {
  if (d.data == nullptr) return {};
  if (!eight_bit) return unsupported(fmt::format("{} is for F8_E4M3 only", name));
  if (const auto address = reinterpret_cast<uintptr_t>(d.data); address % 4 != 0)
    return invalid(fmt::format("{} starts {} bytes after a multiple of 4", name, address % 4));
  if (d.batch_stride < 0 || d.head_stride < 0)
    return unsupported(
        fmt::format("{} has strides of {} and {} elements", name, d.batch_stride, d.head_stride));
  return {};
}

struct Extents {
  int64_t batches, rows, heads, dim, element;  // element: bytes
};

// `multiple` bytes: of the address and of all strides that are used.
Status check_tensor(char name, const Tensor& t, const Extents& e, int64_t multiple, const char* why, bool packed) {
  if (t.data == nullptr) return invalid(fmt::format("{} is null", name));
  if (const auto address = reinterpret_cast<uintptr_t>(t.data); address % uintptr_t(multiple) != 0)
    return unsupported(fmt::format("{} starts {} bytes after a multiple of {}; {}", name, address % uintptr_t(multiple),
                                   multiple, why));
  const auto stride = [&](const char* what, int64_t s) -> Status {
    if (s < 0) return unsupported(fmt::format("{} has a {} stride of {} elements", name, what, s));
    if (s >= (int64_t{1} << 40) / e.element)
      return unsupported(fmt::format("{} has a {} stride of {} elements; TMA needs less than 2^40 bytes", name, what, s));
    if (s * e.element % multiple != 0)
      return unsupported(fmt::format("{} has a {} stride of {} elements = {} bytes; {}", name, what, s, s * e.element, why));
    return {};
  };
  Wide last = e.dim - 1;
  const auto add = [&](const char* what, int64_t size, int64_t s) -> Status {
    if (size <= 1) return {};
    WF_CHECK(stride(what, s));
    last += Wide{size - 1} * s;
    return {};
  };
  if (packed) {
    WF_CHECK(stride("row", t.row_stride));  // the number of rows is not known here
  } else {
    WF_CHECK(add("row", e.rows, t.row_stride));
    WF_CHECK(add("batch", e.batches, t.batch_stride));
  }
  WF_CHECK(add("head", e.heads, t.head_stride));
  const Wide bytes = (last + 1) * e.element;
  if (bytes > (Wide{1} << 62) || bytes > ~reinterpret_cast<uintptr_t>(t.data))
    return invalid(fmt::format("{} reaches beyond the address space", name));
  return {};
}

Status check_lengths(const char* name, const Lengths& l) {
  for (const int32_t* p : {l.starts, l.used})
    if (reinterpret_cast<uintptr_t>(p) % 4 != 0)
      return invalid(fmt::format("the lengths of {} start {} bytes after a multiple of 4", name,
                                 reinterpret_cast<uintptr_t>(p) % 4));
  return {};
}

Status check_window(const Problem& p) {
  if (p.mask != Mask::window) return {};
  // Sums of positions and limits are 32-bit.
  if (p.seqlen_q + p.seqlen_k > largest_size)
    return unsupported(fmt::format("a window over seqlen_q + seqlen_k = {} + {}, above {}", p.seqlen_q,
                                   p.seqlen_k, largest_size));
  return {};
}

Status check_bias(const Problem& p) {
  const Bias& b = p.bias;
  if (b.data == nullptr) return {};
  if (b.type != DType::kBF16 && b.type != DType::kF16 && b.type != DType::kF32 && b.type != DType::kBool)
    return unsupported(
        fmt::format("a bias of type {}; BF16, F16, F32 and BOOL are supported", info(b.type).name));
  const int64_t bytes = info(b.type).block_bytes;
  if (const auto address = reinterpret_cast<uintptr_t>(b.data); address % uintptr_t(bytes) != 0)
    return invalid(
        fmt::format("the bias starts {} bytes after a multiple of {}", address % uintptr_t(bytes), bytes));
  const std::pair<const char*, int64_t> strides[] = {
      {"batch", b.batch_stride}, {"head", b.head_stride}, {"row", b.row_stride}, {"key", b.key_stride}};
  const int64_t sizes[] = {p.batches, p.heads, p.seqlen_q, p.seqlen_k};
  Wide last = 0;
  for (int i = 0; i < 4; ++i) {
    const auto [what, stride] = strides[i];
    if (stride < 0) return unsupported(fmt::format("the bias has a {} stride of {} elements", what, stride));
    last += Wide{std::max<int64_t>(sizes[i], 1) - 1} * stride;
  }
  if ((last + 1) * bytes > (Wide{1} << 62)) return invalid("the bias reaches beyond the address space");
  return {};
}

Status check_floats(const char* name, const float* data) {
  if (const auto address = reinterpret_cast<uintptr_t>(data); address % 4 != 0)
    return invalid(fmt::format("{} starts {} bytes after a multiple of 4", name, address % 4));
  return {};
}

}  // namespace

bool is_empty(const Problem& p) { return p.batches == 0 || p.heads == 0 || p.seqlen_q == 0; }

Status check_workspace(const Problem& p) {
  if (p.workspace == nullptr) return {};
  if (p.workspace_bytes < counter_bytes)
    return invalid(fmt::format("the workspace has {} bytes, {} are needed", p.workspace_bytes, counter_bytes));
  if (reinterpret_cast<uintptr_t>(p.workspace) % 128 != 0)
    return invalid("the workspace does not start on a multiple of 128 bytes");
  return {};
}

Result<int64_t> workspace_bytes(const Problem& p) {
  WF_CHECK(can_run(p));
  return is_empty(p) ? 0 : counter_bytes;
}

Status can_run(const Problem& p) {
  WF_CHECK(check_size("batches", p.batches, 0));
  WF_CHECK(check_size("heads", p.heads, 0));
  WF_CHECK(check_size("kv_heads", p.kv_heads, p.heads == 0 ? 0 : 1));
  WF_CHECK(check_size("seqlen_q", p.seqlen_q, 0));
  WF_CHECK(check_size("seqlen_k", p.seqlen_k, 0));
  if (p.heads != 0 && p.heads % p.kv_heads != 0)
    return invalid(fmt::format("heads = {} is no multiple of kv_heads = {}", p.heads, p.kv_heads));
  const bool eight_bit = p.type == DType::kF8E4M3;
  if (p.type != DType::kBF16 && p.type != DType::kF16 && !eight_bit)
    return unsupported(
        fmt::format("Q, K and V of type {}; BF16, F16 and F8_E4M3 are supported", info(p.type).name));
  const DType result = eight_bit ? DType::kBF16 : p.type;
  if (p.output_type != result && p.output_type != DType::kF32)
    return unsupported(fmt::format("O of type {} for inputs of type {}; {} and F32 are supported",
                                   info(p.output_type).name, info(p.type).name, info(result).name));
  WF_CHECK(check_head_dim("head_dim", p.head_dim, eight_bit ? 16 : 8));
  WF_CHECK(check_head_dim("v_head_dim", p.v_head_dim, eight_bit ? 16 : 8));
  if (eight_bit && (p.softcap != 0 || p.alibi != nullptr || p.bias.data != nullptr))
    return unsupported("F8_E4M3 is compiled without softcap, alibi and bias");
  if (!std::isfinite(p.scale) || p.scale <= 0)
    return unsupported(fmt::format("scale = {}; it must be finite and above 0", p.scale));
  if (!std::isfinite(p.softcap) || p.softcap < 0)
    return invalid(fmt::format("softcap = {}; it must be finite and above 0, or 0 for none", p.softcap));
  if (is_empty(p)) return {};
  WF_CHECK(check_window(p));
  WF_CHECK(check_lengths("Q", p.q_lengths));
  WF_CHECK(check_lengths("K", p.k_lengths));
  const int64_t element = info(p.type).block_bytes;
  constexpr const char* tma = "TMA needs a multiple of 16 bytes";
  WF_CHECK(check_tensor('Q', p.q, {p.batches, p.seqlen_q, p.heads, p.head_dim, element}, 16, tma,
                        p.q_lengths.starts != nullptr));
  if (p.seqlen_k > 0) {
    const bool packed = p.k_lengths.starts != nullptr;
    WF_CHECK(
        check_tensor('K', p.k, {p.batches, p.seqlen_k, p.kv_heads, p.head_dim, element}, 16, tma, packed));
    WF_CHECK(
        check_tensor('V', p.v, {p.batches, p.seqlen_k, p.kv_heads, p.v_head_dim, element}, 16, tma, packed));
  }
  const bool f32 = p.output_type == DType::kF32;
  WF_CHECK(check_tensor('O', p.o, {p.batches, p.seqlen_q, p.heads, p.v_head_dim, f32 ? 4 : 2}, f32 ? 8 : 16,
                        f32 ? "it is stored 8 bytes at a time" : "it is stored 16 bytes at a time",
                        p.q_lengths.starts != nullptr));
  WF_CHECK(check_floats("lse", p.lse));
  WF_CHECK(check_floats("sink", p.sink));
  WF_CHECK(check_floats("alibi", p.alibi));
  if (p.alibi != nullptr && p.alibi_batch_stride < 0)
    return unsupported(fmt::format("alibi has a batch stride of {} elements", p.alibi_batch_stride));
  WF_CHECK(check_bias(p));
  WF_CHECK(check_descale("q_descale", p.q_descale, eight_bit));
  WF_CHECK(check_descale("k_descale", p.k_descale, eight_bit));
  WF_CHECK(check_descale("v_descale", p.v_descale, eight_bit));
  WF_CHECK(check_workspace(p));
  const Wide tiles = Wide{(p.seqlen_q + 63) / 64} * p.heads * p.batches;
  if (tiles > (int64_t{1} << 30))
    return unsupported(fmt::format("{} sequences of {} rows and {} heads have too many tiles", p.batches, p.seqlen_q, p.heads));
  return {};
}

}  // namespace warpfold::kernels::attention
