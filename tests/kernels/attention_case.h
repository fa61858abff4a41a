// A problem for the attention kernel under the emulator, with a case's sizes and options, against float64.
//
// Error bound. Let u be the relative error of rounding to the input type: 2^-8 for bf16, 2^-11 for fp16. P is
// rounded to the input type, sums and products are in fp32, O is rounded once to its own type (u_out; 2^-24
// for fp32):
//   |O - want| <= (u + e) sum_j P_j |V_j| / sum_j P_j + u_out |O|,
// where e covers fp32: exponentials (arguments up to about 2^5 with error 2^-24 each: 2^-18), sums of n terms
// (n 2^-24), softcap 2^-20 for a capped score (scores.h) and 2^-17 for the roundings of ALiBi and bias, up to
// 2^4 each. Sums of P are of the unrounded values, so roundings do not cancel. fp16 rounds what is below
// 2^-14 to multiples of 2^-24: 2^-25 more for O, and 2^-25 sum_j |V_j| for P, whose sum is 1 or more. |LSE -
// want| <= e + 2^-22 |want|. Of a row with a score above 2^5, what is subtracted from it is rounded, too:
// 2^-22 of the largest score more. A product adds 17 terms, each cut at 2^-24 of the largest: with S the
// largest sum |q||k| of the row, a score is off by scale head_dim / 16 * 17 * 2^-24 S, and P and its sum by
// that much of them each. e4m3: u is 2^-4, and P, times 2^b (8, of eager tiles 5: softmax.h), is rounded to
// multiples of 2^-9 where it is small: 2^-10-b sum_j |V_j|. The chip's sums keep 13 bits after the leading
// one of the largest of an instruction's 33 terms: a score is off by scale head_dim / 32 * 33 * 2^-13 S, and
// O by seqlen_k / 32 * 33 * 2^-13 sum_j P_j |V_j| more. Eager tiles have the same bound: what they subtract
// is a score of the row, too (softmax.h).
//
// Around and between tensors lies NaN: in K and V past each sequence's end, in Q's, in O's padding, which
// must stay. WF_SEEDS=n runs n schedules of each case instead of the default; WF_CASE=text only the cases
// with that text.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "warpfold/core/attention_rule.h"
#include "warpfold/kernels/attention/launch.h"

namespace warpfold::kernels::attention {

using hopper::bf16;
using hopper::e4m3;
using hopper::f16;

struct Rng {
  uint64_t state;
  uint32_t next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return uint32_t(state >> 33);
  }
  int below(int bound) { return int(next() % uint32_t(bound)); }
  // Sum of 12 uniform numbers: nearly normal.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += double(next()) * 0x1p-31;
    return sum;
  }
};

template <class T>
T from_double(double x) {
  if constexpr (std::is_same_v<T, bf16>)
    return hopper::to_bf16(float(x));
  else if constexpr (std::is_same_v<T, f16>)
    return hopper::to_f16(float(x));
  else if constexpr (std::is_same_v<T, e4m3>)
    return hopper::to_e4m3(float(x));
  else
    return T(x);
}
template <class T>
double to_double(T x) {
  if constexpr (std::is_same_v<T, float>)
    return double(x);
  else
    return double(hopper::to_float(x));
}

// A tensor (batches, rows, heads, dim) with NaN between heads, rows and batches and around.
template <class T>
struct Rows {
  static constexpr int unit = 16 / int(sizeof(T));
  int64_t head_stride, row_stride, batch_stride;
  std::vector<T> storage;
  T* data;

  Rows(int batches, int rows, int heads, int dim, Rng& rng) {
    head_stride = dim + unit * rng.below(2);
    row_stride = heads * head_stride + unit * rng.below(2);
    batch_stride = (rows + 1 + rng.below(2)) * row_stride;
    storage.assign(size_t((batches + 2) * batch_stride) + 2 * unit,
                   from_double<T>(std::numeric_limits<double>::quiet_NaN()));
    data = storage.data() + (16 - reinterpret_cast<uintptr_t>(storage.data()) % 16) % 16 / sizeof(T) +
           batch_stride;
  }
  T& at(int64_t b, int64_t row, int64_t head, int64_t x) {
    return data[b * batch_stride + row * row_stride + head * head_stride + x];
  }
  Tensor tensor() { return {data, row_stride, head_stride, batch_stride}; }
};

