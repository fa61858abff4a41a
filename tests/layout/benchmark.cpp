// Time of the operations on rank-8 layouts (target: under 1 us each). Inputs rotate, so that no branch is learnt.
#include <benchmark/benchmark.h>

#include <vector>

#include "warpfold/layout/algebra.h"

namespace warpfold::layout {
namespace {

constexpr Layout tensors[] = {
    "(4,8,2,4,8,2,4,8):(8,32,4096,2,256,1,8192,32768)"_layout,
    "(2,4,2,8,4,2,16,4):(1,2,8,16,128,512,1024,16384)"_layout,
    "(8,2,3,4,6,2,4,5):(30720,240,1,2880,40,15360,10,480)"_layout,
    "(16,2,2,4,2,8,2,2):(64,1,2,4,16,1024,32,8192)"_layout,
};
constexpr Layout tiles[] = {
    "(2,2,2,2,2,2,2,2):(1,2,4,8,16,32,64,128)"_layout,
    "(4,2,2,2,2,2,2,2):(1,4,16,32,64,128,256,512)"_layout,
    "(2,2,2,2,2,2,2,2):(128,1,64,2,32,4,16,8)"_layout,
    "(2,2,4,2,2,2,2,4):(2,4,16,64,256,512,1024,4096)"_layout,
};

// The pairs of a tensor and a tile that an operation accepts, or those that it refuses: each is a case of its own.
struct Pair {
  const Layout* tensor;
  const Layout* tile;
};

template <class Operation>
void run_pairs(benchmark::State& state, Operation operation, bool accepted) {
  std::vector<Pair> pairs;
  for (const Layout& tile : tiles)
    for (const Layout& tensor : tensors)
      if (operation(tensor, tile).ok() == accepted) pairs.push_back({&tensor, &tile});
  for (std::size_t i = 0; auto _ : state) {
    benchmark::DoNotOptimize(operation(*pairs[i].tensor, *pairs[i].tile));
    i = i + 1 == pairs.size() ? 0 : i + 1;
  }
  state.counters["pairs"] = static_cast<double>(pairs.size());
}

constexpr auto composed = [](const Layout& a, const Layout& b) { return compose(a, b); };
constexpr auto divided = [](const Layout& a, const Layout& b) { return divide(a, b); };

void compose_rank_8(benchmark::State& state) { run_pairs(state, composed, true); }
void compose_rank_8_refused(benchmark::State& state) { run_pairs(state, composed, false); }
void divide_rank_8(benchmark::State& state) { run_pairs(state, divided, true); }
void divide_rank_8_refused(benchmark::State& state) { run_pairs(state, divided, false); }
BENCHMARK(compose_rank_8);
BENCHMARK(compose_rank_8_refused);
BENCHMARK(divide_rank_8);
BENCHMARK(divide_rank_8_refused);

void complement_rank_8(benchmark::State& state) {
  for (std::size_t i = 0; auto _ : state) {
    const Verdict<Layout> v = complement(tiles[i % 4], 1 << 20);
    benchmark::DoNotOptimize(v);
    ++i;
  }
}
BENCHMARK(complement_rank_8);

void coalesce_rank_8(benchmark::State& state) {
  for (std::size_t i = 0; auto _ : state) benchmark::DoNotOptimize(coalesce(tensors[i++ % 4]));
}
BENCHMARK(coalesce_rank_8);

void equal_rank_8(benchmark::State& state) {
  for (std::size_t i = 0; auto _ : state) {
    benchmark::DoNotOptimize(equal(tensors[i % 4], tensors[(i + i / 4) % 4]));
    ++i;
  }
}
BENCHMARK(equal_rank_8);

void right_inverse_rank_8(benchmark::State& state) {
  for (std::size_t i = 0; auto _ : state) benchmark::DoNotOptimize(right_inverse(tensors[i++ % 4]));
}
BENCHMARK(right_inverse_rank_8);

void parse_and_print(benchmark::State& state) {
  for (auto _ : state) {
    const Verdict<Layout> v = parse_layout("((4,8),(2,(4,8))):((8,32),(4096,(2,256)))");
    benchmark::DoNotOptimize(to_text(v.value));
  }
}
BENCHMARK(parse_and_print);

}  // namespace
}  // namespace warpfold::layout

BENCHMARK_MAIN();
