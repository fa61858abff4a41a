// Attention over the KV cache against float64 softmax, on every instruction set that this machine runs.
#include "warpfold/ops/attention.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "ops/attention_kernels.h"
#include "ops/hadamard.h"
#include "support/simd_levels.h"
#include "warpfold/core/attention_rule.h"
#include "warpfold/core/half.h"

namespace warpfold::ops {
namespace {

std::vector<float> normals(std::size_t n, std::mt19937& rng, float size = 1) {
  std::normal_distribution<float> normal(0, size);
  std::vector<float> v(n);
  for (float& x : v) x = normal(rng);
  return v;
}

// The value that the cache holds, through its documented layout.
double stored(const KvLayer& c, bool key, std::int64_t head, std::int64_t pos, std::int64_t i) {
  const std::int64_t at = key ? pos / 16 * 16 * c.head_dim() + i * 16 + pos % 16 : pos * c.v_stride() + i;
  const std::byte* base = key ? c.k(head) : c.v(head);
  if (c.type() == KvType::kF16) {
    std::uint16_t h;
    std::memcpy(&h, base + 2 * at, 2);
    return f16_to_f32(h);
  }
  const double scale = (key ? c.k_scale(head) : c.v_scale(head))[pos];
  return scale * static_cast<std::int8_t>(base[at]);
}

// The key or value that the cache stands for: an int8 cache holds H x, H[i][j] = (-1)^popcount(i & j) / sqrt(n) in
// blocks of n, the largest power of two that divides D.
std::vector<double> value_of(const KvLayer& c, bool key, std::int64_t head, std::int64_t pos) {
  std::vector<double> held, x;
  for (std::int64_t i = 0; i < c.head_dim(); ++i) held.push_back(stored(c, key, head, pos, i));
  if (c.type() == KvType::kF16) return held;
  const std::size_t n = static_cast<std::size_t>(c.head_dim() & -c.head_dim());
  for (std::size_t i = 0; i < held.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += (std::popcount(i % n & j) % 2 ? -1 : 1) * held[i / n * n + j];
    x.push_back(sum / std::sqrt(static_cast<double>(n)));
  }
  return x;
}

// Softmax attention of one query (D) over keys [begin, end), float64.
std::vector<double> reference(const float* q, double scale, const KvLayer& c, std::int64_t head, std::int64_t begin,
                              std::int64_t end, const float* bias = nullptr) {
  std::vector<double> out(static_cast<std::size_t>(c.head_dim()), 0.0), s;
  double largest = -std::numeric_limits<double>::infinity(), total = 0;
  for (std::int64_t j = begin; j < end; ++j) {
    double dot = bias ? bias[j] : 0;
    const auto k = value_of(c, true, head, j);
    for (std::size_t i = 0; i < k.size(); ++i) dot += scale * q[i] * k[i];
    s.push_back(dot);
    largest = std::max(largest, dot);
  }
  for (double& x : s) total += x = std::exp(x - largest);
  for (std::int64_t j = begin; j < end; ++j) {
    const auto v = value_of(c, false, head, j);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += s[static_cast<std::size_t>(j - begin)] / total * v[i];
  }
  return out;
}

// fp32 rounding of a score is about 2^-24 sqrt(D) times the size of its terms, here below 2^-24 * 16 * 4; p and O
// inherit it, and the sums over up to 700 keys add 2^-24 sqrt(700) each: 1e-5 of the largest value covers both.
constexpr double kBound = 2e-5;

struct Shape {
  std::int64_t heads, kv_heads, head_dim, start, tokens, window;
};

void fill(KvLayer& cache, std::int64_t count, std::mt19937& rng) {
  for (std::int64_t pos = 0; pos < count; ++pos) {
    auto k = normals(static_cast<std::size_t>(cache.kv_heads() * cache.head_dim()), rng);
    auto v = normals(k.size(), rng);
    cache.append(k.data(), v.data(), pos);
  }
}

void check(const Shape& s, KvType type, int threads) {
  std::mt19937 rng(static_cast<unsigned>(s.heads * 1000 + s.start));
  const std::int64_t total = s.start + s.tokens;
  KvLayer cache(s.kv_heads, s.head_dim, total + 20, type);
  fill(cache, total, rng);
  // What lies past the sequence must not matter, NaN included.
  std::vector<float> poison(static_cast<std::size_t>(s.kv_heads * s.head_dim), std::numeric_limits<float>::quiet_NaN());
  if (type == KvType::kF16)
    for (std::int64_t pos = total; pos < total + 20; ++pos) cache.append(poison.data(), poison.data(), pos);
  const auto q = normals(static_cast<std::size_t>(s.tokens * s.heads * s.head_dim), rng);
  std::vector<float> o(q.size() + 1, 99.0f);
  AttentionWorkspace workspace;
  ThreadPool pool(threads);
  const float scale = 1.0f / std::sqrt(static_cast<float>(s.head_dim));
  attention({q.data(), o.data(), s.tokens, s.heads, s.start, s.window, scale}, cache, workspace, pool);
  EXPECT_EQ(o.back(), 99.0f);
  for (std::int64_t t = 0; t < s.tokens; ++t)
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const std::int64_t position = s.start + t, at = (t * s.heads + h) * s.head_dim;
      const std::int64_t begin = s.window > 0 ? std::max<std::int64_t>(0, position - s.window + 1) : 0;
      const auto exact = reference(&q[static_cast<std::size_t>(at)], scale, cache, h / (s.heads / s.kv_heads), begin, position + 1);
      for (std::int64_t i = 0; i < s.head_dim; ++i)
        ASSERT_NEAR(o[static_cast<std::size_t>(at + i)], exact[static_cast<std::size_t>(i)], kBound * 5)
            << "t=" << t << " h=" << h << " i=" << i << " threads=" << threads;
    }
}

TEST(Attention, EqualsFloat64) {
  for (KvType type : {KvType::kF16, KvType::kInt8})
    for (int threads : {1, 2, 4})
      for (const Shape& s : {Shape{1, 1, 16, 0, 1, 0}, Shape{9, 3, 64, 0, 37, 0}, Shape{9, 3, 64, 130, 1, 0},
                             Shape{4, 1, 256, 700, 1, 0}, Shape{4, 1, 256, 15, 3, 0}, Shape{14, 2, 24, 5, 40, 0},
                             Shape{40, 1, 32, 10, 3, 0}, Shape{6, 6, 80, 127, 2, 0}, Shape{3, 1, 8, 255, 5, 0}})
        check(s, type, threads);
}

TEST(Attention, WindowSeesExactlyItsTokens) {
  for (std::int64_t window : {1, 2, 15, 16, 17, 100, 128, 129, 1000})
    for (int threads : {1, 4}) {
      check({4, 1, 32, 0, 150, window}, KvType::kF16, threads);
      check({4, 2, 32, 400, 1, window}, KvType::kInt8, threads);
      check({4, 1, 32, 1000, 1, 500 + window}, KvType::kF16, threads);  // parts that begin inside a panel of 16 keys
    }
}

// A bias by distance, causal with a window, and over given keys, whose positions are counted from the first.
TEST(Attention, RelativeBias) {
  std::mt19937 rng(11);
  constexpr std::int64_t kHeads = 6, kGroups = 2, kDim = 24, kTokens = 40, kStart = 170, kReach = 300;
  RelativeBias bias(kHeads, kReach);
  for (std::int64_t h = 0; h < kHeads; ++h)
    for (std::int64_t i = 1 - kReach; i < kReach; ++i) bias.at(h)[i] = normals(1, rng, 2)[0];
  for (KvType type : {KvType::kF16, KvType::kInt8})
    for (int threads : {1, 4}) {
      KvLayer cache(kGroups, kDim, kStart + kTokens, type);
      fill(cache, kStart + kTokens, rng);
      const auto q = normals(static_cast<std::size_t>(kTokens * kHeads * kDim), rng);
      std::vector<float> o(q.size());
      AttentionWorkspace workspace;
      ThreadPool pool(threads);
      for (const std::int64_t tokens : {std::int64_t{1}, kTokens})
        for (const std::int64_t window : {0, 37})
          for (const bool given : {false, true}) {
            const std::int64_t keys_begin = given ? 32 : 0, keys_end = given ? 32 + 90 : 0, start = given ? 3 : kStart;
            attention({q.data(), o.data(), tokens, kHeads, start, given ? 0 : window, 0.3f, keys_begin, keys_end, &bias}, cache,
                      workspace, pool);
            for (std::int64_t t = 0; t < tokens; ++t)
              for (std::int64_t h = 0; h < kHeads; ++h) {
                const std::int64_t i = start + t, at = (t * kHeads + h) * kDim;
                const std::int64_t begin = given ? keys_begin : window ? std::max<std::int64_t>(0, i - window + 1) : 0;
                const auto exact = reference(&q[static_cast<std::size_t>(at)], 0.3, cache, h / 3, begin,
                                             given ? keys_end : i + 1, bias.at(h) - i - keys_begin);
                for (std::int64_t c = 0; c < kDim; ++c)
                  ASSERT_NEAR(o[static_cast<std::size_t>(at + c)], exact[static_cast<std::size_t>(c)], kBound * 5)
                      << "t=" << t << " h=" << h << " given=" << given << " window=" << window;
              }
          }
    }
}

// Softcap, ALiBi and sinks, alone and together, in one part and in several, with all kinds of masks.
TEST(Attention, ScoresFollowTheRule) {
  struct Options {
    std::int64_t start, tokens, window, keys_begin, keys_end;
    float softcap;
    bool sink, alibi;
  };
  for (const Options& s :
       {Options{0, 70, 0, 0, 0, 5, false, false}, Options{200, 3, 0, 0, 0, 0, false, true},
        Options{900, 1, 0, 0, 0, 0, true, false}, Options{900, 2, 300, 0, 0, 8, true, true},
        Options{40, 50, 33, 0, 0, 30, true, true}, Options{0, 20, 0, 3, 250, 4, true, true}})
    for (KvType type : {KvType::kF16, KvType::kInt8})
      for (int threads : {1, 4}) {
        std::mt19937 rng(11);
        const std::int64_t heads = 6, d = 32, keys = s.keys_end > 0 ? s.keys_end : s.start + s.tokens;
        KvLayer cache(2, d, keys, type);
        fill(cache, keys, rng);
        const auto q = normals(static_cast<std::size_t>(s.tokens * heads * d), rng, 3);
        auto sink = normals(static_cast<std::size_t>(heads), rng, 3);
        sink[1] = -std::numeric_limits<float>::infinity();
        sink[2] = 40;
        const auto slopes = normals(static_cast<std::size_t>(heads), rng, 0.02f);
        std::vector<float> o(q.size());
        AttentionProblem p{q.data(), o.data(), s.tokens,     heads,     s.start,
                           s.window, 0.2f,     s.keys_begin, s.keys_end};
        p.softcap = s.softcap;
        if (s.sink) p.sink = sink.data();
        if (s.alibi) p.alibi = slopes.data();
        AttentionWorkspace workspace;
        ThreadPool pool(threads);
        attention(p, cache, workspace, pool);
        for (std::int64_t t = 0; t < s.tokens; ++t)
          for (std::int64_t h = 0; h < heads; ++h) {
            AttentionRule rule{double(p.scale), s.window > 0 ? s.window - 1 : -1, s.keys_end > 0 ? -1 : 0,
                               s.softcap};
            rule.slope = s.alibi ? double(slopes[static_cast<std::size_t>(h)]) : 0;
            const std::int64_t position = keys - s.tokens + t, at = (t * heads + h) * d;
            auto [begin, end] = rule.visible(position, keys);
            begin = std::max(begin, s.keys_begin);
            std::vector<double> scores, want(static_cast<std::size_t>(d), 0.0);
            double top =
                s.sink ? double(sink[static_cast<std::size_t>(h)]) : -std::numeric_limits<double>::infinity();
            const double own_sink = top;
            for (std::int64_t j = begin; j < end; ++j) {
              const auto k = value_of(cache, true, h / 3, j);
              double dot = 0;
              for (std::int64_t i = 0; i < d; ++i)
                dot += double(q[static_cast<std::size_t>(at + i)]) * k[static_cast<std::size_t>(i)];
              scores.push_back(rule.score(dot, position - j));
              top = std::max(top, scores.back());
            }
            double total = std::exp(own_sink - top);
            for (double& x : scores) total += x = std::exp(x - top);
            for (std::int64_t j = begin; j < end; ++j) {
              const auto v = value_of(cache, false, h / 3, j);
              for (std::size_t i = 0; i < want.size(); ++i)
                want[i] += scores[static_cast<std::size_t>(j - begin)] / total * v[i];
            }
            for (std::int64_t i = 0; i < d; ++i)
              ASSERT_NEAR(o[static_cast<std::size_t>(at + i)], want[static_cast<std::size_t>(i)], kBound * 5)
                  << "t=" << t << " h=" << h << " i=" << i << " threads=" << threads
                  << " softcap=" << s.softcap;
          }
      }
}

// The weights that are shown are those that are computed with: they give the same outputs.
TEST(Attention, ShownWeightsAreTheOnesUsed) {
  std::mt19937 rng(12);
  constexpr std::int64_t kHeads = 4, kDim = 24, kTokens = 9, kStart = 30;
  RelativeBias bias(kHeads, 64);
  for (std::int64_t h = 0; h < kHeads; ++h)
    for (std::int64_t i = -63; i < 64; ++i) bias.at(h)[i] = normals(1, rng)[0];
  KvLayer cache(2, kDim, kStart + kTokens, KvType::kF16);
  fill(cache, kStart + kTokens, rng);
  const auto q = normals(static_cast<std::size_t>(kTokens * kHeads * kDim), rng);
  const auto sink = normals(kHeads, rng), slopes = normals(kHeads, rng, 0.05f);
  std::vector<float> o(q.size()), weights;
  AttentionWorkspace workspace;
  ThreadPool pool(2);
  for (const bool given : {false, true}) {
    const AttentionProblem problem{q.data(), o.data(), kTokens, kHeads, given ? 0 : kStart, given ? 0 : 20, 0.2f,
                                   given ? 16 : 0, given ? 33 : 0, &bias, 3, sink.data(), slopes.data()};
    attention(problem, cache, workspace, pool);
    attention_weights(problem, cache, weights);
    const std::int64_t keys = given ? 17 : kStart + kTokens, first = given ? 16 : 0;
    ASSERT_EQ(static_cast<std::int64_t>(weights.size()), kTokens * kHeads * keys);
    for (std::int64_t r = 0; r < kTokens * kHeads; ++r)
      for (std::int64_t i = 0; i < kDim; ++i) {
        double sum = 0;
        for (std::int64_t j = 0; j < keys; ++j)
          sum += static_cast<double>(weights[static_cast<std::size_t>(r * keys + j)]) * stored(cache, false, r % kHeads / 2, first + j, i);
        ASSERT_NEAR(sum, o[static_cast<std::size_t>(r * kDim + i)], kBound * 5) << "row " << r << " given " << given;
      }
  }
}

TEST(Attention, SplitKeysGiveTheSameAnswer) {
  std::mt19937 rng(7);
  KvLayer cache(1, 64, 3000, KvType::kF16);
  fill(cache, 3000, rng);
  const auto q = normals(2 * 64, rng, 8);  // large scores: parts differ much in their maxima
  std::vector<float> one(q.size()), many(q.size());
  AttentionWorkspace workspace;
  ThreadPool single(1), team(8);
  attention({q.data(), one.data(), 1, 2, 2999, 0, 0.125f}, cache, workspace, single);
  attention({q.data(), many.data(), 1, 2, 2999, 0, 0.125f}, cache, workspace, team);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], many[i], kBound);
}

