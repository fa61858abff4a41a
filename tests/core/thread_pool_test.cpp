#include "warpfold/core/thread_pool.h"

#include <ctime>

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

namespace warpfold {
namespace {

TEST(ThreadPool, EveryChunkRunsExactlyOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (std::int64_t chunks : {0, 1, 2, 3, 17, 1000}) {
      std::vector<std::atomic<int>> hits(static_cast<std::size_t>(chunks));
      pool.parallel_for(chunks, [&](std::int64_t c, int t) {
        EXPECT_GE(t, 0);
        EXPECT_LT(t, threads);
        hits[static_cast<std::size_t>(c)].fetch_add(1);
      });
      for (auto& h : hits) EXPECT_EQ(h.load(), 1);
    }
  }
}

TEST(ThreadPool, ResultsOfOneLoopAreSeenByTheNext) {
  ThreadPool pool(3);
  std::vector<int> v(64, 0);  // plain ints: the loops must order them
  for (int round = 0; round < 2000; ++round)
    pool.parallel_for(64, [&](std::int64_t c, int) { ++v[static_cast<std::size_t>((c * 7 + round) % 64)]; });
  for (int x : v) EXPECT_EQ(x, 2000);
}

TEST(ThreadPool, IdleThreadsUseNoProcessorTime) {
  ThreadPool pool(4);
  pool.parallel_for(8, [](std::int64_t, int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::clock_t before = std::clock();  // processor time of the whole process
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(used, 0.1);  // three spinning workers would use up to 0.9 s, one 0.3 s
}

}  // namespace
}  // namespace warpfold