struct Case {
  int batches, heads, kv_heads, seqlen_q, seqlen_k, blocks;
  std::vector<int> q_lengths = {}, k_lengths = {};  // packed where `packed`, else used; empty: all are seqlen
  bool packed = false;
  bool claims = true, wants_lse = true;
  int head_dim = 0, v_head_dim = 0;  // 0: the tile's
  double spread = 1;                 // of Q
  struct Options {                   // of tiles with a window
    Mask mask = Mask::window;
    int left = -1, right = -1;
    double softcap = 0;
    bool sink = false, alibi = false;
    DType bias = DType::kF64;   // F64: none
    bool bias_repeats = false;  // one row of bias for all
  } options = {};
  bool steep = false;  // the last keys are the largest by far, so that the maximum of the first is far below
  // Scores are `bits` higher, as powers of 2: in each key tile than in the one visited before, so that maxima
  // rise; of the key visited last; of one key. Or some columns are 20 times as large.
  enum class Data { normal, rising, last_key, one_hot, outliers } data = Data::normal;
  double bits = 0;
  bool descale = false;  // 8-bit: with factors of each sequence and KV head
};

// A bias (batches, heads, rows, keys) with keys apart and NaN between: of each value 1 in 5 hides the key.
struct Biases {
  DType type;
  int64_t key_stride = 2, row_stride, head_stride, batch_stride;
  std::vector<double> value;
  std::vector<char> bytes;

  Biases(DType given, int batches, int heads, int rows, int keys, bool repeats, Rng& rng) : type(given) {
    row_stride = repeats ? 0 : 2 * keys + 3;
    head_stride = repeats ? 0 : rows * row_stride;
    batch_stride = heads * head_stride;
    if (type == DType::kF64) return;
    const size_t count = repeats ? size_t(2 * keys + 3) : size_t(batches * batch_stride);
    const size_t size = size_t(info(type).block_bytes);
    value.resize(count);
    bytes.resize(count * size);
    for (size_t i = 0; i < count; ++i) {
      double x = rng.below(5) == 0 ? -INFINITY : type == DType::kBool ? 0 : 2 * rng.normal();
      const auto put = [&](auto element) { std::memcpy(bytes.data() + i * size, &element, size); };
      if (type == DType::kF32) put(float(x)), x = double(float(x));
      if (type == DType::kBF16) put(from_double<bf16>(x)), x = to_double(from_double<bf16>(x));
      if (type == DType::kF16) put(from_double<f16>(x)), x = to_double(from_double<f16>(x));
      if (type == DType::kBool) put(char(x == 0 ? 1 + rng.below(3) : 0));
      value[i] = x;
    }
  }
  double at(int b, int h, int i, int j) const {
    return type == DType::kF64
               ? 0
               : value[size_t(b * batch_stride + h * head_stride + i * row_stride + j * key_stride)];
  }
};

// Gives normal Q and K of one length the form of c.data, by column 0, which is the same for all rows of Q.
template <class Config, class T>
void shape_scores(const Case& c, int d, Rows<T>& q, Rows<T>& k) {
  const int tiles = (c.seqlen_k + Config::tile_keys - 1) / Config::tile_keys;
  const double q0 = 8, k0 = std::log(2.0) * std::sqrt(double(d)) / q0 * c.bits;
  for (int b = 0; b < c.batches; ++b) {
    for (int h = 0; h < c.heads; ++h)
      for (int i = 0; i < c.seqlen_q; ++i)
        for (int x = 0; x < d; ++x) {
          if (c.data == Case::Data::outliers && x % 37 == 3)
            q.at(b, i, h, x) = from_double<T>(20 * to_double(q.at(b, i, h, x)));
          if (c.data != Case::Data::outliers && x == 0) q.at(b, i, h, x) = from_double<T>(q0);
        }
    for (int h = 0; h < c.kv_heads; ++h)
      for (int j = 0; j < c.seqlen_k; ++j)
        for (int x = 0; x < d; ++x) {
          const double times = c.data == Case::Data::rising     ? tiles - 1 - j / Config::tile_keys
                               : c.data == Case::Data::last_key ? j == 0
                                                                : j == c.seqlen_k * 2 / 3;
          if (c.data == Case::Data::outliers && x % 37 == 3)
            k.at(b, j, h, x) = from_double<T>(20 * to_double(k.at(b, j, h, x)));
          if (c.data != Case::Data::outliers && x == 0) k.at(b, j, h, x) = from_double<T>(k0 * times);
        }
  }
}

