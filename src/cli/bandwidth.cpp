// Last-level caches reach hundreds of MiB, and a buffer that outgrows them would be the largest thing in the process.
// So the buffer is small, and each of its lines is flushed out of every cache before a pass.
#include "cli/bandwidth.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "warpfold/core/thread_pool.h"

namespace warpfold::cli {
namespace {

constexpr std::size_t kLine = 64;                           // bytes, at most a cache line's
constexpr std::size_t kChunkWords = std::size_t{1} << 15;   // 256 KiB
constexpr std::size_t kChunks = 128;
constexpr int kPasses = 5;

void flush(const std::uint64_t* words) {
  const auto* bytes = reinterpret_cast<const char*>(words);
  for (std::size_t i = 0; i < kChunkWords * sizeof(std::uint64_t); i += kLine) {
#if defined(__x86_64__)
    _mm_clflush(bytes + i);
#elif defined(__aarch64__)
    asm volatile("dc civac, %0" ::"r"(bytes + i) : "memory");
#endif
  }
#if defined(__x86_64__)
  _mm_mfence();
#elif defined(__aarch64__)
  asm volatile("dsb ish" ::: "memory");
#endif
}

// Eight independent sums, which the compiler turns into wide loads.
std::uint64_t sum(const std::uint64_t* words) {
  std::array<std::uint64_t, 8> sums{};
  for (std::size_t i = 0; i < kChunkWords; i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) sums[lane] += words[i + lane];
  }
  std::uint64_t total = 0;
  for (const std::uint64_t s : sums) total += s;
  return total;
}

}  // namespace

double measure_read_bandwidth() {
  using Clock = std::chrono::steady_clock;
  const std::vector<std::uint64_t> words(kChunks * kChunkWords, 1);
  ThreadPool pool(ThreadPool::available_processors());
  std::atomic<std::uint64_t> result = 0;  // kept, so that the reads are not optimised away
  std::array<double, kPasses> rates;
  for (double& rate : rates) {
    pool.parallel_for(kChunks, [&](std::int64_t chunk, int) {
      flush(words.data() + static_cast<std::size_t>(chunk) * kChunkWords);
    });
    const auto start = Clock::now();
    pool.parallel_for(kChunks, [&](std::int64_t chunk, int) {
      result.fetch_add(sum(words.data() + static_cast<std::size_t>(chunk) * kChunkWords), std::memory_order_relaxed);
    });
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    rate = static_cast<double>(words.size() * sizeof(std::uint64_t)) / seconds / 1e9;
  }
  std::nth_element(rates.begin(), rates.begin() + kPasses / 2, rates.end());
  return rates[kPasses / 2];
}

}  // namespace warpfold::cli
