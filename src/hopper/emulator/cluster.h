// One cluster of emulated blocks: a fiber for each thread, a seeded random scheduler, the state of every
// synchronisation object, and the asynchronous engines (copies, tensor cores) that progress at random times.
#pragma once

#include <algorithm>
#include <concepts>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "clock.h"
#include "fiber.h"
#include "global_memory.h"
#include "overflow.h"
#include "shadow.h"
#include "warpfold/hopper/emulator/engine.h"

namespace warpfold::hopper::emulator {

// Thrown inside the emulator only; run() returns it as an error.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// splitmix64: small, and the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15 + 0x1234567) {}
  uint32_t below(uint32_t bound) { return uint32_t((uint64_t(next()) * bound) >> 32); }
  uint32_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return uint32_t((z ^ z >> 31) >> 32);
  }

 private:
  uint64_t state_;
};

// Threads that wait, as masks of a warp's lanes.
class Queue {
 public:
  struct Lanes {
    uint32_t warp, mask;
  };
  void add(uint32_t thread) {
    if (lanes_.empty() || lanes_.back().warp != thread / 32) lanes_.push_back({thread / 32, 0});
    lanes_.back().mask |= 1u << thread % 32;
  }
  auto begin() const { return lanes_.begin(); }
  auto end() const { return lanes_.end(); }
  void clear() { lanes_.clear(); }

 private:
  std::vector<Lanes> lanes_;
};

// Whether a launch still gets anywhere. Threads that ask again and again (load_acquire, mbarrier_try_wait) or
// that poll by other atoms never stop running: when nothing happens for long that could end a wait, the
// launch is stuck. Those who run on are then watched for a while, to be named.
struct Progress {
  uint64_t patience;
  uint64_t questions = 0;  // since any other thread changed anything
  bool previous_awaited = false;  // by a thread of the launch
  uint64_t turns = 0;      // ends of slices, since a phase or a copy ended or a thread did
  uint64_t watched = 0;    // slices
  static constexpr uint64_t watch = 1 << 14;
  bool stuck() const { return questions > patience || turns > patience; }
};

struct MBarrier {
  bool live = false;
  std::string name;
  uint32_t count = 0, pending = 0, phase = 0;
  int64_t bytes = 0;          // expected and not yet arrived
  Epoch initialised, fenced;  // fenced: its fence_mbarrier_init
  Gathered arriving;
  Knowledge completed;
  Queue waiters;
};

// A barrier of whole warps: named ones, the block's, the cluster's. The last two expect all threads that have
// not ended.
struct WarpBarrier {
  uint32_t expected = 0, arrived = 0;
  bool of_all = false;
  uint32_t ended = 0;  // of all: threads that have ended and did not arrive in this generation
  uint64_t generation = 0;
  Gathered arriving;
  Knowledge completed;
  std::vector<uint32_t> warps;  // that wait
};

// Why a thread waits; the text is made only for a report.
struct Waiting {
  enum class For : uint8_t {
    nothing,
    mbarrier,
    barrier,
    cluster_barrier,
    warp,
    product,
    bulk,
    copy,
    registers,
    try_wait,  // the last two run on, asking again and again
    flag
  } what = For::nothing;
  uint32_t id = 0, parity = 0;
  const int* flag = nullptr;
};

struct Warp {
  uint32_t runnable = 0;  // mask of lanes
  bool listed = false;    // in Cluster::ready_; every warp with runnable lanes is
  // A warp-wide instruction: all 32 lanes meet, the last one acts for all.
  uint32_t arrived = 0;
  uint32_t waiting = 0;  // mask of lanes
  Waiting waits_for;     // after all have met, at a barrier
  const char* atom = "";
  uint64_t in[32] = {}, out[32] = {};
  void* data[32] = {};
  int registers = 0;              // of a lane
  uint32_t register_changes = 0;  // setmaxnreg instructions executed
};

struct BulkGroup : Counted {
  uint32_t reading = 0, writing = 0;  // operations that still read shared memory, that are still not written
  bool read_waited = false;
  std::vector<Epoch> done;
};

// A copy by cp.async that has landed and has not been waited for.
struct LandedCopy {
  uint64_t number;
  Epoch self;
  uint32_t destination, bytes;
};

// An arrival that follows when copies of its thread by cp.async have landed.
struct AsyncArrival {
  uint32_t barrier;
  std::vector<uint64_t> waits_for;  // numbers of copies
  std::vector<Epoch> landed;
};