TEST(Attention, EveryInstructionSetAgrees) {
  std::mt19937 rng(8);
  for (KvType type : {KvType::kF16, KvType::kInt8})
    for (int rows : {1, 2, 3, 4, 7, 8, 13, 32}) {
      KvLayer cache(1, 48, 300, type);
      fill(cache, 300, rng);
      const auto q = normals(static_cast<std::size_t>(rows) * 48, rng);
      auto rotated = q;  // the kernel works on H q and gives H o
      if (type == KvType::kInt8)
        for (int r = 0; r < rows; ++r) hadamard(&rotated[static_cast<std::size_t>(r) * 48], 48);
      for (Simd level : test::simd_levels()) {
        // Some rows see nothing, some begin or end inside a panel.
        std::vector<std::int64_t> begin, end;
        for (int r = 0; r < rows; ++r) {
          begin.push_back(r % 5 == 1 ? 200 : r);
          end.push_back(r % 5 == 1 ? 200 : 290 - 3 * r);
        }
        std::vector<float> o(static_cast<std::size_t>(rows) * 48), m(32), l(32);
        attention_kernels(level).attend({type, cache.k(0), cache.v(0), cache.k_scale(0), cache.v_scale(0), 48, 48, rows,
                                         rotated.data(), begin.data(), end.data(), 0, 290, nullptr, o.data(), m.data(), l.data()});
        for (int r = 0; r < rows; ++r) {
          const auto at = static_cast<std::size_t>(r);
          if (begin[at] == end[at]) {
            EXPECT_EQ(l[at], 0.0f);
            EXPECT_EQ(m[at], -std::numeric_limits<float>::infinity());
            for (std::size_t i = 0; i < 48; ++i) EXPECT_EQ(o[at * 48 + i], 0.0f);
            continue;
          }
          if (type == KvType::kInt8) hadamard(&o[at * 48], 48);
          const auto exact = reference(&q[at * 48], 1.0, cache, 0, begin[at], end[at]);
          for (std::size_t i = 0; i < 48; ++i)
            EXPECT_NEAR(o[at * 48 + i] / l[at], exact[i], kBound * 20) << simd_name(level) << " row " << r;
        }
      }
    }
}

