// What all steps of the ladder share on the host and none is about: the problem, the choice of a tile, tensor
// maps, the check against float64, timing, and main().
//
//   O = softmax (scale * Q K^T) V for each batch and head;  Q, K, V, O f16 (batches, seqlen, heads, head_dim)
//
// Products are summed in fp32. There is no mask; seqlen_k is a multiple of a tile's keys, so that a kernel
// has no code for tails, and seqlen_q of 64, the rows of a warpgroup. Other lengths are refused.
// include/warpfold/kernels/attention has the kernel that takes any.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>

#include "../ladder.h"
#include "warpfold/core/half.h"
#include "warpfold/hopper/tile.h"
#ifdef __CUDACC__
#include "warpfold/hopper/device/wgmma_f16.h"
#endif

namespace attention_ladder {

using namespace warpfold::hopper;
using ladder::Buffer;
using warpfold::Result;
using warpfold::Status;

struct Problem {
  int batches, heads, seqlen_q, seqlen_k, head_dim;
  const f16* q;               // (batches, seqlen_q, heads, head_dim)
  const f16 *k, *v;           // (batches, seqlen_k, heads, head_dim)
  f16* o;                     // (batches, seqlen_q, heads, head_dim)
  float scale;                // of scores
  int rows = 0, keys = 0;     // of the tile, where a step offers several; 0: its own
  void* workspace = nullptr;  // of workspace_bytes(), for step 1
  void* stream = nullptr;     // a cudaStream_t
};

// Step 1 keeps scores, in fp32, and probabilities, in f16, in global memory.
inline int64_t workspace_bytes(const Problem& p) {
  return int64_t(p.batches) * p.heads * p.seqlen_q * p.seqlen_k * int64_t(sizeof(float) + sizeof(f16));
}

// The tiles of a step: types with head_dim, rows (of Q) and keys. The first one of a head dim is the step's
// own.
template <class... C>
struct Tiles {};

// Runs attention(problem, tile) with the tile that the problem asks for. Errors: no such tile, or a length
// that is no multiple of it.
template <class Attention, class... C>
Status with_tile(const Problem& p, Attention attention, Tiles<C...>) {
  Status status =
      warpfold::fail(warpfold::ErrorCode::kUnsupported,
                     "head dim " + std::to_string(p.head_dim) + " with a tile of " + std::to_string(p.rows) +
                         " x " + std::to_string(p.keys) + ": this step has no such tile");
  const auto fits = [&]<class Tile>(Tile) {
    if (p.head_dim != Tile::head_dim || (p.rows != 0 && (p.rows != Tile::rows || p.keys != Tile::keys)))
      return false;
    const struct {
      const char* name;
      int size, of;
    } lengths[] = {{"seqlen_q", p.seqlen_q, 64}, {"seqlen_k", p.seqlen_k, Tile::keys}};
    for (const auto& x : lengths)
      if (x.size <= 0 || x.size % x.of != 0) {
        status = warpfold::fail(warpfold::ErrorCode::kInvalidArgument,
                                std::string(x.name) + " = " + std::to_string(x.size) +
                                    " is no positive multiple of " + std::to_string(x.of));
        return true;
      }
    status = attention(p, Tile{});
    return true;
  };
  (fits(C{}) || ...);
  return status;
}

// The tensor map (x, row, head, batch) of Q, K, V or O, whose boxes fill Tile.
template <class Tile>
Result<TensorMap> tensor_map(const f16* data, const Problem& p, int seqlen) {
  auto map = Tile::map(seqlen, p.head_dim, int64_t{p.heads} * p.head_dim);
  map.rank = 4;
  map.size[2] = p.heads;
  map.stride[2] = p.head_dim;
  map.size[3] = p.batches;
  map.stride[3] = int64_t{seqlen} * p.heads * p.head_dim;
  return make_tensor_map(data, map);
}

// ---- The check, against float64. With u = 2^-11, the rounding of f16,
//
//   |O - want| <= (u + e) sum_j P_j |V_j| / sum_j P_j + u |O| + 2^-25 (1 + sum_j |V_j|)
//
// P is rounded to f16 once, O too; the last term is f16's below 2^-14. e is what fp32 adds: twice the error
// of a score (head_dim 2^-23 scale sum |q k|), as it enters P and the sum of P; exponentials, with arguments
// below 2^5, 2^-18; sums over keys, seqlen_k 2^-23. Guards around O must stay as they are.
class Check {
 public:
  // `spread` scales Q: at 8 few keys have all the weight.
  Check(const Problem& sizes, double spread, unsigned seed)
      : p_(sizes),
        q_(count(p_.seqlen_q)),
        k_(count(p_.seqlen_k)),
        v_(count(p_.seqlen_k)),
        o_(count(p_.seqlen_q) + 2 * guard),
        workspace_(size_t(workspace_bytes(p_))),
        want_(count(p_.seqlen_q)),
        bound_(count(p_.seqlen_q)) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (auto* x : {&q_, &k_, &v_}) {
      for (f16& e : x->host) e = {warpfold::f32_to_f16(float(normal(random) * (x == &q_ ? spread : 1.0)))};
      x->upload();
    }
    p_.q = q_.memory.get();
    p_.k = k_.memory.get();
    p_.v = v_.memory.get();
    p_.o = o_.memory.get() + guard;
    p_.workspace = workspace_.memory.get();
    p_.scale = float(1 / std::sqrt(double(p_.head_dim)));
    for (int b = 0; b < p_.batches; ++b)
      for (int h = 0; h < p_.heads; ++h)
        for (int i = 0; i < p_.seqlen_q; ++i) set_row(b, h, i);
  }

