#include "fiber.h"

#include <sys/mman.h>

#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define WF_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WF_ASAN 1
#endif
#endif
#ifdef WF_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define WF_ASAN_DO(call) call
#else
#define WF_ASAN_DO(call) (void)0
#endif

namespace warpfold::hopper::emulator {

namespace context = boost::context::detail;

StackPool& StackPool::mine() {
  static thread_local StackPool pool;
  return pool;
}

char* StackPool::take() {
  if (!free_.empty()) {
    char* stack = free_.back();
    free_.pop_back();
    WF_ASAN_DO(__asan_unpoison_memory_region(stack, bytes));  // a dropped fiber left its marks
    return stack;
  }
  void* memory = mmap(nullptr, bytes + guard_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, guard_bytes, PROT_NONE);  // an overflow faults instead of reaching the next stack
  return static_cast<char*>(memory) + guard_bytes;
}

StackPool::~StackPool() {
  for (char* stack : free_) munmap(stack - guard_bytes, bytes + guard_bytes);
}

Fiber::~Fiber() {
  if (stack_ != nullptr) StackPool::mine().give(stack_);
}

void Fiber::start(Entry entry, void* argument) {
  stack_ = StackPool::mine().take();
  bottom_ = stack_;
  bytes_ = StackPool::bytes;
  entry_ = entry;
  argument_ = argument;
  context_ = context::make_fcontext(stack_ + StackPool::bytes, StackPool::bytes, &Fiber::run);
}

void Fiber::switch_to(Fiber& next) {
  next_ = &next;
  WF_ASAN_DO(__sanitizer_start_switch_fiber(ended_ ? nullptr : &fake_stack_, next.bottom_, next.bytes_));
  arrive(context::jump_fcontext(next.context_, this));
}

// Runs on the stack that was switched to.
inline void Fiber::arrive(context::transfer_t from) {
  Fiber& previous = *static_cast<Fiber*>(from.data);
  previous.context_ = from.fctx;
  WF_ASAN_DO(
      __sanitizer_finish_switch_fiber(previous.next_->fake_stack_, &previous.bottom_, &previous.bytes_));
}

void Fiber::run(context::transfer_t from) {
  arrive(from);
  Fiber& self = *static_cast<Fiber*>(from.data)->next_;
  Fiber& next = self.entry_(self.argument_);
  self.ended_ = true;
  self.switch_to(next);  // never to return
}

}  // namespace warpfold::hopper::emulator
