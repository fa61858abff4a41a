// Splits attention into tiles of query rows, and long key ranges of few rows into parts that are merged.
#include "warpfold/ops/attention.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "ops/attention_kernels.h"
#include "ops/hadamard.h"
#include "warpfold/core/attention_rule.h"
#include "warpfold/core/half.h"

namespace warpfold::ops {

void KvLayer::Free::operator()(std::byte* p) const { std::free(p); }

KvLayer::KvLayer(std::int64_t kv_heads, std::int64_t head_dim, std::int64_t capacity, KvType type)
    : type_(type), kv_heads_(kv_heads), head_dim_(head_dim), v_stride_((head_dim + 15) / 16 * 16),
      padded_((capacity + kKeyPanel - 1) / kKeyPanel * kKeyPanel), element_(element_bytes(type)) {
  // calloc: untouched pages cost nothing, and the padding of values must be zero.
  const auto allocate = [](std::int64_t bytes) {
    auto* p = static_cast<std::byte*>(std::calloc(static_cast<std::size_t>(bytes), 1));
    if (!p) throw std::bad_alloc();
    return std::unique_ptr<std::byte[], Free>(p);
  };
  k_ = allocate(kv_heads_ * padded_ * head_dim_ * element_);
  v_ = allocate(kv_heads_ * padded_ * v_stride_ * element_);
  if (type == KvType::kInt8) {
    k_scale_.resize(static_cast<std::size_t>(kv_heads_ * padded_));
    v_scale_.resize(static_cast<std::size_t>(kv_heads_ * padded_));
  }
}

std::int64_t KvLayer::bytes() const {
  return kv_heads_ * padded_ * (head_dim_ + v_stride_) * element_ +
         static_cast<std::int64_t>((k_scale_.size() + v_scale_.size()) * sizeof(float));
}

void KvLayer::append(float* k, float* v, std::int64_t pos) {
  for (std::int64_t h = 0; h < kv_heads_; ++h, k += head_dim_, v += head_dim_) {
    if (type_ == KvType::kInt8) {
      hadamard(k, head_dim_);
      hadamard(v, head_dim_);
    }
    attention_kernels().append(type_, k, v, head_dim_, pos, k_.get() + h * padded_ * head_dim_ * element_,
                               v_.get() + h * padded_ * v_stride_ * element_,
                               const_cast<float*>(k_scale(h)), const_cast<float*>(v_scale(h)));
  }
}

void KvLayer::copy(const KvLayer& from, std::int64_t tokens) {
  const std::int64_t whole = (tokens + kKeyPanel - 1) / kKeyPanel * kKeyPanel;
  for (std::int64_t h = 0; h < kv_heads_; ++h) {
    std::memcpy(k_.get() + h * padded_ * head_dim_ * element_, from.k(h), static_cast<std::size_t>(whole * head_dim_ * element_));
    std::memcpy(v_.get() + h * padded_ * v_stride_ * element_, from.v(h), static_cast<std::size_t>(tokens * v_stride_ * element_));
    if (type_ != KvType::kInt8) continue;
    std::copy_n(from.k_scale(h), tokens, k_scale_.data() + h * padded_);
    std::copy_n(from.v_scale(h), tokens, v_scale_.data() + h * padded_);
  }
}

void attention(const AttentionProblem& p, const KvLayer& cache, AttentionWorkspace& ws, ThreadPool& pool) {
  const std::int64_t group = p.heads / cache.kv_heads(), d = cache.head_dim(), dp = cache.v_stride();
  // A tile packs the query heads of one KV head over some consecutive tokens: they share every key and value.
  const std::int64_t head_tile = std::min<std::int64_t>(group, kMaxQueryRows);
  const std::int64_t head_tiles = (group + head_tile - 1) / head_tile;
  const std::int64_t token_tile = std::max<std::int64_t>(1, kMaxQueryRows / head_tile);
  const std::int64_t token_tiles = (p.tokens + token_tile - 1) / token_tile;
  const std::int64_t tiles = cache.kv_heads() * head_tiles * token_tiles;

  // Few tiles and many keys: cut the keys so that every thread has work. At least 128 keys a part.
  const bool causal = p.keys_end == 0;
  AttentionRule rule;
  rule.left = p.window > 0 ? p.window - 1 : -1;
  rule.right = 0;
  const std::int64_t last_key = causal ? p.start + p.tokens : p.keys_end;
  const std::int64_t first_key = causal ? rule.visible(p.start, last_key).begin : p.keys_begin;
  std::int64_t parts = 1;
  if (tiles < 2 * pool.size() && pool.size() > 1)
    parts = std::clamp<std::int64_t>(2 * pool.size() / tiles, 1, std::max<std::int64_t>(1, (last_key - first_key) / 128));
  const std::int64_t part_keys = ((last_key - first_key + parts - 1) / parts + 15) / 16 * 16;

  // Scratch of each work item: its rows of O, m, l; and of each thread: its rows of q.
  const auto items = static_cast<std::size_t>(tiles * parts);
  const auto resize = [](std::vector<float>& v, std::size_t n) { if (v.size() < n) v.resize(n); };
  resize(ws.q, static_cast<std::size_t>(pool.size() * kMaxQueryRows * d));
  resize(ws.o, (parts > 1 ? items : static_cast<std::size_t>(pool.size())) * static_cast<std::size_t>(kMaxQueryRows * dp));
  resize(ws.m, items * kMaxQueryRows);
  resize(ws.l, items * kMaxQueryRows);

  struct Tile {
    std::int64_t kv_head, head, heads, token, tokens;
  };
  const auto tile_of = [&](std::int64_t i) {
    // Later tokens see more keys: start with them, so that the threads end together.
    const std::int64_t token = (token_tiles - 1 - i / (cache.kv_heads() * head_tiles)) * token_tile;
    const std::int64_t h = i % (cache.kv_heads() * head_tiles), kv = h / head_tiles, first = h % head_tiles * head_tile;
    return Tile{kv, kv * group + first, std::min(head_tile, group - first), token, std::min(token_tile, p.tokens - token)};
  };
  // O's rows: o over the sum l of exp(S - m), to which a sink adds exp(sink - m).
  const auto write_rows = [&](const Tile& t, const float* o, const float* m, const float* l) {
    for (std::int64_t r = 0; r < t.heads * t.tokens; ++r) {
      float* out = p.o + ((t.token + r / t.heads) * p.heads + t.head + r % t.heads) * d;
      float inverse = l[r] > 0 ? 1.0f / l[r] : 0.0f;
      if (p.sink != nullptr && l[r] > 0) {
        const float sink = p.sink[t.head + r % t.heads], high = std::max(m[r], sink);
        inverse = std::exp(m[r] - high) / (l[r] * std::exp(m[r] - high) + std::exp(sink - high));
      }
      for (std::int64_t i = 0; i < d; ++i) out[i] = o[r * dp + i] * inverse;
      if (cache.type() == KvType::kInt8) hadamard(out, d);
    }
  };

  pool.parallel_for(tiles * parts, [&](std::int64_t item, int thread) {
    const Tile t = tile_of(item / parts);
    const std::int64_t part = item % parts;
    float* q = ws.q.data() + thread * kMaxQueryRows * d;
    std::int64_t begin[kMaxQueryRows], end[kMaxQueryRows], positions[kMaxQueryRows];
    float slopes[kMaxQueryRows];
    const float* bias[kMaxQueryRows];
    const int rows = static_cast<int>(t.heads * t.tokens);
    for (int r = 0; r < rows; ++r) {
      const std::int64_t token = t.token + r / t.heads, position = p.start + token;
      const float* from = p.q + (token * p.heads + t.head + r % t.heads) * d;
      for (std::int64_t i = 0; i < d; ++i) q[r * d + i] = from[i] * p.scale;
      if (cache.type() == KvType::kInt8) hadamard(q + r * d, d);
      const AttentionRule::Keys seen = rule.visible(position, p.start + p.tokens);
      begin[r] = causal ? seen.begin : p.keys_begin;
      end[r] = causal ? seen.end : p.keys_end;
      positions[r] = causal ? position : p.keys_end - p.tokens + token;
      slopes[r] = p.alibi != nullptr ? p.alibi[t.head + r % t.heads] : 0.0f;
      if (p.bias) bias[r] = p.bias->at(t.head + r % t.heads) - position - p.keys_begin;
    }
    std::int64_t first = begin[0], last = end[rows - 1];
    if (parts > 1) {
      first = std::max(first, first_key + part * part_keys);
      last = std::min(last, first_key + (part + 1) * part_keys);
      for (int r = 0; r < rows; ++r) {
        begin[r] = std::max(begin[r], first);
        end[r] = std::min(end[r], last);
      }
    }
    const std::int64_t slot = parts > 1 ? item : thread;
    float* o = ws.o.data() + slot * kMaxQueryRows * dp;
    float* m = ws.m.data() + item * kMaxQueryRows;
    float* l = ws.l.data() + item * kMaxQueryRows;
    attention_kernels().attend({cache.type(), cache.k(t.kv_head), cache.v(t.kv_head), cache.k_scale(t.kv_head),
                                cache.v_scale(t.kv_head), d, dp, rows, q, begin, end, first, last,
                                p.bias ? bias : nullptr, o, m, l, p.softcap, p.alibi != nullptr ? slopes : nullptr,
                                positions});
    if (parts == 1) write_rows(t, o, m, l);
  });
  if (parts == 1) return;

  // Merge the parts of each tile: weights exp(m_part - max m); a part without keys has m = -inf and weighs 0.
  for (std::int64_t i = 0; i < tiles; ++i) {
    const Tile t = tile_of(i);
    float* o = ws.o.data() + i * parts * kMaxQueryRows * dp;
    float* m = ws.m.data() + i * parts * kMaxQueryRows;
    float* l = ws.l.data() + i * parts * kMaxQueryRows;
    for (std::int64_t r = 0; r < t.heads * t.tokens; ++r) {
      float largest = -std::numeric_limits<float>::infinity();
      for (std::int64_t k = 0; k < parts; ++k) largest = std::max(largest, m[k * kMaxQueryRows + r]);
      float sum = 0;
      for (std::int64_t k = 0; k < parts; ++k) {
        const float part_m = m[k * kMaxQueryRows + r];
        const float weight = part_m > -std::numeric_limits<float>::infinity() ? std::exp(part_m - largest) : 0.0f;
        sum += weight * l[k * kMaxQueryRows + r];
        const float* from = o + (k * kMaxQueryRows + r) * dp;
        for (std::int64_t c = 0; c < d; ++c) o[r * dp + c] = (k == 0 ? 0.0f : o[r * dp + c]) + weight * from[c];
      }
      m[r] = largest;
      l[r] = sum;
    }
    write_rows(t, o, m, l);
  }
}

void attention_weights(const AttentionProblem& p, const KvLayer& cache, std::vector<float>& weights) {
  const bool causal = p.keys_end == 0;
  const std::int64_t d = cache.head_dim(), group = p.heads / cache.kv_heads();
  const std::int64_t keys = causal ? p.start + p.tokens : p.keys_end - p.keys_begin, first = causal ? 0 : p.keys_begin;
  const auto key = [&](std::int64_t head, std::int64_t j, std::int64_t i) {
    const std::int64_t at = j / kKeyPanel * kKeyPanel * d + i * kKeyPanel + j % kKeyPanel;
    if (cache.type() == KvType::kF32) return reinterpret_cast<const float*>(cache.k(head))[at];
    return f16_to_f32(reinterpret_cast<const std::uint16_t*>(cache.k(head))[at]);
  };
  weights.assign(static_cast<std::size_t>(p.tokens * p.heads * keys), 0.0f);
  for (std::int64_t t = 0; t < p.tokens; ++t)
    for (std::int64_t h = 0; h < p.heads; ++h) {
      const std::int64_t position = p.start + t, end = causal ? position + 1 : keys;
      const std::int64_t begin = causal && p.window > 0 ? std::max<std::int64_t>(0, position - p.window + 1) : 0;
      const float* q = p.q + (t * p.heads + h) * d;
      float* row = weights.data() + (t * p.heads + h) * keys;
      const AttentionRule rule{p.scale, -1, -1, p.softcap, p.alibi ? p.alibi[h] : 0.0f};
      for (std::int64_t j = begin; j < end; ++j) {
        double product = 0;
        for (std::int64_t i = 0; i < d; ++i) product += static_cast<double>(q[i]) * key(h / group, first + j, i);
        row[j] = static_cast<float>(rule.score(product, (causal ? position : keys - p.tokens + t) - j, p.bias ? p.bias->at(h)[j - position] : 0.0f));
      }
      float largest = *std::max_element(row + begin, row + end), total = 0;
      if (p.sink) {
        largest = std::max(largest, p.sink[h]);
        total = std::exp(p.sink[h] - largest);
      }
      for (std::int64_t j = begin; j < end; ++j) total += row[j] = std::exp(row[j] - largest);
      for (std::int64_t j = begin; j < end; ++j) row[j] /= total;
    }
}

}  // namespace warpfold::ops
