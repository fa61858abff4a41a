// Packs the rows of a weight matrix into panels of 16, and reads single rows back.
// Block layouts (ggml): Q4_x/Q5_x hold columns i and i + 16 of a block in the nibbles of byte i, bit 4 of a
// 5-bit value in a 32-bit mask; K types hold 256 columns, see the decoders below.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "ops/panel_format.h"
#include "warpfold/core/half.h"
#include "warpfold/ops/packed_matrix.h"

namespace warpfold::ops {
namespace {

// One row's group of 32 columns as unsigned values, with its scale fields as the panel keeps them.
struct GroupValues {
  std::array<std::uint8_t, 32> q;
  std::array<std::uint16_t, 2> half;  // fp16 scale, minimum (kScale, kScaleMin)
  std::array<std::uint8_t, 2> small;  // 8-bit scale, minimum (kSuper, kSuper16)
};

std::uint16_t load_u16(const std::uint8_t* p) {
  std::uint16_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// The 6-bit scale and minimum of sub-block g of a Q4_K or Q5_K block: 12 bytes hold 8 pairs; the upper two
// bits of the last four pairs lie in the upper bits of the first eight bytes.
void unpack_scale_min(const std::uint8_t* s, int g, std::uint8_t& scale, std::uint8_t& minimum) {
  if (g < 4) {
    scale = s[g] & 63;
    minimum = s[g + 4] & 63;
  } else {
    scale = static_cast<std::uint8_t>((s[g + 4] & 15) | ((s[g - 4] >> 6) << 4));
    minimum = static_cast<std::uint8_t>((s[g + 4] >> 4) | ((s[g] >> 6) << 4));
  }
}

void low_nibble_pairs(const std::uint8_t* qs, std::uint8_t* q) {  // byte i -> columns i and i + 16
  for (int i = 0; i < 16; ++i) {
    q[i] = qs[i] & 15;
    q[i + 16] = qs[i] >> 4;
  }
}

// Reads group g of a row that begins at `row`, of the types that pack_quantised does not copy as they are.
void read_group(DType t, const std::uint8_t* row, std::int64_t g, GroupValues& out) {
  const std::int64_t in_super = g % 8;
  const std::uint8_t* b = info(t).block_size == 256
                              ? row + g / 8 * info(t).block_bytes
                              : row + g * info(t).block_bytes;
  auto& q = out.q;
  switch (t) {
    case DType::kQ5_0:    // d, 32 high bits, 16 nibble pairs
    case DType::kQ5_1: {  // d, m, 32 high bits, 16 nibble pairs
      out.half[0] = load_u16(b);
      if (t == DType::kQ5_1) out.half[1] = load_u16(b += 2);
      std::uint32_t high;
      std::memcpy(&high, b + 2, sizeof high);
      low_nibble_pairs(b + 6, q.data());
      for (unsigned i = 0; i < 32; ++i) q[i] = static_cast<std::uint8_t>(q[i] | ((high >> i & 1) << 4));
      break;
    }
    case DType::kQ4_K:    // d, dmin, 12 scale bytes, 128 bytes: 64 columns a 32 bytes, low nibbles first
    case DType::kQ5_K: {  // d, dmin, 12 scale bytes, 32 bytes of high bits (bit g), 128 bytes as Q4_K
      unpack_scale_min(b + 4, static_cast<int>(in_super), out.small[0], out.small[1]);
      const std::uint8_t* high = b + 16;
      const std::uint8_t* qs = (t == DType::kQ5_K ? b + 48 : b + 16) + in_super / 2 * 32;
      for (std::size_t i = 0; i < 32; ++i) {
        q[i] = in_super % 2 ? qs[i] >> 4 : qs[i] & 15;
        if (t == DType::kQ5_K) q[i] = static_cast<std::uint8_t>(q[i] | ((high[i] >> in_super & 1) << 4));
      }
      break;
    }
    case DType::kQ6_K: {  // 128 bytes of low nibbles, 64 bytes of high pairs, 16 signed scales, d
      // Each half of 128 columns: 64 low bytes, 32 high bytes; its quarter c takes the low (c < 2) or high
      // nibbles of low bytes 32 (c % 2).., and bits 2c, 2c + 1 of the high bytes.
      const std::int64_t half = in_super / 4, quarter = in_super % 4;
      const std::uint8_t* low = b + half * 64 + quarter % 2 * 32;
      const std::uint8_t* high = b + 128 + half * 32;
      for (std::size_t i = 0; i < 32; ++i) {
        const int nibble = quarter < 2 ? low[i] & 15 : low[i] >> 4;
        q[i] = static_cast<std::uint8_t>(nibble | ((high[i] >> (2 * quarter) & 3) << 4));
      }
      out.small = {b[192 + 2 * in_super], b[192 + 2 * in_super + 1]};
      break;
    }
    default: break;
  }
}

// Writes a row's group into its panel's group data.
void write_data(int bits, const std::array<std::uint8_t, 32>& q, std::int64_t r, std::uint8_t* data) {
  if (bits == 8) {
    for (std::size_t j = 0; j < 8; ++j) std::memcpy(data + j * 64 + r * 4, &q[j * 4], 4);
    return;
  }
  std::array<std::uint8_t, 16> nibbles;
  for (std::size_t i = 0; i < 16; ++i) nibbles[i] = static_cast<std::uint8_t>((q[i] & 15) | (q[i + 16] & 15) << 4);
  for (std::size_t j = 0; j < 4; ++j) std::memcpy(data + j * 64 + r * 4, &nibbles[j * 4], 4);
  if (bits == 5) {
    std::uint8_t* high = data + 256 + r * 4;
    for (std::size_t c = 0; c < 4; ++c) {
      int byte = 0;
      for (std::size_t j = 0; j < 8; ++j) byte |= (q[4 * j + c] >> 4) << j;
      high[c] = static_cast<std::uint8_t>(byte);
    }
  } else if (bits == 6) {
    for (std::size_t h = 0; h < 2; ++h)
      for (std::size_t c = 0; c < 4; ++c) {
        int byte = 0;
        for (std::size_t j = 0; j < 4; ++j) byte |= (q[4 * (j + 4 * h) + c] >> 4) << (2 * j);
        data[256 + h * 64 + static_cast<std::size_t>(r) * 4 + c] = static_cast<std::uint8_t>(byte);
      }
  }
}

void read_data(int bits, const std::uint8_t* data, std::int64_t r, std::array<std::uint8_t, 32>& q) {
  for (std::size_t j = 0; j < 8; ++j)
    for (std::size_t c = 0; c < 4; ++c) {
      const std::size_t lane = static_cast<std::size_t>(r) * 4 + c;
      int v;
      if (bits == 8) {
        v = data[j * 64 + lane];
      } else {
        const int byte = data[j % 4 * 64 + lane];
        v = j < 4 ? byte & 15 : byte >> 4;
        if (bits == 5) v |= (data[256 + lane] >> j & 1) << 4;
        if (bits == 6) v |= (data[256 + j / 4 * 64 + lane] >> (2 * (j % 4)) & 3) << 4;
      }
      q[4 * j + c] = static_cast<std::uint8_t>(v);
    }
}

struct PanelPointers {
  std::uint8_t *data, *scales, *supers;
};

PanelPointers pointers(const PanelFormat& f, std::byte* panel, std::int64_t groups) {
  auto* p = reinterpret_cast<std::uint8_t*>(panel);
  return {p, p + groups * f.data_bytes(), p + groups * (f.data_bytes() + f.scale_bytes())};
}

void pack_quantised(DType t, const std::uint8_t* source, std::int64_t rows, std::int64_t columns, std::byte* panel) {
  const PanelFormat f = panel_format(t);
  const std::int64_t groups = columns / kGroup;
  const std::int64_t row_bytes = columns / info(t).block_size * info(t).block_bytes;
  const PanelPointers out = pointers(f, panel, groups);
  GroupValues v{};
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::uint8_t* row = source + r * row_bytes;
    for (std::int64_t g = 0; g < groups; ++g) {
      std::uint8_t* s = out.scales + g * f.scale_bytes();
      if (t == DType::kQ8_0) {
        const std::uint8_t* b = row + g * info(t).block_bytes;
        std::uint8_t* out_row = out.data + g * 512 + r * 4;
        for (int j = 0; j < 8; ++j) {
          std::uint32_t quad;
          std::memcpy(&quad, b + 2 + j * 4, 4);
          quad ^= 0x80808080u;  // signed -> unsigned with zero point 128
          std::memcpy(out_row + j * 64, &quad, 4);
        }
        std::memcpy(s + r * 2, b, 2);
        continue;
      }
      if (t == DType::kQ4_0 || t == DType::kQ4_1) {  // nibble pairs already lie as the panel wants them
        const std::uint8_t* b = row + g * info(t).block_bytes;
        const int header = t == DType::kQ4_0 ? 2 : 4;
        for (int j = 0; j < 4; ++j) std::memcpy(out.data + g * 256 + j * 64 + r * 4, b + header + j * 4, 4);
        std::memcpy(s + r * 2, b, 2);
        if (t == DType::kQ4_1) std::memcpy(s + 32 + r * 2, b + 2, 2);
        continue;
      }
      read_group(t, row, g, v);
      write_data(f.bits, v.q, r, out.data + g * f.data_bytes());
      if (f.super_bytes() == 0) {
        std::memcpy(s + r * 2, &v.half[0], 2);
        if (f.scales == ScaleKind::kScaleMin) std::memcpy(s + 32 + r * 2, &v.half[1], 2);
      } else {
        s[r] = v.small[0];
        s[16 + r] = v.small[1];
        if (g % 8 == 0) {
          const std::uint8_t* b = row + g / 8 * info(t).block_bytes;
          std::uint8_t* d = out.supers + g / 8 * f.super_bytes() + r * 2;
          std::memcpy(d, t == DType::kQ6_K ? b + 208 : b, 2);
          if (f.scales == ScaleKind::kSuper) std::memcpy(d + 32, b + 2, 2);
        }
      }
    }
  }
}

template <class T>
void pack_float(const std::byte* source, std::int64_t rows, std::int64_t columns, std::byte* panel) {
  // (rows, K) -> (K, 16), in tiles of 16 columns so that both sides stay in the first-level cache.
  auto* out = reinterpret_cast<T*>(panel);
  for (std::int64_t k0 = 0; k0 < columns; k0 += 16)
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::byte* row = source + (r * columns) * static_cast<std::int64_t>(sizeof(T));
      for (std::int64_t k = k0; k < std::min(k0 + 16, columns); ++k)
        std::memcpy(out + k * kPanelRows + r, row + k * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    }
}

std::int64_t float_bytes(DType t) { return t == DType::kF32 ? 4 : t == DType::kF16 || t == DType::kBF16 ? 2 : 0; }

}  // namespace

void WeightArena::Unmap::operator()(std::byte* p) const { ::munmap(p, bytes); }

std::byte* WeightArena::allocate(std::int64_t bytes) {
  constexpr std::int64_t kAlignment = 64, kHugePage = 2 << 20, kBlock = 256 << 20;
  const std::int64_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (size > left_) {
    // Only touched pages count, so a block may be larger than needed; one huge page more allows alignment.
    const std::int64_t block = std::max(size, kBlock) + kHugePage;
    void* p = ::mmap(nullptr, static_cast<std::size_t>(block), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    ::madvise(p, static_cast<std::size_t>(block), MADV_HUGEPAGE);
    blocks_.emplace_back(static_cast<std::byte*>(p), Unmap{static_cast<std::size_t>(block)});
    const std::int64_t skip = -reinterpret_cast<std::intptr_t>(p) & (kHugePage - 1);
    next_ = static_cast<std::byte*>(p) + skip;
    left_ = block - skip;
  }
  std::byte* result = next_;
  next_ += size;
  left_ -= size;
  return result;
}

Result<PackedMatrix> PackedMatrix::pack(const TensorView& weight, WeightArena& arena, ThreadPool& pool,
                                        const SourceHooks& hooks) {
  const DType t = weight.dtype;
  PackedMatrix m;
  m.dtype_ = t;
  m.rows_ = weight.rows();
  m.columns_ = weight.columns();
  if (weight.rank != 2)
    return fail(ErrorCode::kInvalidArgument, fmt::format("a weight matrix has 2 modes, this tensor has {}", weight.rank));
  if (is_block_type(t)) {
    if (m.columns_ % info(t).block_size != 0)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} needs a multiple of {} columns, the matrix has {}", info(t).name, info(t).block_size, m.columns_));
    m.panel_bytes_ = panel_format(t).panel_bytes(m.columns_);
  } else if (float_bytes(t) > 0) {
    m.panel_bytes_ = float_bytes(t) * m.columns_ * kPanelRows;
  } else {
    return fail(ErrorCode::kUnsupported, fmt::format("weights of type {} are not supported", info(t).name));
  }
  if (m.bytes() == 0) return m;

  m.data_ = arena.allocate(m.bytes());  // zeroed, which pads the last panel
  if (!m.data_) return fail(ErrorCode::kIo, fmt::format("out of memory: {} bytes for a weight matrix", m.bytes()));

  const std::int64_t row_bytes = weight.bytes() / std::max<std::int64_t>(m.rows_, 1);
  // Stretches of about 2 MB: what the source holds resident beside the packed copy stays small.
  const std::int64_t stretch = std::max<std::int64_t>(1, (2 << 20) / std::max<std::int64_t>(1, row_bytes * kPanelRows));
  pool.parallel_for((m.panels() + stretch - 1) / stretch, [&](std::int64_t chunk, int) {
    const std::int64_t first = chunk * stretch, last = std::min(first + stretch, m.panels());
    const std::int64_t row = first * kPanelRows, end_row = std::min(last * kPanelRows, m.rows_);
    const std::span<const std::byte> part{weight.data + row * row_bytes, static_cast<std::size_t>((end_row - row) * row_bytes)};
    if (hooks.reading) hooks.reading(part);
    for (std::int64_t q = first; q < last; ++q) {
      const std::int64_t rows = std::min(kPanelRows, m.rows_ - q * kPanelRows);
      const std::byte* source = weight.data + q * kPanelRows * row_bytes;
      std::byte* out = m.data_ + q * m.panel_bytes_;
      if (is_block_type(t)) pack_quantised(t, reinterpret_cast<const std::uint8_t*>(source), rows, m.columns_, out);
      else if (t == DType::kF32) pack_float<std::uint32_t>(source, rows, m.columns_, out);
      else pack_float<std::uint16_t>(source, rows, m.columns_, out);
    }
    if (hooks.consumed) hooks.consumed(part);
  });
  return m;
}

void PackedMatrix::unpack_row(std::int64_t row, float* out) const {
  const std::int64_t r = row % kPanelRows;
  const std::byte* p = panel(row / kPanelRows);
  if (!quantised()) {
    for (std::int64_t k = 0; k < columns_; ++k) {
      const std::byte* at = p + (k * kPanelRows + r) * float_bytes(dtype_);
      if (dtype_ == DType::kF32) std::memcpy(out + k, at, 4);
      else if (dtype_ == DType::kF16) out[k] = f16_to_f32(load_u16(reinterpret_cast<const std::uint8_t*>(at)));
      else out[k] = bf16_to_f32(load_u16(reinterpret_cast<const std::uint8_t*>(at)));
    }
    return;
  }
  const PanelFormat f = panel_format(dtype_);
  const std::int64_t groups = columns_ / kGroup;
  const PanelPointers in = pointers(f, const_cast<std::byte*>(p), groups);
  std::array<std::uint8_t, 32> q;
  for (std::int64_t g = 0; g < groups; ++g) {
    read_data(f.bits, in.data + g * f.data_bytes(), r, q);
    const std::uint8_t* s = in.scales + g * f.scale_bytes();
    const std::uint8_t* d = in.supers + g / 8 * f.super_bytes() + r * 2;
    for (std::size_t i = 0; i < 32; ++i) {
      float scale = 0, minimum = 0;
      switch (f.scales) {
        case ScaleKind::kScaleMin: minimum = f16_to_f32(load_u16(s + 32 + r * 2)); [[fallthrough]];
        case ScaleKind::kScale: scale = f16_to_f32(load_u16(s + r * 2)); break;
        case ScaleKind::kSuper:
          scale = f16_to_f32(load_u16(d)) * s[r];
          minimum = -f16_to_f32(load_u16(d + 32)) * s[16 + r];
          break;
        case ScaleKind::kSuper16:
          scale = f16_to_f32(load_u16(d)) * static_cast<std::int8_t>(s[i < 16 ? r : 16 + r]);
          break;
      }
      out[g * kGroup + static_cast<std::int64_t>(i)] = scale * static_cast<float>(q[i] - f.zero_point) + minimum;
    }
  }
}

}  // namespace warpfold::ops
