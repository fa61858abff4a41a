#include "warpfold/core/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace warpfold {
namespace {

constexpr auto kSpin = std::chrono::microseconds(200);

void pause_cpu() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until done() or kSpin has passed; true when done.
template <class Done>
bool spin_until(Done done) {
  const auto deadline = std::chrono::steady_clock::now() + kSpin;
  for (;;) {
    for (int i = 0; i < 64; ++i) {
      if (done()) return true;
      pause_cpu();
    }
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
}

}  // namespace

int ThreadPool::available_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

ThreadPool::ThreadPool(int threads) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { worker_loop(i); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (auto& w : workers_) w.join();
}

void ThreadPool::work(int thread) {
  for (;;) {
    const std::int64_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= chunks_) return;
    call_(body_, chunk, thread);
  }
}

void ThreadPool::run(std::int64_t chunks, Call call, void* body) {
  if (workers_.empty() || chunks <= 1) {
    for (std::int64_t c = 0; c < chunks; ++c) call(body, c, 0);
    return;
  }
  call_ = call;
  body_ = body;
  chunks_ = chunks;
  next_.store(0, std::memory_order_relaxed);
  busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  work(0);
  // A worker that was asleep may still be waking although no chunk is left for it.
  const auto finished = [this] { return busy_.load(std::memory_order_acquire) == 0; };
  while (!spin_until(finished)) {
    const int left = busy_.load(std::memory_order_acquire);
    if (left != 0) busy_.wait(left, std::memory_order_acquire);
  }
}

void ThreadPool::worker_loop(int thread) {
  std::uint32_t seen = 0;
  for (;;) {
    const auto changed = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
    if (!spin_until(changed)) epoch_.wait(seen, std::memory_order_acquire);
    if (!changed()) continue;
    ++seen;
    if (stop_.load(std::memory_order_relaxed)) return;
    work(thread);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

}  // namespace warpfold
