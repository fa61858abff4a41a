// A progress bar on stderr: label, bar, share, amount, rate and the time that is left. Only on a terminal,
// only for work that takes longer than 0.3 s, and gone when the work is done.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace warpfold::cli {

struct ProgressUnit {
  const char* name;  // "MB"
  double scale;      // counts a unit: 1e6
};

class Progress {
 public:
  explicit Progress(std::string label, ProgressUnit unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Erases the bar at done = total, as the end of its life does: what follows has the line for itself.
  void update(std::int64_t done, std::int64_t total);

 private:
  void erase();
  using Clock = std::chrono::steady_clock;
  std::string label_;
  ProgressUnit unit_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_, next_draw_;
};

}  // namespace warpfold::cli