struct AsyncOp {
  virtual ~AsyncOp() = default;
  virtual bool step(class Cluster&) = 0;  // makes some progress; true once it has finished
};

// The tensor core's copy of a warpgroup's accumulators, (n, 64) words.
struct Accumulators : Counted {
  explicit Accumulators(uint32_t columns) : n(columns), tile(64 * size_t(columns)) {}
  uint32_t n;
  std::vector<uint32_t> tile;
};

struct PendingProduct {
  Product product;
  uint32_t rank;
  std::vector<uint32_t> a_registers;  // (128, 4) words
  Shared<Accumulators> accumulators;
  uint32_t threads = 0;    // that have issued it
  SharedClock base, seen;  // what every one of them knew; the last thread's clock that was compared
};

struct Warpgroup {
  std::deque<PendingProduct> queue;  // issued and not executed, oldest first
  uint64_t executed = 0;
  Queue waiters;
};

// An atom at which a thread ended its slice.
struct Visit {
  const char* atom;
  uint64_t where;  // an address, 0: none
  bool in_shared;
  bool operator==(const Visit&) const = default;
};

struct Thread {
  Fiber fiber;
  Identity identity;
  bool finished = false;
  bool knows_previous = false;  // has waited for the launches before
  Waiting waiting;
  std::vector<Visit> round;     // while it is watched: the atoms that it goes through
  SharedClock base, published;  // see Knowledge
  Time now = 1;
  Time products_known = 0;         // of its own warpgroup
  std::vector<Time> async_fences;  // when it executed them
  // What a relaxed arrival publishes after all: what was published to this thread, and what it did, before
  // its last fence_cluster.
  SharedClock fence_published;
  Time fence_time = 0;
  uint64_t cluster_phase = ~uint64_t{0};  // of the cluster barrier in which it arrived last

  // WGMMA
  struct InFlight {
    uint32_t* registers;
    Shared<Accumulators> accumulators;
    uint64_t last;
  };
  struct RegisterOperand {
    const uint32_t* registers;
    uint32_t value[4];
    uint64_t product;
  };
  uint64_t issued = 0;
  bool fenced = false;
  std::vector<InFlight> in_flight;
  std::vector<RegisterOperand> register_operands;
  std::vector<uint64_t> product_groups;  // products issued up to each commit that has not been waited for

  // Bulk stores
  Shared<BulkGroup> open_bulk;
  std::vector<Shared<BulkGroup>> bulk_groups;
  Queue bulk_waiters;

  // cp.async
  uint64_t copies = 0, copies_arrived = 0;  // issued; of which a copy_async_arrive has told a barrier
  std::vector<uint64_t> copies_in_flight;
  std::vector<LandedCopy> copies_landed;
  std::vector<uint64_t> copy_groups;  // copies issued up to each commit
  std::vector<AsyncArrival> copy_arrivals;
  Queue copy_waiters;
};

struct Block {
  std::unique_ptr<uint8_t[]> storage;
  uint8_t* shared = nullptr;  // 1024-aligned; shared address 1024
  Shadow shadow;
  std::vector<int32_t> mbarrier_at;  // by address / 8; -1: none
  std::deque<MBarrier> mbarriers;
  WarpBarrier named[16];
  uint32_t live_threads = 0;
  int free_registers = 0;  // given back by setmaxnreg
  Queue register_waiters;
};

class Cluster {
 public:
  Cluster(const Launch& launch, uint32_t index, uint64_t seed, GlobalMemory& global, Progress& progress,
          const std::function<void()>& kernel);
  // Runs one slice of a thread or of an engine; false when nothing can run.
  bool step();
  bool finished() const { return live_ == 0 && copies_.empty(); }
  void check_finished();
  std::string describe_waiters() const;
  static Cluster& current() { return *current_; }
  // While it lives, a thread that overflows its stack is reported.
  static OverflowGuard guard_stacks();

