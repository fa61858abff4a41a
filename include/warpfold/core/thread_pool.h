// A fixed team of threads for data-parallel loops. The caller is thread 0 and works too.
// Between loops that follow each other within kSpin the workers spin, since waking a sleeper costs more
// than a decode step's whole layer; after that they sleep, so that an idle engine uses no processor time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace warpfold {

class ThreadPool {
 public:
  // threads >= 1, the caller included; smaller values count as 1. Fewer when the system refuses to start more.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(chunk, thread) once for each chunk in [0, chunks); returns when all are done.
  // Chunks are taken in order by whichever thread is free. Not reentrant; one caller at a time. body must not throw.
  template <class Body>
  void parallel_for(std::int64_t chunks, Body&& body) {
    using B = std::remove_reference_t<Body>;
    run(chunks, [](void* b, std::int64_t chunk, int thread) { (*static_cast<B*>(b))(chunk, thread); },
        const_cast<void*>(static_cast<const void*>(std::addressof(body))));
  }

  // The number of processors this process may run on, at least 1.
  static int available_processors();

 private:
  using Call = void (*)(void* body, std::int64_t chunk, int thread);
  void run(std::int64_t chunks, Call call, void* body);
  void work(int thread);
  void worker_loop(int thread);

  // Written by the caller before it opens the gate, read by workers that passed it.
  Call call_ = nullptr;
  void* body_ = nullptr;
  std::int64_t chunks_ = 0;
  alignas(64) std::atomic<std::int64_t> next_{0};
  // Loop number, an "open" bit, and how many workers are inside. A worker joins a loop only while it is open, and
  // the caller waits only for those inside: a worker that the system keeps off the processor delays nobody.
  alignas(64) std::atomic<std::uint32_t> gate_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

}  // namespace warpfold
