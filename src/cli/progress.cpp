#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace warpfold::cli {
namespace {

constexpr std::chrono::milliseconds kPatience{300}, kRedraw{100};
constexpr int kWidth = 30;

}  // namespace

Progress::Progress(std::string label, ProgressUnit unit)
    : label_(std::move(label)),
      unit_(unit),
      terminal_(::isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      next_draw_(start_ + kPatience) {}

Progress::~Progress() { erase(); }

void Progress::erase() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

void Progress::update(std::int64_t done, std::int64_t total) {
  if (!terminal_) return;
  if (done >= total) return erase();
  const auto now = Clock::now();
  if (now < next_draw_ || done <= 0) return;
  next_draw_ = now + kRedraw;
  drawn_ = true;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double units = static_cast<double>(done) / unit_.scale;
  const auto left = static_cast<int>(seconds / share - seconds + 0.5);
  const int full = static_cast<int>(share * kWidth);
  fmt::print(stderr, "\r{} [{:#<{}}{:.<{}}] {:3.0f}%  {:.0f} {}  {:.0f} {}/s  {}:{:02} left\033[K", label_,
             "", full, "", kWidth - full, share * 100, units, unit_.name, units / seconds, unit_.name,
             left / 60, left % 60);
}

}  // namespace warpfold::cli
