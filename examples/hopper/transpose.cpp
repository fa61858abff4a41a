// B (N, M) = A (M, N)^T in bf16, tile by tile: TMA brings a tile in, ldmatrix.trans and stmatrix turn it, TMA takes it
// out. docs/writing-a-kernel.md builds this file step by step. It runs under the emulator and, with nvcc, on a GPU.
#include <cstdio>

#include "array.h"
#include "warpfold/hopper/tile.h"

using namespace warpfold::hopper;

struct Config {
  using Square = TileShape<bf16, 64, 64>;  // (64 rows, 64 columns), 128-byte swizzle
  static constexpr int in = 0, out = Square::bytes, loaded = 2 * Square::bytes;
  static constexpr int shared_bytes = loaded + 8, threads = 128;
};

WF_KERNEL(Config::threads)
transpose(WF_PARAM TensorMap map_a, WF_PARAM TensorMap map_b, int tiles_across) {
  const Tile<Config::Square> in{dynamic_shared() + Config::in}, out{dynamic_shared() + Config::out};
  const Barrier loaded{dynamic_shared() + Config::loaded};
  const int row = block_id() / tiles_across * 64, column = block_id() % tiles_across * 64;  // of A
  if (thread_id() == 0) {
    mbarrier_init(loaded, 1, "loaded");
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(loaded, Config::Square::bytes);
    in.load(map_a, loaded, row, column);
  }
  block_sync();
  mbarrier_wait(loaded, 0);
  // Each warp turns 16 rows, 16 x 16 elements at a time. Matrix i of the four is the quarter (i%2, i/2) of the patch,
  // and goes to the quarter (i/2, i%2) of the turned one; lane 8 i + r names its row r.
  const int lane = lane_id(), first = warp_id() * 16;
  WF_UNROLL
  for (int x = 0; x < 64; x += 16) {
    uint32_t quarters[4];
    ldmatrix<4, true>(quarters, in.element(first + lane % 16, x + lane / 16 * 8));
    stmatrix(out.element(x + lane / 16 * 8 + lane % 8, first + lane / 8 % 2 * 8), quarters);
  }
  fence_async_shared();  // TMA is to see what stmatrix wrote
  block_sync();
  if (thread_id() == 0) {
    out.store(map_b, column, row);
    bulk_commit();
    bulk_wait_read<0>();
  }
}

int main() {
  if (!has_device()) return std::printf("no Hopper GPU\n"), 77;
  constexpr int m = 200, n = 328;  // multiples of 8: rows start on 16 bytes; tiles stick out on both sides
  Array<bf16> a(m * n), b(m * n);
  for (int i = 0; i < m * n; ++i) a[i] = {uint16_t(i)};
  const auto map_a = make_tensor_map(a.data(), Config::Square::map(m, n, n));
  const auto map_b = make_tensor_map(b.data(), Config::Square::map(n, m, m));
  if (!map_a || !map_b) return std::printf("%s\n", (map_a ? map_b : map_a).error().message.c_str()), 1;
  const int across = (n + 63) / 64, blocks = (m + 63) / 64 * across;
  const GlobalBuffer buffers[] = {{a.data(), m * n * 2, "A"}, {b.data(), m * n * 2, "B"}};
  const auto launched = launch({.blocks = blocks, .threads = Config::threads, .shared_bytes = Config::shared_bytes,
                                .buffers = buffers}, transpose, *map_a, *map_b, across);
  if (!launched) return std::printf("%s\n", launched.error().message.c_str()), 1;
  synchronize();
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      if (b[j * m + i].bits != a[i * n + j].bits) return std::printf("B(%d,%d) is wrong\n", j, i), 1;
  std::printf("%d x %d transposed in %d blocks\n", m, n, blocks);
}
