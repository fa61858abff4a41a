#include "warpfold/core/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace warpfold {
namespace {

// Parts of the gate word.
constexpr std::uint32_t kInside = 0xffff, kOpen = 0x10000, kLoop = 0xfffe0000, kNextLoop = 0x20000;

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
  try {
    workers_.reserve(static_cast<std::size_t>(std::max(threads, 1)) - 1);
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { worker_loop(i); });
  } catch (const std::system_error&) {
    // The system starts no more threads: the pool works with those it has, see size().
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  gate_.fetch_add(kNextLoop, std::memory_order_release);
  gate_.notify_all();
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
  const std::uint32_t loop = (gate_.load(std::memory_order_relaxed) & kLoop) + kNextLoop;
  gate_.store(loop | kOpen, std::memory_order_release);
  gate_.notify_all();
  work(0);
  gate_.fetch_and(~kOpen, std::memory_order_acq_rel);
  const auto empty = [this] { return (gate_.load(std::memory_order_acquire) & kInside) == 0; };
  while (!spin_until(empty)) {
    const std::uint32_t g = gate_.load(std::memory_order_acquire);
    if ((g & kInside) != 0) gate_.wait(g, std::memory_order_acquire);
  }
}

void ThreadPool::worker_loop(int thread) {
  std::uint32_t seen = 0;  // the last loop that this worker took part in, or saw closed
  for (;;) {
    std::uint32_t g = 0;
    const auto changed = [&] {
      g = gate_.load(std::memory_order_acquire);
      return (g & kLoop) != seen;
    };
    if (!spin_until(changed)) gate_.wait(g, std::memory_order_acquire);
    if (!changed()) continue;
    if (stop_.load(std::memory_order_relaxed)) return;
    seen = g & kLoop;
    bool inside = false;
    while (!inside && (g & kOpen) && (g & kLoop) == seen)
      inside = gate_.compare_exchange_weak(g, g + 1, std::memory_order_acq_rel);
    if (!inside) continue;
    work(thread);
    if (((gate_.fetch_sub(1, std::memory_order_acq_rel) - 1) & (kInside | kOpen)) == 0) gate_.notify_all();
  }
}

}  // namespace warpfold