TEST(KvLayer, StoresWithinHalfAStep) {
  std::mt19937 rng(9);
  for (Simd level : test::simd_levels())
    for (std::int64_t d : {8, 24, 64, 250}) {
      const auto k = normals(static_cast<std::size_t>(d), rng), v = normals(static_cast<std::size_t>(d), rng, 100);
      for (KvType type : {KvType::kF16, KvType::kInt8}) {
        KvLayer cache(1, d, 40, type);
        attention_kernels(level).append(type, k.data(), v.data(), d, 21, const_cast<std::byte*>(cache.k(0)),
                                        const_cast<std::byte*>(cache.v(0)), const_cast<float*>(cache.k_scale(0)),
                                        const_cast<float*>(cache.v_scale(0)));
        for (const bool key : {true, false}) {
          const auto& x = key ? k : v;
          float amax = 0;
          for (float f : x) amax = std::max(amax, std::abs(f));
          for (std::int64_t i = 0; i < d; ++i) {
            const float f = x[static_cast<std::size_t>(i)];
            const double step = type == KvType::kF16 ? std::abs(f) * 0x1p-11 + 0x1p-25 : amax / 254.0 * 1.0001;
            EXPECT_LE(std::abs(stored(cache, key, 0, 21, i) - f), step);
          }
        }
      }
    }
}