  // What is wrong with attention(problem), empty if nothing.
  template <class Attention>
  std::string operator()(Attention attention) {
    std::fill(o_.host.begin(), o_.host.end(), poison);
    o_.upload();
    if (const Status s = attention(p_); !s) return s.error().message;
    o_.download();
    if (const char* what = ladder::fault()) return what;
    for (size_t i = 0; i < o_.host.size(); ++i) {
      if (i < guard || i >= guard + want_.size()) {
        if (o_.host[i].bits != poison.bits) return "written outside O";
        continue;
      }
      const double got = value(o_.host[i]), want = want_[i - guard], bound = bound_[i - guard];
      if (!(std::abs(got - want) <= bound))
        return "O(" + std::to_string((i - guard) / size_t(p_.heads * p_.head_dim)) + ", " +
               std::to_string((i - guard) / size_t(p_.head_dim) % size_t(p_.heads)) + ", " +
               std::to_string((i - guard) % size_t(p_.head_dim)) + ") is " + std::to_string(got) +
               " instead of " + std::to_string(want) + " +- " + std::to_string(bound);
    }
    return "";
  }

 private:
  static constexpr size_t guard = 1024;
  static constexpr f16 poison{0x7FFF};
  static double value(f16 x) { return double(warpfold::f16_to_f32(x.bits)); }
  size_t count(int seqlen) const {
    return size_t(p_.batches) * size_t(seqlen) * size_t(p_.heads) * size_t(p_.head_dim);
  }
  // The first element of a row of a tensor (batches, seqlen, heads, head_dim).
  size_t at(int batch, int head, int row, int seqlen) const {
    return ((size_t(batch) * size_t(seqlen) + size_t(row)) * size_t(p_.heads) + size_t(head)) *
           size_t(p_.head_dim);
  }

  void set_row(int batch, int head, int row) {
    const size_t d = size_t(p_.head_dim), first = at(batch, head, row, p_.seqlen_q);
    std::vector<double> score(static_cast<size_t>(p_.seqlen_k));
    double top = -std::numeric_limits<double>::infinity(), of_scores = 0, sum = 0;
    for (int j = 0; j < p_.seqlen_k; ++j) {
      double total = 0, absolute = 0;
      for (size_t x = 0; x < d; ++x) {
        const double product =
            value(q_.host[first + x]) * value(k_.host[at(batch, head, j, p_.seqlen_k) + x]);
        total += product;
        absolute += std::abs(product);
      }
      score[size_t(j)] = total * double(p_.scale);
      top = std::max(top, score[size_t(j)]);
      of_scores = std::max(of_scores, absolute * double(p_.scale));
    }
    for (double& s : score) sum += s = std::exp(s - top);
    constexpr double u = 0x1p-11, fp32 = 0x1p-23;
    const double e = 2 * double(d) * fp32 * of_scores + 0x1p-18 + p_.seqlen_k * fp32;
    for (size_t x = 0; x < d; ++x) {
      double o = 0, absolute = 0, values = 0;
      for (int j = 0; j < p_.seqlen_k; ++j) {
        const double v = value(v_.host[at(batch, head, j, p_.seqlen_k) + x]);
        o += score[size_t(j)] * v;
        absolute += score[size_t(j)] * std::abs(v);
        values += std::abs(v);
      }
      want_[first + x] = o / sum;
      bound_[first + x] = (u + e) * absolute / sum + u * std::abs(o / sum) + 0x1p-25 * (1 + values);
    }
  }

  Problem p_;
  Buffer<f16> q_, k_, v_, o_;
  Buffer<char> workspace_;
  std::vector<double> want_, bound_;
};