  // ---- Used by the atoms, for the running thread
  Thread& self() { return threads_[running_]; }
  uint32_t running() const { return running_; }
  Block& block_of(uint32_t thread) { return blocks_[thread / threads_per_block_]; }
  Block& own_block() { return blocks_[own_rank()]; }
  uint32_t own_rank() { return uint32_t(self().identity.rank); }
  Block& block(uint32_t rank) { return blocks_[rank]; }
  Warp& own_warp() { return warps_[running_ / 32]; }
  uint32_t ranks() const { return uint32_t(blocks_.size()); }
  uint32_t rank_of(uint32_t thread) const { return thread / threads_per_block_; }
  uint32_t threads_per_block() const { return threads_per_block_; }
  uint32_t shared_bytes() const { return shared_bytes_; }
  // Of a lane, as compiled for one block of a multiprocessor: at most these.
  int registers_of_launch() const { return std::min(256, 65536 / int(threads_per_block_) / 8 * 8); }
  void first_increase(int count) {  // by the running warp, of the launch's registers
    most_increase_ = std::max(most_increase_, count);
    if (count >= least_increase_) return;
    least_increase_ = count;
    least_increaser_ = running_;
  }
  GlobalMemory& global() { return global_; }
  uint32_t index() const { return index_; }
  Random& random() { return random_; }
  ClockJoiner& joiner() { return joiner_; }
  size_t agents() const { return agents_; }
  Thread& thread(uint32_t t) { return threads_[t]; }
  Warpgroup& warpgroup(uint32_t i) { return warpgroups_[i]; }
  WarpBarrier& cluster_barrier() { return cluster_barrier_; }

  void grid_dependency_wait() { self().knows_previous = progress_.previous_awaited = true; }

  // At every atom; one of 16 lets others run.
  void maybe_yield(const char* atom) {
    if (--until_yield_ == 0) yield({atom, 0, false});
  }
  void maybe_yield(const char* atom, uint32_t shared) {
    if (--until_yield_ == 0) yield({atom, shared, true});
  }
  void maybe_yield(const char* atom, const void* global) {
    if (--until_yield_ == 0) yield({atom, reinterpret_cast<uintptr_t>(global), false});
  }
  void yield(const Visit& at) {
    until_yield_ = 1 + random_.below(31);
    ++progress_.turns;
    if (progress_.stuck())
      watch(at);
    else
      progress_.watched = 0;
    suspend();
  }
  template <class Ready>
  void wait(Queue& queue, Waiting why, Ready ready) {
    while (!ready()) {
      queue.add(running_);
      block(why);
    }
  }
  void wake(Queue& queue) {
    for (const auto& lanes : queue) wake(lanes.warp, lanes.mask);
    queue.clear();
  }

  // All 32 lanes meet; the last one runs last(warp) for all. Returns the lane's `out`.
  template <class Last>
  uint64_t meet(const char* atom, uint64_t in, void* data, Last last) {
    maybe_yield(atom);
    Warp& w = enter_warp(atom, in, data);
    if (w.arrived == 32) {
      last(w);
      leave_warp(running_ / 32);
    }
    wait_for_warp();
    return w.out[running_ % 32];
  }
  Warp& enter_warp(const char* atom, uint64_t in, void* data);
  // Until leave_warp; a lane that is the last may have called it already.
  void wait_for_warp() {
    Warp& w = own_warp();
    if (w.arrived == 0) return;
    w.waiting |= 1u << running_ % 32;
    block({Waiting::For::warp, running_ / 32, 0});
  }
  void leave_warp(uint32_t warp) {
    Warp& w = warps_[warp];
    w.arrived = 0;
    w.waits_for = {};
    wake(warp, std::exchange(w.waiting, 0));
  }
  void complete_if_due(WarpBarrier& b);
  void leave_barrier(uint32_t warp, const WarpBarrier& b);  // which has completed
  uint32_t warp_first() const { return running_ / 32 * 32; }

  // Clocks
  void learn(Thread& t, const Knowledge& k) {
    t.base = joiner_(t.base, k.ordered);
    if (ranks() > 1) t.published = joiner_(t.published, k.published);
  }
  void learn(const Knowledge& k) { learn(self(), k); }
  void learn(const std::vector<Epoch>& epochs);
  void add_to(Gathered& g, uint32_t thread, Order order = Order::release) {
    Thread& t = threads_[thread];
    g.ordered.add(t.base);
    g.ordered.add(Epoch{thread, t.now});
    if (has_warpgroups_) g.ordered.add(Epoch{warpgroup_agent(thread / 128), t.products_known});
    if (!g.publishes) return;
    const bool release = order == Order::release;
    if (!release && t.fence_time == 0) return;
    g.published.add(release ? t.published : t.fence_published);
    g.published.add(Epoch{thread, release ? t.now : t.fence_time});
  }
  Epoch epoch() { return {running_, self().now}; }
  Access access_of(uint32_t thread) {
    Thread& t = threads_[thread];
    return {t.base.get(),
            {thread, t.now},
            {warpgroup_agent(thread / 128), t.products_known},
            ranks() > 1 ? t.published.get() : nullptr};
  }
  Access access() { return access_of(running_); }
  uint32_t warpgroup_agent(uint32_t warpgroup) const { return count_ + warpgroup; }
  Epoch next_copy_epoch(const char* atom);  // the running thread issues it

