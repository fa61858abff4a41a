// A thread that overflows its stack touches the pages below it. While an OverflowGuard lives, that calls a function instead
// of ending the process by SIGSEGV; other faults are left to whoever handled them before.
#pragma once

namespace warpfold::hopper::emulator {

class OverflowGuard {
 public:
  // below(p): does p lie below the stack of what runs? Then overflown() runs in its place, on a stack of its own, and
  // must not return.
  OverflowGuard(bool (*below)(const void*), void (*overflown)());
  OverflowGuard(const OverflowGuard&) = delete;
  ~OverflowGuard();

 private:
  char *signal_stack_ = nullptr, *spare_stack_ = nullptr;
};

}  // namespace warpfold::hopper::emulator
