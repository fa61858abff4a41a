// A stack of its own for every emulated thread. Boost.Context's fcontext switches in some ten instructions on
// x86-64 and aarch64. Its detail interface is used because a failed launch drops suspended fibers without
// unwinding them, which boost::context::fiber does not offer; frames of kernels and atoms own no memory.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <vector>

namespace warpfold::hopper::emulator {

// Stacks above pages that nobody may touch, kept for reuse by the thread that runs the emulator.
class StackPool {
 public:
  static constexpr size_t bytes = 128 << 10, guard_bytes = 256 << 10;
  static StackPool& mine();
  char* take();  // lowest usable address
  void give(char* stack) { free_.push_back(stack); }
  ~StackPool();

 private:
  std::vector<char*> free_;
};

// A coroutine. One that was never started stands for the code that is running already, on its own stack.
class Fiber {
 public:
  using Entry = Fiber& (*)(void*);  // returns the fiber that goes on when this one has ended
  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();
  void start(Entry entry, void* argument);  // prepares; runs nothing yet
  // Leaves this fiber, which runs, for another; returns when one of the others switches back.
  void switch_to(Fiber& next);
  // Does the address lie in the pages below its stack?
  bool below(const void* p) const {
    const auto* c = static_cast<const char*>(p);
    return stack_ != nullptr && c < stack_ && c >= stack_ - StackPool::guard_bytes;
  }
  // It will be switched to soon: fetches the top of its stack.
  void prefetch() const {
    const auto* top = static_cast<const char*>(context_);
    for (int line = 0; line < 4; ++line) __builtin_prefetch(top + 64 * line);
  }

 private:
  static void run(boost::context::detail::transfer_t from);
  static void arrive(boost::context::detail::transfer_t from);
  char* stack_ = nullptr;
  boost::context::detail::fcontext_t context_ = nullptr;  // where it goes on
  Fiber* next_ = nullptr;                                 // that it has switched to
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  // For AddressSanitizer: the stack in use, and what it keeps for a suspended one.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  [[maybe_unused]] const void* bottom_ = nullptr;
  [[maybe_unused]] size_t bytes_ = 0;
  bool ended_ = false;
};

}  // namespace warpfold::hopper::emulator
