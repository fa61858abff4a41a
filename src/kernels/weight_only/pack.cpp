#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "warpfold/kernels/weight_only/packed.h"

namespace warpfold::kernels::weight_only {
namespace {

// A block of the file (formats/blocks.h): fp16 scale, fp16 minimum where there is one, codes; 4-bit ones of
// elements i and i + 16 share a byte.
struct Block {
  const std::byte* data;
  DType type;

  std::byte scale(int i) const { return data[i]; }
  std::byte minimum(int i) const { return data[2 + i]; }
  uint8_t code(int i) const {
    const auto* codes = reinterpret_cast<const uint8_t*>(data) + (has_minimum(type) ? 4 : 2);
    if (code_bits(type) == 8) return uint8_t(codes[i] ^ 0x80);
    return i < 16 ? codes[i] & 15 : codes[i - 16] >> 4;
  }
};

auto invalid(std::string text) { return fail(ErrorCode::kInvalidArgument, std::move(text)); }

// Writes block `block` of row `row` of the chunk.
void pack_block(const Block& from, int row, int block, std::byte* chunk) {
  const DType type = from.type;
  for (int i = 0; i < block_k; ++i) {
    const CodePlace at = code_place(type, row, block * block_k + i);
    chunk[at.byte] |= std::byte(from.code(i) << at.bit);
  }
  std::byte* const scale = chunk + code_bytes(type) + scale_place(row, block);
  for (int i = 0; i < 2; ++i) {
    scale[i] = from.scale(i);
    if (has_minimum(type)) scale[scale_bytes + i] = from.minimum(i);
  }
}

}  // namespace

Status can_pack(DType type, int64_t n, int64_t k) {
  if (!is_packable(type))
    return fail(ErrorCode::kUnsupported,
                fmt::format("weight-only: {} cannot be packed; Q8_0, Q4_0 and Q4_1 can", info(type).name));
  constexpr int64_t largest = int64_t{1} << 31;
  if (n < 0 || k < 0 || n >= largest || k >= largest)
    return invalid(fmt::format("weight-only: N x K = {} x {} is not in [0, 2^31)", n, k));
  if (k % block_k != 0)
    return invalid(
        fmt::format("weight-only: K = {} is no multiple of {}, the length of a block", k, block_k));
  return {};
}

Status pack(DType type, int64_t n, int64_t k, std::span<const std::byte> rows, std::span<std::byte> packed) {
  WF_CHECK(can_pack(type, n, k));
  const int64_t blocks = k / block_k, block_bytes = info(type).block_bytes;
  if (int64_t(rows.size()) != n * blocks * block_bytes)
    return invalid(fmt::format("weight-only: N x K = {} x {} of {} has {} bytes, {} are given", n, k,
                               info(type).name, n * blocks * block_bytes, rows.size()));
  if (int64_t(packed.size()) != packed_bytes(type, n, k))
    return invalid(fmt::format("weight-only: N x K = {} x {} of {} takes {} bytes packed, {} are given", n, k,
                               info(type).name, packed_bytes(type, n, k), packed.size()));
  std::ranges::fill(packed, std::byte{0});
  const int64_t chunks = padded(k, panel_k) / chunk_k;
  for (int64_t row = 0; row < n; ++row)
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t chunk = row / panel_rows * chunks + block / 2;
      pack_block({rows.data() + (row * blocks + block) * block_bytes, type}, int(row % panel_rows),
                 int(block % 2), packed.data() + chunk * chunk_bytes(type));
    }
  return {};
}

}  // namespace warpfold::kernels::weight_only
