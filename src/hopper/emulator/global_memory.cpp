#include "global_memory.h"

namespace warpfold::hopper::emulator {

const GlobalBuffer* GlobalMemory::nearest(uintptr_t address) const {
  const GlobalBuffer* best = nullptr;
  uint64_t least = ~uint64_t{0};
  for (const GlobalBuffer& b : buffers_) {
    if (b.data == nullptr) continue;
    const auto first = reinterpret_cast<uintptr_t>(b.data), last = first + uint64_t(b.bytes);
    const uint64_t distance = address < first ? first - address : address >= last ? address - last + 1 : 0;
    if (distance < least) {
      least = distance;
      best = &b;
    }
  }
  return best;
}

std::string GlobalMemory::name_of(uintptr_t address) const {
  const GlobalBuffer* b = nearest(address);
  if (b == nullptr) return "global memory";
  return "byte " + std::to_string(int64_t(address - reinterpret_cast<uintptr_t>(b->data))) + " of " + b->name;
}

bool GlobalMemory::knows(uint32_t cluster, const Epoch& e) const {
  if (e.time == 0 || e.agent == cluster) return true;
  const Clock& clock = knowledge_[cluster].clock;
  return !clock.empty() && e.time <= clock[e.agent];
}

Clock& GlobalMemory::clock_of(uint32_t cluster) {
  Clock& clock = knowledge_[cluster].clock;
  if (clock.empty()) clock.assign(clusters_, 0);
  return clock;
}

GlobalMemory::Page& GlobalMemory::page(uintptr_t number) {
  if (last_ != nullptr && number == last_number_) return *last_;
  auto& slot = pages_[number];
  if (!slot) slot = std::make_unique<Page>();
  last_number_ = number;
  last_ = slot.get();
  return *last_;
}

int GlobalMemory::access(uint32_t cluster, uintptr_t address, uint64_t bytes, Use use) {
  if (clusters_ == 1) return -1;
  const Epoch self{cluster, knowledge_[cluster].now};
  for (uintptr_t at = address, end = address + bytes; at < end;) {
    Unit& u = page(at >> 12)[at >> 4 & 255];
    const uintptr_t first = at & 15, last = std::min<uintptr_t>(16, first + (end - at));
    const auto mask = uint16_t((1u << last) - (1u << first));
    at += last - first;
    if ((u.written & mask) != 0 && !knows(cluster, u.write)) return int(u.write.agent);
    // After a cluster's own atomic, with none of another since, it has the place for itself: the last one to
    // count may reset the counter.
    if (use != Use::atomic && (u.changed & mask) != 0 && !knows(cluster, u.atomic))
      return int(u.atomic.agent);
    if (use != Use::read) {
      for (int i = 0; i < 2; ++i)
        if ((u.seen[i] & mask) != 0 && !knows(cluster, u.read[i])) return int(u.read[i].agent);
      if (use == Use::atomic) {
        u.changed = uint16_t(u.changed | mask);
        u.atomic = self;
        continue;
      }
      u.written = u.write.agent == cluster && u.write.time != 0 ? uint16_t(u.written | mask) : mask;
      u.write = self;
    } else {
      // A third reader evicts one: a race may be missed, never invented.
      const int i = u.read[0].time != 0 && u.read[0].agent != cluster ? 1 : 0;
      u.seen[i] = u.read[i].agent == cluster && u.read[i].time != 0 ? uint16_t(u.seen[i] | mask) : mask;
      u.read[i] = self;
    }
  }
  return -1;
}

void GlobalMemory::release(uint32_t cluster, uintptr_t address) {
  if (clusters_ == 1) return;
  Clock& mine = clock_of(cluster);
  mine[cluster] = knowledge_[cluster].now++;
  Clock& there = released_[address];
  if (there.empty())
    there = mine;
  else
    join(there, mine);
}

void GlobalMemory::fence(uint32_t cluster) {
  if (clusters_ == 1) return;
  Knowledge& k = knowledge_[cluster];
  Clock& mine = clock_of(cluster);
  if (!k.pending.empty()) join(mine, k.pending);
  mine[cluster] = k.now++;
  k.fenced = mine;
}

void GlobalMemory::relaxed(uint32_t cluster, uintptr_t address) {
  if (clusters_ == 1) return;
  Knowledge& k = knowledge_[cluster];
  const auto merge = [](Clock& into, const Clock& from) {
    if (into.empty())
      into = from;
    else
      join(into, from);
  };
  if (const auto found = released_.find(address); found != released_.end()) merge(k.pending, found->second);
  if (!k.fenced.empty()) merge(released_[address], k.fenced);
}

void GlobalMemory::acquire(uint32_t cluster, uintptr_t address) {
  if (clusters_ == 1) return;
  if (const auto found = released_.find(address); found != released_.end())
    join(clock_of(cluster), found->second);
}

}  // namespace warpfold::hopper::emulator