TEST(KvLayer, NanShowsAndFiniteValuesStayFinite) {
  for (Simd level : test::simd_levels())
    for (KvType type : {KvType::kF16, KvType::kInt8}) {
      KvLayer cache(1, 32, 16, type);
      std::vector<float> k(32, 0.5f), v(32, 1e6f), q(32, 1.0f), o(32), m(1), l(1);
      const auto append = [&](std::int64_t pos) {
        attention_kernels(level).append(type, k.data(), v.data(), 32, pos, const_cast<std::byte*>(cache.k(0)),
                                        const_cast<std::byte*>(cache.v(0)), const_cast<float*>(cache.k_scale(0)),
                                        const_cast<float*>(cache.v_scale(0)));
      };
      append(0);
      const std::int64_t begin = 0, end = 1;
      const auto attend = [&] {
        attention_kernels(level).attend({type, cache.k(0), cache.v(0), cache.k_scale(0), cache.v_scale(0), 32, 32, 1, q.data(),
                                         &begin, &end, 0, 1, nullptr, o.data(), m.data(), l.data()});
      };
      attend();
      for (float x : o) EXPECT_TRUE(std::isfinite(x));  // 1e6 saturates at fp16's largest value
      for (std::vector<float>* bad : {&k, &v}) {
        (*bad)[7] = std::numeric_limits<float>::quiet_NaN();
        append(0);
        attend();
        EXPECT_TRUE(std::isnan(o[7])) << simd_name(level);
        (*bad)[7] = 1;
      }
    }
}

