// Weights as the weight-only product reads them: codes and scales in the order in which threads need them.
//
// W (N, K) comes in blocks of 32 along K (formats/blocks.h): 8-bit codes with an fp16 scale (Q8_0), 4-bit codes with an
// fp16 scale (Q4_0), and with an fp16 minimum, too (Q4_1). Packed, it is a row of chunks: all chunks of rows 0 to 127 in
// the order of K, then those of rows 128 to 255, and so on. N is padded to a multiple of 128 and K to one of 128, by
// zeros. A chunk holds 128 rows of 64 columns:
//
//   codes      for each half of 64 rows, those of thread 0, of thread 1, ... of the 128 threads of the warpgroup that
//              multiplies it, in units of 16 bytes: a warp reads consecutive units. A thread has the 32 codes of its
//              registers of operand A in the four instructions m64nNk16 that the 64 columns take.
//     4 bits   one unit: word s belongs to instruction s; nibble r holds the lower half of register r, nibble r + 4 the
//              upper half. Codes are those of the file, 0 to 15.
//     8 bits   two units, 128 apart: words 2 s and 2 s + 1 of the 8 belong to instruction s; byte 2 r + h of the two
//              words holds half h of register r. Codes are those of the file plus 128, so that they have no sign.
//   scales     8 bytes for each pair of rows (r, r + 8) that a thread has: blocks 0 and 1 of r, blocks 0 and 1 of r + 8
//   minima     the same, where the format has them
//
// One thread's reads are thus one or two of 16 bytes and one or two of 8, without bank conflicts; a stage is one
// contiguous copy that needs no tensor map; and the size is that of the file. chain.h proves the order against the
// fragment's layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "warpfold/core/dtype.h"
#include "warpfold/core/error.h"

namespace warpfold::kernels::weight_only {

inline constexpr int panel_rows = 128;  // rows of a chunk
inline constexpr int chunk_k = 64;      // columns of a chunk
inline constexpr int panel_k = 128;     // K is padded to a multiple
inline constexpr int block_k = 32;      // columns with one scale

constexpr bool is_packable(DType t) { return t == DType::kQ8_0 || t == DType::kQ4_0 || t == DType::kQ4_1; }
constexpr int code_bits(DType t) { return t == DType::kQ8_0 ? 8 : 4; }
constexpr bool has_minimum(DType t) { return t == DType::kQ4_1; }
// What is subtracted from a packed code: w = scale * (code - zero) [+ minimum].
constexpr int zero_of(DType t) { return t == DType::kQ8_0 ? 128 : t == DType::kQ4_0 ? 8 : 0; }

// ---- The places in a chunk, in bytes.
inline constexpr int scale_bytes = panel_rows * (chunk_k / block_k) * 2;
constexpr int code_bytes(DType t) { return panel_rows * chunk_k * code_bits(t) / 8; }
constexpr int chunk_bytes(DType t) { return code_bytes(t) + scale_bytes * (has_minimum(t) ? 2 : 1); }
constexpr int thread_units(DType t) { return code_bits(t) / 4; }  // of 16 bytes

// Unit `unit` of thread `thread` of warpgroup `half`.
constexpr int unit_place(DType t, int half, int thread, int unit) {
  return ((half * thread_units(t) + unit) * 128 + thread) * 16;
}
// The scales of the two rows of a thread, from the first scale (or minimum) of the chunk on.
constexpr int pair_place(int half, int thread) { return ((half * 4 + thread / 32) * 8 + thread % 32 / 4) * 8; }

// Where a code lies: bits [bit, bit + code_bits) of the byte.
struct CodePlace {
  int byte, bit;
};
constexpr CodePlace code_place(DType t, int row, int k) {
  // The thread and register half of operand A that hold element (row, k % 16) of 64 x 16.
  const int thread = row % 64 / 16 * 32 + row % 8 * 4 + k % 8 / 2;
  const int r = row % 16 / 8 + k % 16 / 8 * 2, h = k % 2, step = k / 16;
  const int in_thread = step * 32 + (r + 4 * h) * 4;  // bits
  if (code_bits(t) == 4) return {unit_place(t, row / 64, thread, 0) + in_thread / 8, in_thread % 8};
  const int byte = step * 8 + 2 * r + h;
  return {unit_place(t, row / 64, thread, byte / 16) + byte % 16, 0};
}
constexpr int scale_place(int row, int block) {
  const int thread = row % 64 / 16 * 32 + row % 8 * 4;
  return pair_place(row / 64, thread) + (row % 16 / 8 * 2 + block) * 2;
}

// ---- Packing

constexpr int64_t padded(int64_t size, int to) { return (size + to - 1) / to * to; }
// Bytes of packed weights (N, K); N and K at least 0, and small enough for 63 bits.
constexpr int64_t packed_bytes(DType t, int64_t n, int64_t k) {
  return padded(n, panel_rows) / panel_rows * (padded(k, panel_k) / chunk_k) * chunk_bytes(t);
}

// Can W (N, K) be packed? Errors: a type without packing; N or K not in [0, 2^31); K no multiple of 32.
Status can_pack(DType type, int64_t n, int64_t k);

// Packs W (N, K), rows of whole blocks one behind the other, into `packed`. Every byte of `packed` is written; scales and
// codes are kept as they are.
// Errors: those of can_pack; spans of another size.
Status pack(DType type, int64_t n, int64_t k, std::span<const std::byte> rows, std::span<std::byte> packed);

}  // namespace warpfold::kernels::weight_only
