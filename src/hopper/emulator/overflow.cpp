#include "overflow.h"

#include <signal.h>
#include <ucontext.h>

#include <cstdint>
#include <mutex>

#include "fiber.h"

namespace warpfold::hopper::emulator {

// AddressSanitizer reports overflows itself.
#if defined(__SANITIZE_ADDRESS__) || !(defined(__x86_64__) || defined(__aarch64__))

OverflowGuard::OverflowGuard(bool (*)(const void*), void (*)()) {}
OverflowGuard::~OverflowGuard() {}

#else

namespace {

struct Handler {
  bool (*below)(const void*) = nullptr;
  void (*overflown)() = nullptr;
  char* stack = nullptr;  // for overflown()
  stack_t before{};       // the alternate stack of signals
};
thread_local constinit Handler handler;  // of this thread's launch

// The action belongs to the process: the first guard sets it, the last one takes it back.
std::mutex mutex;
int guards = 0;
struct sigaction before;

void on_fault(int signal, siginfo_t* info, void* context) {
  if (handler.below == nullptr || !handler.below(info->si_addr)) {
    sigaction(signal, &before, nullptr);  // it faults again
    return;
  }
  auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  const auto top = reinterpret_cast<uintptr_t>(handler.stack + StackPool::bytes) / 64 * 64;
  const auto entry = reinterpret_cast<uintptr_t>(handler.overflown);
#if defined(__x86_64__)
  machine.gregs[REG_RIP] = greg_t(entry);
  machine.gregs[REG_RSP] = greg_t(top - 8);  // as after a call
#else
  machine.pc = entry;
  machine.sp = top;
#endif
}

}  // namespace

OverflowGuard::OverflowGuard(bool (*below)(const void*), void (*overflown)())
    : signal_stack_(StackPool::mine().take()), spare_stack_(StackPool::mine().take()) {
  handler = {below, overflown, spare_stack_, {}};
  stack_t alternate{};
  alternate.ss_sp = signal_stack_;
  alternate.ss_size = StackPool::bytes;
  sigaltstack(&alternate, &handler.before);
  const std::lock_guard lock(mutex);
  if (guards++ > 0) return;
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &before);
}

OverflowGuard::~OverflowGuard() {
  {
    const std::lock_guard lock(mutex);
    if (--guards == 0) sigaction(SIGSEGV, &before, nullptr);
  }
  sigaltstack(&handler.before, nullptr);
  handler = {};
  StackPool::mine().give(signal_stack_);
  StackPool::mine().give(spare_stack_);
}

#endif

}  // namespace warpfold::hopper::emulator
