#include "cli/bandwidth.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "warpfold/core/thread_pool.h"

namespace warpfold::cli {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr std::chrono::milliseconds kTime{60};

// Eight independent sums, which the compiler turns into wide loads.
std::uint64_t sum(const std::uint64_t* words, std::size_t count) {
  std::array<std::uint64_t, 8> sums{};
  for (std::size_t i = 0; i + sums.size() <= count; i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) sums[lane] += words[i + lane];
  }
  std::uint64_t total = 0;
  for (const std::uint64_t s : sums) total += s;
  return total;
}

}  // namespace

std::size_t beyond_caches() {
  const long last_level = ::sysconf(_SC_LEVEL3_CACHE_SIZE);  // 0 or -1 where the system does not say
  return std::clamp<std::size_t>(4 * static_cast<std::size_t>(std::max(0L, last_level)),
                                 std::size_t{64} << 20, std::size_t{512} << 20);
}

double measure_read_bandwidth(std::size_t bytes) {
  bytes = std::max(bytes / kChunk, std::size_t{1}) * kChunk;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  ::madvise(memory, bytes, MADV_HUGEPAGE);
  auto* data = static_cast<std::uint8_t*>(memory);

  ThreadPool pool(ThreadPool::available_processors());
  const auto chunks = static_cast<std::int64_t>(bytes / kChunk);
  pool.parallel_for(chunks, [&](std::int64_t chunk, int) {
    std::memset(data + static_cast<std::size_t>(chunk) * kChunk, 1, kChunk);
  });

  using Clock = std::chrono::steady_clock;
  std::atomic<std::uint64_t> result = 0;  // used, so that the reads are not optimised away
  double best = 0;
  const auto start = Clock::now();
  do {
    const auto pass = Clock::now();
    pool.parallel_for(chunks, [&](std::int64_t chunk, int) {
      const auto* words =
          reinterpret_cast<const std::uint64_t*>(data + static_cast<std::size_t>(chunk) * kChunk);
      result.fetch_add(sum(words, kChunk / sizeof(std::uint64_t)), std::memory_order_relaxed);
    });
    best = std::max(best,
                    static_cast<double>(bytes) / std::chrono::duration<double>(Clock::now() - pass).count());
  } while (Clock::now() - start < kTime);
  ::munmap(memory, bytes);
  return best / 1e9;
}

}  // namespace warpfold::cli
