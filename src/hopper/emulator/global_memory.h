// The checks of global memory: accesses outside the launch's buffers; and two clusters that touch the same
// bytes, one of them writing, with no release and acquire between them. Clusters are the agents here, so a
// race inside a cluster is not seen.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "clock.h"
#include "warpfold/hopper/types.h"

namespace warpfold::hopper::emulator {

class GlobalMemory {
 public:
  GlobalMemory(uint32_t clusters, std::span<const GlobalBuffer> buffers)
      : clusters_(clusters), knowledge_(clusters), buffers_(buffers) {}

  // The launch's buffer that holds the bytes; null where none does.
  const GlobalBuffer* buffer_of(uintptr_t address, uint64_t bytes) {
    if (buffers_.empty()) return nullptr;
    if (holds(buffers_[last_buffer_], address, bytes)) return &buffers_[last_buffer_];
    for (size_t i = 0; i < buffers_.size(); ++i)
      if (holds(buffers_[i], address, bytes)) return &buffers_[last_buffer_ = i];
    return nullptr;
  }
  static bool holds(const GlobalBuffer& b, uintptr_t address, uint64_t bytes) {
    const uint64_t at = address - reinterpret_cast<uintptr_t>(b.data);
    return at <= uint64_t(b.bytes) && bytes <= uint64_t(b.bytes) - at;
  }
  bool checks_bounds() const { return !buffers_.empty(); }
  // "byte 8 of D"; outside all buffers, from the nearest one.
  std::string name_of(uintptr_t address) const;
  const GlobalBuffer* nearest(uintptr_t address) const;

  enum class Use : uint8_t { read, write, atomic };
  // The cluster that made an earlier conflicting access of which `cluster` does not know, or -1. Atomics
  // conflict with reads and writes, not with one another.
  int access(uint32_t cluster, uintptr_t address, uint64_t bytes, Use use);
  void release(uint32_t cluster, uintptr_t address);
  void acquire(uint32_t cluster, uintptr_t address);
  // A fence before a relaxed atomic makes that a release, a fence after one an acquire.
  void fence(uint32_t cluster);
  void relaxed(uint32_t cluster, uintptr_t address);

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
  std::span<const GlobalBuffer> buffers_;
  size_t last_buffer_ = 0;
  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages_;
  uintptr_t last_number_ = 0;
  Page* last_ = nullptr;
  std::unordered_map<uintptr_t, Clock> released_;
};

}  // namespace warpfold::hopper::emulator
