// Ctrl-C as a request to stop: while a scope lives, the first SIGINT sets its flag, a second one kills as
// usual.
#pragma once

#include <signal.h>

#include <atomic>

namespace warpfold::cli {

class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  const std::atomic<bool>* flag() const;

 private:
  struct sigaction previous_;
};

}  // namespace warpfold::cli