  // Something changed that a thread may be asking for again and again.
  void changed() { progress_.questions = 0; }
  // Something that does not happen for ever in a launch that is stuck.
  void progressed() { progress_.questions = progress_.turns = 0; }
  void ask_in_vain(Waiting why, const Visit& at) {
    self().waiting = why;
    ++progress_.questions;
    yield(at);
  }

  // Shared memory of the thread's own block: the address without the rank.
  uint32_t local(uint32_t address, const char* atom) {
    if (address >> 24 != own_rank())
      fail([=, this] {
        return std::string(atom) + ": shared address " + std::to_string(address & 0xFFFFFF) + " is one of rank " +
               std::to_string(address >> 24) + ", and the thread's block has rank " + std::to_string(own_rank());
      });
    return address & 0xFFFFFF;
  }
  // Of any block: address without a rank. Fails when outside or misaligned.
  uint8_t* at(uint32_t rank, uint32_t address, uint32_t bytes, uint32_t alignment, const char* atom) {
    if (address % alignment != 0 || address < shared_start ||
        uint64_t(address) + bytes > uint64_t(shared_start) + shared_bytes_)
      fail_place(rank, address, bytes, alignment, atom);
    return blocks_[rank].shared + (address - shared_start);
  }
  void check_range(uint32_t rank, uint32_t address, uint32_t bytes, const char* atom) {
    at(rank, address, bytes, 1, atom);
  }
  void check_write(uint32_t rank, uint32_t address, uint32_t bytes, const Access& a) {
    if (!check_races_) return;
    Shadow& shadow = blocks_[rank].shadow;
    for (uint32_t i = 0; i < bytes; i += 16)
      if (const Epoch* e = shadow.write(address + i, std::min(bytes - i, 16u), a))
        fail_race("the write", rank, address + i, a.self, *e);
  }
  void check_read(uint32_t rank, uint32_t address, uint32_t bytes, const Access& a);
  // The same for one whole unit of many that are accessed with the same knowledge: most look like the last
  // one that passed.
  void check_unit_write(uint32_t rank, uint32_t address, const Access& a, Shadow::Cell& passed) {
    if (!check_races_) return;
    Shadow::Cell* cell = blocks_[rank].shadow.whole(address);
    if (cell == nullptr || *cell != passed) {
      const Shadow::Cell before = cell != nullptr ? *cell : passed;
      check_write(rank, address, 16, a);
      passed = before;
    } else {
      *cell = {a.self, {}};
    }
  }
  void check_unit_async_read(uint32_t rank, uint32_t address, const Access& a, Passed& passed) {
    if (!check_races_) return;
    Shadow& shadow = blocks_[rank].shadow;
    if (Shadow::Cell* cell = shadow.whole(address); cell != nullptr && passed.has(cell->write))
      return cell->add_read(a.self);
    check_parts_async_read(rank, address, a, passed);
  }
  // An access to global memory by `thread`, or a copy that it issued: inside the launch's buffers (`only` in
  // the one given), and ordered after what other clusters did there.
  void check_global(const void* p, uint64_t bytes, GlobalMemory::Use use, const char* what, uint32_t thread,
                    const GlobalBuffer* only = nullptr) {
    check_bounds(p, bytes, what, thread, only);
    if (check_races_) check_global_race(p, bytes, use, what, thread);
  }
  void check_bounds(const void* p, uint64_t bytes, const char* what, uint32_t thread,
                    const GlobalBuffer* only = nullptr) {
    const auto address = reinterpret_cast<uintptr_t>(p);
    if (only != nullptr ? !GlobalMemory::holds(*only, address, bytes)
                        : global_.checks_bounds() && global_.buffer_of(address, bytes) == nullptr)
      fail_bounds(address, bytes, what, thread, only);
  }

  // Where the launch overlaps the one before, a thread that has not waited for that may only read what is constant.
  // Called as the running thread makes the access or issues the copy.
  void check_previous(const void* p, bool reads, const char* what) {
    if (overlaps_previous_ && !self().knows_previous) check_constant(p, reads, what);
  }