// The sizes of a step's check, in tiles: one of each; several, with heads and batches, and keys that end
// within a second lap of a ring; several laps.
template <class Tile, class Attention>
bool check(const char* step, Attention attention) {
  const struct {
    int batches, heads, rows, key_tiles;
    double spread;
  } cases[] = {{1, 1, Tile::rows, 1, 1}, {2, 2, 64, 3, 1}, {1, 1, Tile::rows + 64, 7, 8}};
  Problem p{1,       1,       Tile::rows, Tile::keys + 1, Tile::head_dim, nullptr, nullptr,
            nullptr, nullptr, 1,          Tile::rows,     Tile::keys};
  if (attention(p)) return std::printf("%s: seqlen_k = %d was not refused\n", step, p.seqlen_k), false;
  for (const auto& c : cases) {
    p.batches = c.batches;
    p.heads = c.heads;
    p.seqlen_q = c.rows;
    p.seqlen_k = c.key_tiles * Tile::keys;
    Check checked(p, c.spread, unsigned(p.seqlen_q + p.seqlen_k));
    const int seeds = std::max(1, ladder::schedules() * 64 / Tile::head_dim);  // larger heads take longer
    for (int seed = 1; seed <= seeds; ++seed) {
#ifndef __CUDACC__
      emulator::options().seed = uint64_t(seed);
#endif
      const std::string wrong = checked(attention);
      if (wrong.empty()) continue;
      std::printf("%s, head dim %d, tile %d x %d, %d x %d heads, %d rows, %d keys, seed %d: %s\n", step,
                  Tile::head_dim, Tile::rows, Tile::keys, c.batches, c.heads, p.seqlen_q, p.seqlen_k, seed,
                  wrong.c_str());
      return false;
    }
  }
  std::printf("%s, head dim %d, tile %d x %d: %d sizes are right\n", step, Tile::head_dim, Tile::rows,
              Tile::keys, int(std::size(cases)));
  return true;
}

#ifdef __CUDACC__
// Prints TFLOPS of the post's problem - 4 batches of 4096 tokens, 2048 / head_dim heads - on normal data: the
// least time of 10 runs, each after the one before. bench/kernels/attention_ladder.py measures with more
// care.
template <class Tile, class Attention>
bool print_time(const char* step, Attention attention) {
  Problem p{4,
            2048 / Tile::head_dim,
            4096,
            4096,
            Tile::head_dim,
            nullptr,
            nullptr,
            nullptr,
            nullptr,
            1,
            Tile::rows,
            Tile::keys};
  const size_t size = size_t(p.batches) * size_t(p.seqlen_q) * 2048;
  Buffer<f16> q(size), k(size), v(size), o(size);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (auto* x : {&q, &k, &v}) {
    for (f16& e : x->host) e = {warpfold::f32_to_f16(normal(random))};
    x->upload();
  }
  std::unique_ptr<void, void (*)(void*)> workspace(ladder::allocate(size_t(workspace_bytes(p))),
                                                   ladder::release);
  p.q = q.memory.get();
  p.k = k.memory.get();
  p.v = v.memory.get();
  p.o = o.memory.get();
  p.workspace = workspace.get();
  p.scale = 1 / std::sqrt(float(p.head_dim));
  const float least = ladder::least_ms(step, [&] { return attention(p); });
  if (least == 0) return false;
  std::printf("%s, head dim %d, tile %d x %d, 4 x 4096: %.3f ms, %.1f TFLOPS\n", step, Tile::head_dim,
              Tile::rows, Tile::keys, double(least), 4e-9 * double(size) * 4096 / double(least));
  return true;
}
#endif

// What main() of a step does: the check of all tiles and, on a GPU, their times.
template <class Attention, class... Tile>
int run_step(const char* step, Attention attention, Tiles<Tile...>) {
  bool right = (check<Tile>(step, attention) && ...);
#ifdef __CUDACC__
  right = right && (print_time<Tile>(step, attention) && ...);
#endif
  return right ? 0 : 1;
}

}  // namespace attention_ladder

// The last line of a step: its program, or its C function in libwarpfold_attention_ladder.so, which takes a
// `Problem` and returns 0, or 1 with the reason in message.
#define LADDER_ATTENTION(step, tiles)                                                                  \
  [](const attention_ladder::Problem& problem) {                                                       \
    return attention_ladder::with_tile(                                                                \
        problem,                                                                                       \
        [](const auto& p, auto tile) { return attention_ladder::step::attention<decltype(tile)>(p); }, \
        attention_ladder::step::tiles{});                                                              \
  }
#ifdef WARPFOLD_LADDER_LIBRARY
#define LADDER_STEP(number, step, tiles)                                                         \
  extern "C" int wf_attention_ladder_##number(const attention_ladder::Problem* p, char* message, \
                                              size_t message_bytes) {                            \
    const attention_ladder::Status s = LADDER_ATTENTION(step, tiles)(*p);                        \
    if (!s) std::snprintf(message, message_bytes, "%s", s.error().message.c_str());              \
    return s ? 0 : 1;                                                                            \
  }
#else
#define LADDER_STEP(number, step, tiles)                                              \
  int main() {                                                                        \
    return attention_ladder::run_step("step " #number, LADDER_ATTENTION(step, tiles), \
                                      attention_ladder::step::tiles{});               \
  }
#endif
