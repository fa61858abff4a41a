// Keys and values of one sequence, one layer: what attention reads.
//
//   K  per KV head: panels of 16 keys, (capacity / 16, D, 16), so that the scores of 16 keys come from one vector
//   V  per KV head: (capacity, Dp), Dp = D rounded up to 16, the rest zero
// Elements are fp16 or fp32, or int8 with one fp32 scale a token and head: H x = scale * q, scale = max|H x| / 127, where H is
// a Walsh-Hadamard rotation that spreads outliers over the head (ops/hadamard.h in the sources).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace warpfold::ops {

enum class KvType { kF16, kInt8, kF32 };

constexpr std::int64_t element_bytes(KvType type) { return type == KvType::kF32 ? 4 : type == KvType::kF16 ? 2 : 1; }

inline constexpr std::int64_t kKeyPanel = 16;

class KvLayer {
 public:
  // Takes memory for `capacity` tokens; pages are touched when tokens arrive.
  KvLayer(std::int64_t kv_heads, std::int64_t head_dim, std::int64_t capacity, KvType type);

  // Stores one token's keys and values, k and v (kv_heads, D), at position pos < capacity. May overwrite k and v.
  void append(float* k, float* v, std::int64_t pos);

  // Takes over the first `tokens` of a cache of the same heads, head_dim and type.
  void copy(const KvLayer& from, std::int64_t tokens);

  KvType type() const { return type_; }
  std::int64_t kv_heads() const { return kv_heads_; }
  std::int64_t head_dim() const { return head_dim_; }
  std::int64_t v_stride() const { return v_stride_; }
  std::int64_t bytes() const;
  const std::byte* k(std::int64_t head) const { return k_.get() + head * padded_ * head_dim_ * element_; }
  const std::byte* v(std::int64_t head) const { return v_.get() + head * padded_ * v_stride_ * element_; }
  const float* k_scale(std::int64_t head) const { return k_scale_.data() + (type_ == KvType::kInt8 ? head * padded_ : 0); }
  const float* v_scale(std::int64_t head) const { return v_scale_.data() + (type_ == KvType::kInt8 ? head * padded_ : 0); }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  KvType type_;
  std::int64_t kv_heads_, head_dim_, v_stride_, padded_, element_;
  std::unique_ptr<std::byte[], Free> k_, v_;
  std::vector<float> k_scale_, v_scale_;  // (kv_heads, padded)
};

}  // namespace warpfold::ops
