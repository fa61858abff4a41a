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

constexpr size_t guard_bytes = 4096;

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
  entry_ = entry;
  argument_ = argument;
  inside_ = context::make_fcontext(stack_ + StackPool::bytes, StackPool::bytes, &Fiber::run);
}

void Fiber::resume() {
  [[maybe_unused]] void* fake = nullptr;
  WF_ASAN_DO(__sanitizer_start_switch_fiber(&fake, stack_, StackPool::bytes));
  inside_ = context::jump_fcontext(inside_, this).fctx;
  WF_ASAN_DO(__sanitizer_finish_switch_fiber(fake, nullptr, nullptr));
}

void Fiber::suspend() {
  WF_ASAN_DO(__sanitizer_start_switch_fiber(ended_ ? nullptr : &fake_stack_, outer_stack_, outer_bytes_));
  outside_ = context::jump_fcontext(outside_, nullptr).fctx;
  WF_ASAN_DO(__sanitizer_finish_switch_fiber(fake_stack_, &outer_stack_, &outer_bytes_));
}

void Fiber::run(context::transfer_t from) {
  Fiber& self = *static_cast<Fiber*>(from.data);
  self.outside_ = from.fctx;
  WF_ASAN_DO(__sanitizer_finish_switch_fiber(nullptr, &self.outer_stack_, &self.outer_bytes_));
  self.entry_(self, self.argument_);
  self.ended_ = true;
  self.suspend();  // never resumed
}

}  // namespace warpfold::hopper::emulator
