// A pointer that counts its users. One thread runs an emulation, so counting need not be atomic, as
// std::shared_ptr's is; barriers hand clocks to hundreds of emulated threads.
#pragma once

#include <cstdint>
#include <utility>

namespace warpfold::hopper::emulator {

struct Counted {
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  mutable uint32_t users = 0;
};

template <class T>  // derived from Counted
class Shared {
 public:
  Shared() = default;
  explicit Shared(T* p) : p_(p) { take(); }
  Shared(const Shared& other) : p_(other.p_) { take(); }
  Shared(Shared&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  Shared& operator=(Shared other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  ~Shared() {
    if (p_ != nullptr && --p_->users == 0) delete p_;
  }

  T* get() const { return p_; }
  T& operator*() const { return *p_; }
  T* operator->() const { return p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Shared&) const = default;

 private:
  void take() {
    if (p_ != nullptr) ++p_->users;
  }
  T* p_ = nullptr;
};

template <class T, class... Arguments>
Shared<T> share(Arguments&&... arguments) {
  return Shared<T>(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace warpfold::hopper::emulator
