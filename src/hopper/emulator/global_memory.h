// The check of global memory between clusters: two clusters that touch the same bytes, one of them writing,
// with no release and acquire between them. Clusters are the agents here, so a race inside a cluster is not
// seen.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "clock.h"

namespace warpfold::hopper::emulator {

class GlobalMemory {
 public:
  explicit GlobalMemory(uint32_t clusters) : clusters_(clusters), knowledge_(clusters) {}

  enum class Use : uint8_t { read, write, atomic };
  // The cluster that made an earlier conflicting access of which `cluster` does not know, or -1. Atomics
  // conflict with reads and writes, not with one another.
  int access(uint32_t cluster, uintptr_t address, uint64_t bytes, Use use);
  void release(uint32_t cluster, uintptr_t address);
  void acquire(uint32_t cluster, uintptr_t address);
  // A fence before a relaxed atomic makes that a release, a fence after one an acquire.
  void fence(uint32_t cluster);
  void relaxed(uint32_t cluster, uintptr_t address);

  uint64_t asked_in_vain = 0;  // see Cluster::progress

 private:
  struct Unit {  // 16 bytes
    Epoch write, atomic, read[2];
    uint16_t written = 0, changed = 0,
             seen[2] = {};  // masks of bytes: by the last writer, atomics, the readers
  };
  using Page = std::array<Unit, 256>;
  struct Knowledge {
    Clock clock;            // empty until the cluster first synchronises
    Clock fenced, pending;  // what a relaxed atomic publishes; what a fence will acquire
    Time now = 1;
  };
  bool knows(uint32_t cluster, const Epoch& e) const;
  Clock& clock_of(uint32_t cluster);
  Page& page(uintptr_t number);

  uint32_t clusters_;
  std::vector<Knowledge> knowledge_;
  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages_;
  uintptr_t last_number_ = 0;
  Page* last_ = nullptr;
  std::unordered_map<uintptr_t, Clock> released_;
};

}  // namespace warpfold::hopper::emulator
