// Happens-before with vector clocks. Agents are the threads of a cluster and the asynchronous engines that
// act for them. Most threads know the same: a thread holds a shared, immutable clock and its own time beside
// it, so that a barrier costs one pass over the agents and not one for each thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "shared.h"

namespace warpfold::hopper::emulator {

using Time = uint32_t;
using Clock = std::vector<Time>;  // what is known of each agent
struct FrozenClock : Clock, Counted {
  explicit FrozenClock(Clock c) : Clock(std::move(c)) {}
};
using SharedClock = Shared<const FrozenClock>;

inline void join(Clock& into, const Clock& from) {
  Time* a = into.data();
  const Time* b = from.data();
  for (size_t i = 0, n = into.size(); i < n; ++i) a[i] = a[i] > b[i] ? a[i] : b[i];
}
inline bool covers(const Clock& a, const Clock& b) {
  Time missing = 0;
  for (size_t i = 0, n = a.size(); i < n; ++i) missing |= a[i] < b[i];
  return missing == 0;
}

struct Epoch {
  uint32_t agent = 0;
  Time time = 0;  // 0: never
  bool operator==(const Epoch&) const = default;
};

// What has happened before something: `ordered`, of which every access is over; and `published`, whose writes
// are also visible. A relaxed arrival orders without publishing. Only arrivals between blocks can be relaxed,
// so a cluster of one block leaves `published` empty.
struct Knowledge {
  SharedClock ordered, published;
};

// Who accesses and what it knows: `base`, and all that `self` and `parent` did until their times. The parent
// of an asynchronous operation is the thread that issued it. `published` is null where it needs no check.
struct Access {
  const Clock* base;
  Epoch self, parent;
  const Clock* published = nullptr;
  // Until when the accessor knows what a thread did.
  Time known(uint32_t agent) const {
    return std::max((*base)[agent], agent == parent.agent ? parent.time : 0);
  }
  bool knows(const Epoch& e) const {
    return e.time <= (*base)[e.agent] || e.agent == self.agent ||
           (e.agent == parent.agent && e.time <= parent.time);
  }
};

// Writes that one access has been found to be ordered after; a tile has few writers.
class Passed {
 public:
  bool has(const Epoch& e) const { return epochs_[e.agent % 8] == e; }
  void add(const Epoch& e) { epochs_[e.agent % 8] = e; }

 private:
  Epoch epochs_[8] = {};
};

// Joins shared clocks. Threads that knew the same and learn the same ask one after another, so recent answers
// are kept: that saves the work and keeps their clocks one object.
class ClockJoiner {
 public:
  SharedClock operator()(const SharedClock& a, const SharedClock& b) {
    if (a == b) return a;
    const auto key = reinterpret_cast<uintptr_t>(a.get()) * 31 + reinterpret_cast<uintptr_t>(b.get());
    Answer& answer = answers_[key / 16 % 128];
    if (answer.a == a && answer.b == b) return answer.both;
    SharedClock both;
    if (covers(*b, *a)) {
      both = b;
    } else if (covers(*a, *b)) {
      both = a;
    } else {
      Clock joined = *a;
      join(joined, *b);
      both = share<const FrozenClock>(std::move(joined));
    }
    answer = {a, b, both};
    return both;
  }

 private:
  struct Answer {
    SharedClock a, b, both;
  };
  std::array<Answer, 128> answers_;
};

// What the arrivals at a barrier knew, gathered phase after phase.
class Gather {
 public:
  void reset(size_t agents) {
    now_.assign(agents, 0);
    last_ = {};
  }
  void add(const SharedClock& base) {
    if (base == last_) return;
    join(now_, *base);
    last_ = base;
  }
  void add(Epoch e) { now_[e.agent] = std::max(now_[e.agent], e.time); }
  SharedClock freeze() const { return share<const FrozenClock>(now_); }

 private:
  Clock now_;
  SharedClock last_;
};

struct Gathered {
  Gather ordered, published;
  bool publishes = false;

  void reset(size_t agents, bool many_blocks) {
    publishes = many_blocks;
    ordered.reset(agents);
    if (publishes) published.reset(agents);
  }
  void add(Epoch e) {
    ordered.add(e);
    if (publishes) published.add(e);
  }
  Knowledge freeze() const { return {ordered.freeze(), publishes ? published.freeze() : SharedClock()}; }
};

}  // namespace warpfold::hopper::emulator