  // mbarriers
  MBarrier& mbarrier(uint32_t rank, uint32_t address, const char* atom, bool from_afar);
  void mbarrier_bytes(uint32_t rank, uint32_t address, uint32_t bytes, const SharedClock& base, Epoch copy,
                      Epoch issuer);
  void complete_if_due(MBarrier& b);
  void arrive(MBarrier& b, Order order = Order::release);

  void add_copy(std::unique_ptr<AsyncOp> op) { copies_.push_back(std::move(op)); }
  [[noreturn]] void fail(const std::string& what) const;
  std::string located(const std::string& what) const;  // a report's beginning and `what`
  // Puts the text together out of line, which keeps the frames small that suspended threads leave on their
  // stacks: those are what the caches have to hold.
  template <std::invocable Text>
  [[noreturn, gnu::noinline, gnu::cold]] void fail(Text text) const {
    fail(text());
  }
  std::string name_of(const Epoch& e) const;
  std::string name_of_thread(uint32_t thread) const;
  std::string name_of_warp(uint32_t thread) const;

 private:
  void watch(const Visit& at);
  void leave_barriers();  // the running thread, which has ended
  bool fence_follows(const Epoch& write, const Access& by, bool& any) const;
  void check_global_race(const void* p, uint64_t bytes, GlobalMemory::Use use, const char* what,
                         uint32_t thread);
  void check_constant(const void* p, bool reads, const char* what) const;
  [[noreturn]] void fail_bounds(uintptr_t address, uint64_t bytes, const char* what, uint32_t thread,
                                const GlobalBuffer* only) const;
  void check_parts_async_read(uint32_t rank, uint32_t address, const Access& a, Passed& passed);
  static Fiber& thread_main(void* argument);
  static void stack_overflown();
  void run_warp(uint32_t position);
  Fiber& next_fiber();
  void suspend();
  void block(Waiting why) {
    self().waiting = why;
    own_warp().runnable &= ~(1u << running_ % 32);
    suspend();
  }
  void wake(uint32_t warp, uint32_t lanes) {
    Warp& w = warps_[warp];
    w.runnable |= lanes;
    if (w.runnable != 0 && !std::exchange(w.listed, true)) ready_.push_back(warp);
  }
  uint32_t engines_ready() const;
  void step_engine(uint32_t pick);
  void execute_product(uint32_t warpgroup);
  void redraw_speeds();
  void thread_exits();
  std::string text_of(const Waiting& w, uint32_t thread) const;
  std::string text_of_round(uint32_t thread) const;
  [[noreturn]] void fail_place(uint32_t rank, uint32_t address, uint32_t bytes, uint32_t alignment,
                               const char* atom) const;
  [[noreturn]] void fail_race(const char* access, uint32_t rank, uint32_t address, const Epoch& self,
                              const Epoch& earlier) const;
  const MBarrier& mbarrier_over(uint32_t rank, uint32_t address) const;

  static inline constinit thread_local Cluster* current_ = nullptr;

  uint32_t index_, threads_per_block_, shared_bytes_;
  bool has_warpgroups_, check_races_, overlaps_previous_;
  uint64_t seed_;
  size_t agents_;
  Random random_;
  GlobalMemory& global_;
  Progress& progress_;
  const std::function<void()>& kernel_;
  ClockJoiner joiner_;
  std::vector<Block> blocks_;
  uint32_t count_;
  std::unique_ptr<Thread[]> threads_;
  std::vector<Warp> warps_;
  std::vector<Warpgroup> warpgroups_;
  WarpBarrier cluster_barrier_;
  std::vector<std::unique_ptr<AsyncOp>> copies_;
  struct Issued {
    const char* atom;
    uint32_t thread;
  };
  std::vector<Issued> issued_copies_;
  std::vector<uint32_t> ready_;  // warps with runnable lanes
  Fiber scheduler_;
  uint32_t running_ = 0, live_ = 0;
  // registers_increase of warps that still had what they were launched with: the least, by which warp; the
  // most.
  int least_increase_ = 256, most_increase_ = 0;
  uint32_t least_increaser_ = 0;
  // The turn of the running thread's warp: the lanes that have still to run, as a mask from lane turn_first_.
  uint32_t turn_first_ = 0, turn_ = 0;
  uint32_t until_yield_ = 1;  // atoms
  std::string fiber_failure_;
  // Chance, of 1024, that a pick of this warp is thrown back, and that a warp goes before an engine: skewed
  // speeds reach schedules that uniform picking never would.
  std::vector<uint32_t> warp_drag_;
  uint32_t engine_drag_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace warpfold::hopper::emulator
