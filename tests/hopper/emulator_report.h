// Runs small kernels under the emulator and gives what it reports.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "warpfold/hopper/hopper.h"

namespace warpfold::hopper {

using emulator::options;

// The report of running `kernel`, empty if there is none, for one seed.
template <class Kernel>
std::string report(const Launch& launch, Kernel kernel, uint64_t seed = 1) {
  options().seed = seed;
  const Status s = emulator::run(launch, kernel);
  return s ? "" : s.error().message;
}
// The first report among `seeds` schedules.
template <class Kernel>
std::string find(const Launch& launch, Kernel kernel, int seeds = 50) {
  for (int seed = 1; seed <= seeds; ++seed)
    if (std::string text = report(launch, kernel, uint64_t(seed)); !text.empty()) return text;
  return "";
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

}  // namespace warpfold::hopper
