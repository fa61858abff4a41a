// Step 1: a thread for each element of D, and nothing else.
//
//   D (M, N) = A (M, K) B (N, K)^T in fp32, A and B bf16 or tf32, D bf16 or fp32; M and N multiples of 16
//
// The one idea: the definition of the product as a kernel. Every multiplication loads both of its factors, so
// the caches, not the arithmetic, set the speed: the threads of a warp read the same two values of A and 16
// values of B that lie whole rows apart, 16 cache lines for 32 multiplications. Neighbouring k share those
// lines, which is all that keeps this out of the device memory. Expect one or two per cent of what the chip's
// fp32 units could do, and nothing from the tensor cores, where the FLOPs are.
#include "common.h"

namespace ladder::step1 {

template <class InType, class OutType>
struct Config {
  using In = InType;
  using Out = OutType;
  static constexpr int tile_m = 16, tile_n = 16, tile_k = 1;  // a block's part of D
  static constexpr int threads = tile_m * tile_n;
};

template <class C>
WF_KERNEL(C::threads)
gemm_kernel(const typename C::In* a, const typename C::In* b, typename C::Out* d, int n, int k) {
  const int tiles_across = n / C::tile_n;
  const int row = block_id() / tiles_across * C::tile_m + thread_id() / C::tile_n;
  const int column = block_id() % tiles_across * C::tile_n + thread_id() % C::tile_n;
  const typename C::In* a_row = a + int64_t(row) * k;     // (K)
  const typename C::In* b_row = b + int64_t(column) * k;  // (K)
  float sum = 0;
  for (int x = 0; x < k; ++x) sum += number(load_global(a_row + x)) * number(load_global(b_row + x));
  store_global(d + int64_t(row) * n + column, rounded<typename C::Out>(sum));
}

template <class In, class Out>
Status gemm(const Problem<In, Out>& p) {
  using C = Config<In, Out>;
  WF_CHECK(whole_tiles(p, C::tile_m, C::tile_n, C::tile_k));
  return launch({.blocks = p.m / C::tile_m * (p.n / C::tile_n), .threads = C::threads, .stream = p.stream},
                gemm_kernel<C>, p.a, p.b, p.d, p.n, p.k);
}

}  // namespace ladder::step1

LADDER_STEP(01, ladder::step1::Config, ladder::step1::gemm)