// One launch; the text says what is wrong, empty if nothing. Adds the launch's time to `ms`.
template <class Config, class Out>
std::string check(const Case& c, uint64_t seed, double& ms) {
  using T = typename Config::Element;
  Rng rng{seed};
  const int d = c.head_dim != 0 ? c.head_dim : Config::head_dim,
            dv = c.v_head_dim != 0 ? c.v_head_dim : Config::v_head_dim;
  struct Side {
    std::vector<int> starts, lengths;  // of each batch
    int rows;                          // of a batch in memory
  };
  const auto side = [&](const std::vector<int>& lengths, int seqlen) {
    Side s{{0}, lengths, seqlen};
    if (lengths.empty()) s.lengths.assign(size_t(c.batches), seqlen);
    for (const int l : s.lengths) s.starts.push_back(s.starts.back() + l);
    if (c.packed && !lengths.empty()) s.rows = s.starts.back();
    return s;
  };
  const Side qs = side(c.q_lengths, c.seqlen_q), ks = side(c.k_lengths, c.seqlen_k);
  const bool q_packed = c.packed && !c.q_lengths.empty(), k_packed = c.packed && !c.k_lengths.empty();
  const int q_batches = q_packed ? 1 : c.batches, k_batches = k_packed ? 1 : c.batches;
  Rows<T> q(q_batches, qs.rows, c.heads, d, rng), k(k_batches, ks.rows, c.kv_heads, d, rng),
      v(k_batches, ks.rows, c.kv_heads, dv, rng);
  Rows<Out> o(q_batches, qs.rows, c.heads, dv, rng);
  const Out untouched = from_double<Out>(1024);
  for (Out& x : o.storage) x = untouched;
  const int64_t lse_head = qs.rows + 3, lse_batch = c.heads * lse_head;
  std::vector<float> lse(size_t(q_batches * lse_batch), 1234);
  const auto fill = [&](Rows<T>& t, const Side& s, bool packed, int heads, int dim, double spread) {
    for (int b = 0; b < c.batches; ++b)
      for (int i = 0; i < s.lengths[size_t(b)]; ++i)
        for (int h = 0; h < heads; ++h)
          for (int x = 0; x < dim; ++x)
            t.at(packed ? 0 : b, packed ? s.starts[size_t(b)] + i : i, h, x) = from_double<T>(
                spread * rng.normal() * (c.steep && &t != &q && i + 64 < s.lengths[size_t(b)] ? 1e-3 : 1));
  };
  fill(q, qs, q_packed, c.heads, d, c.spread);
  fill(k, ks, k_packed, c.kv_heads, d, 1);
  fill(v, ks, k_packed, c.kv_heads, dv, 1);
  if (c.data != Case::Data::normal) shape_scores<Config>(c, d, q, k);

  Problem p;
  p.type = std::is_same_v<T, bf16> ? DType::kBF16 : std::is_same_v<T, f16> ? DType::kF16 : DType::kF8E4M3;
  p.output_type = std::is_same_v<Out, float> ? DType::kF32
                  : std::is_same_v<Out, f16> ? DType::kF16
                                             : DType::kBF16;
  p.batches = c.batches;
  p.heads = c.heads;
  p.kv_heads = c.kv_heads;
  p.seqlen_q = c.seqlen_q;
  p.seqlen_k = c.seqlen_k;
  p.head_dim = d;
  p.v_head_dim = dv;
  p.q = q.tensor();
  p.k = k.tensor();
  p.v = v.tensor();
  p.o = o.tensor();
  if (c.wants_lse) p.lse = lse.data();
  p.lse_head_stride = lse_head;
  p.lse_batch_stride = lse_batch;
  const auto lengths = [&](const std::vector<int>& given, const Side& s) {
    return given.empty() ? Lengths{}
           : c.packed    ? Lengths{s.starts.data(), nullptr}
                         : Lengths{nullptr, s.lengths.data()};
  };
  p.q_lengths = lengths(c.q_lengths, qs);
  p.k_lengths = lengths(c.k_lengths, ks);
  p.scale = float(1 / std::sqrt(double(d)));
  p.mask = Config::windowed ? c.options.mask : Config::mask;
  AttentionRule rule{double(p.scale)};
  if (p.mask == Mask::causal) rule.right = 0;
  if (p.mask == Mask::window) {
    rule.left = p.window_left = c.options.left;
    rule.right = p.window_right = c.options.right;
  }
  rule.softcap = p.softcap = float(c.options.softcap);
  std::vector<float> sinks, slopes;
  for (int i = 0; i < c.batches * c.heads; ++i) {
    sinks.push_back(i % 3 == 1 ? -INFINITY : float(3 * rng.normal()));
    slopes.push_back(float(0.02 * rng.normal()));
  }
  if (c.options.sink) p.sink = sinks.data();
  if (c.options.alibi) {
    p.alibi = slopes.data();
    p.alibi_batch_stride = c.heads;
  }
  // Key tiles that no row sees are never fetched.
  for (int b = 0; b < c.batches; ++b) {
    const int sq = qs.lengths[size_t(b)], sk = ks.lengths[size_t(b)];
    const int64_t first = rule.visible(sk - sq, sk).begin / Config::tile_keys * Config::tile_keys;
    const int64_t end =
        (rule.visible(sk - 1, sk).end + Config::tile_keys - 1) / Config::tile_keys * Config::tile_keys;
    for (int j = 0; j < sk && sq > 0; ++j)
      for (int h = 0; h < c.kv_heads && (j < first || j >= end); ++h) {
        const int kb = k_packed ? 0 : b, at = k_packed ? ks.starts[size_t(b)] + j : j;
        for (int x = 0; x < d; ++x) k.at(kb, at, h, x) = from_double<T>(std::nan(""));
        for (int x = 0; x < dv; ++x) v.at(kb, at, h, x) = from_double<T>(std::nan(""));
      }
  }
  const Biases bias(c.options.bias, c.batches, c.heads, c.seqlen_q, c.seqlen_k, c.options.bias_repeats, rng);
  if (bias.type != DType::kF64)
    p.bias = {bias.bytes.data(), bias.type,       bias.batch_stride,
              bias.head_stride,  bias.row_stride, bias.key_stride};
  std::vector<float> descales;  // of Q, K and V
  for (int x = 0; x < 3 * c.batches * c.kv_heads; ++x)
    descales.push_back(c.descale ? float(0.5 + rng.below(100) * 0.01) : 1);
  const auto descale = [&](int which, int b, int h) {
    return double(descales[size_t((which * c.batches + b) * c.kv_heads + h)]);
  };
  if (c.descale) {
    p.q_descale = {descales.data(), c.kv_heads, 1};
    p.k_descale = {descales.data() + c.batches * c.kv_heads, c.kv_heads, 1};
    p.v_descale = {descales.data() + 2 * c.batches * c.kv_heads, c.kv_heads, 1};
  }
  hopper::emulator::options().seed = seed;
  int counter = 0;
  if (c.claims) {
    p.workspace = &counter;
    p.workspace_bytes = 4;
  }
  const auto begin = std::chrono::steady_clock::now();
  const Status launched = launch<Config>(p, c.blocks, nullptr);
  ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (!launched) return launched.error().message;
  if (counter != 0) return "the counter ends at " + std::to_string(counter);

  constexpr auto unit = []<class X>(X) {
    return std::is_same_v<X, bf16>   ? 0x1p-8
           : std::is_same_v<X, f16>  ? 0x1p-11
           : std::is_same_v<X, e4m3> ? 0x1p-4
                                     : 0x1p-24;
  };
  const double u = unit(T{}), u_out = unit(Out{});
  const double e = 0x1p-18 + (c.options.softcap + 8) * 0x1p-20 + c.seqlen_k * 0x1p-24;
  const auto wrong = [&](const char* what, int b, int i, int h, int x, double got, double want) {
    return "wrong " + std::string(what) + " of batch " + std::to_string(b) + ", row " + std::to_string(i) +
           ", head " + std::to_string(h) + ", column " + std::to_string(x) + ", seed " +
           std::to_string(seed) + ": " + std::to_string(got) + " instead of " + std::to_string(want);
  };
  std::vector<double> weight, want, size, values;
  size_t touched = 0;
  for (int b = 0; b < c.batches; ++b)
    for (int i = 0; i < qs.lengths[size_t(b)]; ++i)
      for (int h = 0; h < c.heads; ++h) {
        const int qb = q_packed ? 0 : b, kb = k_packed ? 0 : b, kv = h / (c.heads / c.kv_heads);
        const int qi = q_packed ? qs.starts[size_t(b)] + i : i, k0 = k_packed ? ks.starts[size_t(b)] : 0;
        const int sk = ks.lengths[size_t(b)], sq = qs.lengths[size_t(b)];
        const auto [first, end] = rule.visible(i + sk - sq, sk);
        const double sink = c.options.sink ? double(sinks[size_t(h)]) : -INFINITY;
        rule.slope = c.options.alibi ? double(slopes[size_t(b * c.heads + h)]) : 0;
        weight.assign(size_t(sk), -INFINITY);
        double top = sink, sum = 0, largest_size = 0;
        for (int j = int(first); j < end; ++j) {
          double s = 0, s_size = 0;
          for (int x = 0; x < d; ++x) {
            const double term = to_double(q.at(qb, qi, h, x)) * to_double(k.at(kb, k0 + j, kv, x));
            s += term;
            s_size += std::fabs(term);
          }
          s *= descale(0, b, kv) * descale(1, b, kv);
          largest_size = std::max(largest_size, s_size * descale(0, b, kv) * descale(1, b, kv));
          weight[size_t(j)] = rule.score(s, i + sk - sq - j, bias.at(b, h, i, j));
          top = std::max(top, weight[size_t(j)]);
        }
        const bool none = top == -INFINITY;
        const double large = !none && std::fabs(top) > 32 ? std::fabs(top) * 0x1p-22 : 0;
        const double score =
            double(p.scale) * largest_size *
            (Config::eight_bit ? (d + 31) / 32 * 33 * 0x1p-13 : (d + 15) / 16 * 17 * 0x1p-24);
        const double products = Config::eight_bit ? (sk + 31) / 32 * 33 * 0x1p-13 : 0;
        for (double& w : weight) sum += w = none ? 0 : std::exp(w - top);
        if (!none) sum += std::exp(sink - top);
        want.assign(size_t(dv), 0);
        size.assign(size_t(dv), 0);
        values.assign(size_t(dv), 0);
        for (int j = int(first); j < end && !none; ++j)
          for (int x = 0; x < dv; ++x) {
            const double part =
                weight[size_t(j)] / sum * to_double(v.at(kb, k0 + j, kv, x)) * descale(2, b, kv);
            want[size_t(x)] += part;
            size[size_t(x)] += std::fabs(part);
            values[size_t(x)] += std::fabs(to_double(v.at(kb, k0 + j, kv, x))) * descale(2, b, kv);
          }
        for (int x = 0; x < dv; ++x) {
          const double got = to_double(o.at(qb, qi, h, x)), w = want[size_t(x)];
          const double small = std::is_same_v<T, f16> ? 0x1p-25 * (1 + values[size_t(x)])
                               : std::is_same_v<T, e4m3>
                                   ? std::exp2(-10 - Config::probability_bits) * values[size_t(x)]
                                   : 0;
          if (!(std::fabs(got - w) <=
                (u + e + large + 2 * score + products) * size[size_t(x)] + u_out * std::fabs(got) + small))
            return wrong("O", b, i, h, x, got, w);
        }
        if (c.wants_lse) {
          const double got = double(lse[size_t(qb * lse_batch + h * lse_head + qi)]);
          const double w = none ? -INFINITY : top + std::log(sum);
          if (got != w && !(std::fabs(got - w) <= e + large + score + std::fabs(w) * 0x1p-22))
            return wrong("LSE", b, i, h, 0, got, w);
        }
        touched += size_t(dv);
      }
  for (const Out& x : o.storage) touched -= to_double(x) != 1024;
  if (touched != 0) return std::to_string(int64_t(touched)) + " elements of O less were written than O has";
  size_t lse_written = 0, rows = 0;
  for (const float x : lse) lse_written += x != 1234;
  for (const int l : qs.lengths) rows += size_t(l);
  if (lse_written != (c.wants_lse ? rows * size_t(c.heads) : 0)) return "something beside LSE was written";
  return "";
}

