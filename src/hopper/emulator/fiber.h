// A stack of its own for every emulated thread. Boost.Context's fcontext switches in some ten instructions on
// x86-64 and aarch64. Its detail interface is used because a failed launch drops suspended fibers without
// unwinding them, which boost::context::fiber does not offer; frames of kernels and atoms own no memory.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <vector>

namespace warpfold::hopper::emulator {

// Stacks with a guard page, kept for reuse by the thread that runs the emulator.
class StackPool {
 public:
  static constexpr size_t bytes = 128 << 10;
  static StackPool& mine();
  char* take();  // lowest usable address
  void give(char* stack) { free_.push_back(stack); }
  ~StackPool();

 private:
  std::vector<char*> free_;
};

// A coroutine; resume() runs it until it calls suspend() or its entry ends.
class Fiber {
 public:
  using Entry = void (*)(Fiber&, void*);
  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();
  void start(Entry entry, void* argument);  // prepares; runs nothing yet
  void resume();
  void suspend();

 private:
  static void run(boost::context::detail::transfer_t from);
  char* stack_ = nullptr;
  boost::context::detail::fcontext_t inside_ = nullptr, outside_ = nullptr;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  // For AddressSanitizer: whose stack is in use.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  [[maybe_unused]] const void* outer_stack_ = nullptr;
  [[maybe_unused]] size_t outer_bytes_ = 0;
  bool ended_ = false;
};

}  // namespace warpfold::hopper::emulator