TEST(KvLayer, ADominantDimensionDoesNotDrownTheOthersInInt8) {
  // One dimension of 100 beside ones of size 1: one scale for all would round with steps of 100 / 127; rotated, the
  // largest value is about 100 / sqrt(64) + 4, and the root mean square error of a step s is s / sqrt(12).
  std::mt19937 rng(10);
  KvLayer cache(1, 64, 16, KvType::kInt8);
  auto k = normals(64, rng), v = normals(64, rng);
  k[5] = v[5] = 100;
  const auto original = v;
  cache.append(k.data(), v.data(), 0);
  const auto back = value_of(cache, false, 0, 0);
  double squares = 0;
  for (std::size_t i = 0; i < 64; ++i) squares += (back[i] - original[i]) * (back[i] - original[i]);
  EXPECT_LT(std::sqrt(squares / 64), (100.0 / 8 + 4) / 127 / std::sqrt(12.0) * 1.3);
}

TEST(KvLayer, AnAllZeroTokenIsExactlyZeroInInt8) {
  KvLayer cache(1, 32, 16, KvType::kInt8);
  std::vector<float> zero(32, 0.0f);
  cache.append(zero.data(), zero.data(), 3);
  for (std::int64_t i = 0; i < 32; ++i) EXPECT_EQ(stored(cache, false, 0, 3, i), 0.0);
  std::vector<float> q(32, 1.0f), o(32);
  AttentionWorkspace workspace;
  ThreadPool pool(1);
  for (std::int64_t pos = 0; pos < 3; ++pos) cache.append(zero.data(), zero.data(), pos);
  attention({q.data(), o.data(), 1, 1, 3, 0, 1.0f}, cache, workspace, pool);
  for (float x : o) EXPECT_EQ(x, 0.0f);
}

}  // namespace
}  // namespace warpfold::ops