template <class Config, class Out = typename Config::Result>
void run(std::initializer_list<Case> cases, uint64_t default_seeds = 6) {
  const char* only = std::getenv("WF_CASE");
  if (only != nullptr && std::string(Config::name).find(only) == std::string::npos) GTEST_SKIP();
  const char* given = std::getenv("WF_SEEDS");
  const uint64_t seeds = given != nullptr ? std::strtoull(given, nullptr, 10) : default_seeds;
  for (const Case& c : cases) {
    double ms = 0;
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      const std::string text = check<Config, Out>(c, seed, ms);
      ASSERT_EQ(text, "") << Config::name << ": batches " << c.batches << ", heads " << c.heads << "/"
                          << c.kv_heads << ", seqlen " << c.seqlen_q << "/" << c.seqlen_k;
    }
    std::printf("%-26s batches %d heads %d/%d seqlen %3d/%3d, %d blocks: %6.1f ms a schedule\n", Config::name,
                c.batches, c.heads, c.kv_heads, c.seqlen_q, c.seqlen_k, c.blocks, ms / double(seeds));
    std::fflush(stdout);
  }
}

template <class Tile>
using Bf16 = Config<bf16, Tile>;
template <class Tile>
using F16 = Config<f16, Tile>;
template <class Tile>
using E4m3 = Config<e4m3, Tile>;

}  // namespace warpfold::kernels::attention
