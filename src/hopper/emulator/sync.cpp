// mbarriers, named and cluster barriers, fences, warp-wide exchange.
#include <cstring>

#include "cluster.h"

namespace warpfold::hopper::emulator {

namespace {
Cluster& cluster() { return Cluster::current(); }
}  // namespace

// ---- mbarriers

MBarrier& Cluster::mbarrier(uint32_t rank, uint32_t address, const char* atom, bool from_afar) {
  if (address % 8 != 0)
    fail(std::string(atom) + ": mbarrier address " + std::to_string(address) + " is no multiple of 8");
  check_range(rank, address, 8, atom);
  Block& b = blocks_[rank];
  const int32_t index = b.mbarrier_at[address / 8];
  if (index < 0 || !b.mbarriers[size_t(index)].live)
    fail(std::string(atom) + ": there is no initialised mbarrier at shared address " +
         std::to_string(address) + " of rank " + std::to_string(rank));
  MBarrier& m = b.mbarriers[size_t(index)];
  if (!access().knows(m.initialised))
    fail(std::string(atom) + ": mbarrier " + m.name + " is used by " + name_of_thread(running_) +
         " with no barrier between its initialisation and this use");
  if (from_afar && !m.init_fenced)
    fail(std::string(atom) + ": mbarrier " + m.name + " is used by " +
         (rank == rank_of(running_) ? "the copy engine" : "another block") +
         " but its initialisation was not published by fence_mbarrier_init");
  return m;
}

void Cluster::complete_if_due(MBarrier& b) {
  if (b.pending != 0 || b.bytes != 0) return;
  ++b.phase;
  b.pending = b.count;
  b.completed = b.arriving.freeze();
  wake(b.waiters);
}

void Cluster::arrive(MBarrier& b) {
  if (b.pending == 0)
    fail("mbarrier " + b.name + " gets more arrivals in phase " + std::to_string(b.phase) + " than the " +
         std::to_string(b.count) + " it was initialised for");
  add_to(b.arriving, running_);
  ++self().now;
  --b.pending;
  complete_if_due(b);
}

void Cluster::mbarrier_bytes(uint32_t rank, uint32_t address, uint32_t bytes, const Access& seen) {
  Block& block = blocks_[rank];
  const int32_t index = block.mbarrier_at[address / 8];
  if (index < 0 || !block.mbarriers[size_t(index)].live)
    fail("a copy completes on shared address " + std::to_string(address) + " of rank " +
         std::to_string(rank) + ", where no mbarrier is initialised");
  MBarrier& b = block.mbarriers[size_t(index)];
  b.bytes -= bytes;
  if (b.bytes <= -(1 << 20))
    fail("mbarrier " + b.name + ": more than 2^20 bytes have arrived that no expect_tx announced");
  if (seen.parent.agent < threads_.size()) b.arriving.add(thread(seen.parent.agent).base);
  b.arriving.add(seen.parent);
  b.arriving.add(seen.self);
  complete_if_due(b);
}

void mbarrier_init(uint32_t address, uint32_t arrivals, const char* name, int index) {
  Cluster& c = cluster();
  c.maybe_yield();
  const uint32_t rank = c.rank_of(c.running());
  if (address % 8 != 0) c.fail("mbarrier_init: address " + std::to_string(address) + " is no multiple of 8");
  c.check_range(rank, address, 8, "mbarrier_init");
  if (arrivals < 1 || arrivals >= 1u << 20)
    c.fail("mbarrier_init: " + std::to_string(arrivals) + " arrivals; 1 to 2^20 - 1 are possible");
  Block& b = c.own_block();
  int32_t& slot = b.mbarrier_at[address / 8];
  if (slot >= 0 && b.mbarriers[size_t(slot)].live)
    c.fail("mbarrier_init: mbarrier " + b.mbarriers[size_t(slot)].name + " at shared address " +
           std::to_string(address) + " is initialised twice");
  slot = int32_t(b.mbarriers.size());
  MBarrier& m = b.mbarriers.emplace_back();
  m.live = true;
  m.name = std::string(name) + "[" + std::to_string(index) + "]";
  m.count = m.pending = arrivals;
  m.initialised = c.epoch();
  m.arriving.reset(c.agents());
  m.completed = c.self().base;
}

void mbarrier_invalidate(uint32_t address) {
  Cluster& c = cluster();
  c.mbarrier(c.rank_of(c.running()), address, "mbarrier_invalidate", false).live = false;
}

void mbarrier_arrive(uint32_t address, uint32_t expect_bytes) {
  Cluster& c = cluster();
  c.maybe_yield();
  MBarrier& b = c.mbarrier(c.rank_of(c.running()), address, "mbarrier_arrive", false);
  b.bytes += expect_bytes;
  if (b.bytes >= 1 << 20) c.fail("mbarrier " + b.name + " expects 2^20 bytes or more");
  c.arrive(b);
}

void mbarrier_expect(uint32_t address, uint32_t bytes) {
  Cluster& c = cluster();
  c.maybe_yield();
  MBarrier& b = c.mbarrier(c.rank_of(c.running()), address, "mbarrier_expect_tx", false);
  b.bytes += bytes;
  if (b.bytes >= 1 << 20) c.fail("mbarrier " + b.name + " expects 2^20 bytes or more");
}

void mbarrier_arrive_remote(uint32_t address, int rank, Order order) {
  Cluster& c = cluster();
  c.maybe_yield();
  if (rank < 0 || uint32_t(rank) >= c.ranks())
    c.fail("mbarrier_arrive_remote: rank " + std::to_string(rank) + " in a cluster of " +
           std::to_string(c.ranks()) + (c.ranks() == 1 ? " block" : " blocks"));
  const bool own = uint32_t(rank) == c.rank_of(c.running());
  if (!own && c.block(uint32_t(rank)).live_threads == 0)
    c.fail("mbarrier_arrive_remote: " + c.name_of_thread(c.running()) + " arrives at a barrier of rank " +
           std::to_string(rank) + ", whose block has exited");
  MBarrier& b = c.mbarrier(uint32_t(rank), address, "mbarrier_arrive_remote", !own);
  if (order == Order::release) c.self().release_fence = c.self().now;
  c.arrive(b);
}

// Waiting on parity p means waiting until the phase of parity p has ended: a fresh barrier lets parity 1
// pass.
bool mbarrier_test(uint32_t address, uint32_t parity) {
  Cluster& c = cluster();
  MBarrier& b = c.mbarrier(c.rank_of(c.running()), address, "mbarrier_try_wait", false);
  if ((b.phase & 1) == parity) {
    c.yield();
    return false;
  }
  c.maybe_yield();
  c.learn(b.completed);
  return true;
}

void mbarrier_wait(uint32_t address, uint32_t parity) {
  Cluster& c = cluster();
  c.maybe_yield();
  if (parity > 1) c.fail("mbarrier_wait: parity " + std::to_string(parity) + " is neither 0 nor 1");
  MBarrier& b = c.mbarrier(c.rank_of(c.running()), address, "mbarrier_wait", false);
  c.wait(b.waiters, {Waiting::For::mbarrier, address, parity}, [&] { return (b.phase & 1) != parity; });
  c.learn(b.completed);
}

// ---- Barriers of warps

namespace {

// The running lane's warp arrives as a whole at `b`, and waits there or goes on. Returns the phase it arrived
// in.
uint64_t arrive_as_warp(Cluster& c, WarpBarrier& b, const char* atom, Waiting why, bool wait) {
  c.maybe_yield();
  Warp& w = c.enter_warp(atom, why.id, nullptr);
  const uint64_t mine = w.generation;
  const uint32_t warp = c.running() / 32;
  Waiting reason{Waiting::For::warp, warp, 0};
  if (w.arrived == 32) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      if (w.in[lane] != why.id)
        c.fail("the lanes of a warp name different barriers at " + std::string(atom) + ": " +
               std::to_string(w.in[lane]) + " and " + std::to_string(why.id));
      c.add_to(b.arriving, warp * 32 + lane);
      ++c.thread(warp * 32 + lane).now;
      c.thread(warp * 32 + lane).waiting = why;
      w.out[lane] = b.generation;
    }
    b.arrived += 32;
    if (b.arrived >= b.expected) {
      b.arrived = 0;
      ++b.generation;
      b.completed = b.arriving.freeze();
      std::vector<uint32_t> warps;
      warps.swap(b.warps);
      for (const uint32_t other : warps) c.wake_warp(other);
      c.leave_warp(w);
    } else if (wait) {
      b.warps.push_back(warp);
      reason = why;
    } else {
      c.leave_warp(w);
    }
  }
  c.wait(w.waiters, reason, [&] { return w.generation != mine; });
  if (wait) c.learn(b.completed);
  return w.out[c.running() % 32];
}

}  // namespace

void Cluster::wake_warp(uint32_t warp) { leave_warp(warps_[warp]); }

void named_barrier(int id, int threads, bool wait) {
  Cluster& c = cluster();
  const char* atom = wait ? "named_sync" : "named_arrive";
  if (id < 0 || id > 15) c.fail(std::string(atom) + ": barrier " + std::to_string(id) + " is not in [0, 15]");
  if (threads < 32 || threads % 32 != 0 || uint32_t(threads) > c.threads_per_block())
    c.fail(std::string(atom) + ": " + std::to_string(threads) +
           " threads; whole warps of the block take part");
  WarpBarrier& b = c.own_block().named[id];
  if (b.arrived == 0) b.expected = uint32_t(threads);
  if (b.expected != uint32_t(threads))
    c.fail("named barrier " + std::to_string(id) + " is used with " + std::to_string(b.expected) +
           " and with " + std::to_string(threads) + " threads at once");
  arrive_as_warp(c, b, atom, {Waiting::For::barrier, uint32_t(id), 0}, wait);
}

void block_barrier() {
  Cluster& c = cluster();
  WarpBarrier& b = c.own_block().named[0];
  b.expected = c.threads_per_block();
  arrive_as_warp(c, b, "block_sync", {Waiting::For::barrier, 0, 0}, true);
}

void cluster_arrive(Order order) {
  Cluster& c = cluster();
  if (order == Order::release) c.self().release_fence = c.self().now;
  c.self().cluster_phase =
      arrive_as_warp(c, c.cluster_barrier(), "cluster_arrive", {Waiting::For::cluster_barrier, 0, 0}, false);
}

void cluster_wait() {
  Cluster& c = cluster();
  c.maybe_yield();
  WarpBarrier& b = c.cluster_barrier();
  Warp& w = c.enter_warp("cluster_wait", 0, nullptr);
  const uint64_t mine = w.generation;
  const uint32_t warp = c.running() / 32;
  const Waiting why{Waiting::For::cluster_barrier, 0, 0};
  Waiting reason{Waiting::For::warp, warp, 0};
  if (w.arrived == 32) {
    if (b.generation > c.self().cluster_phase) {
      c.leave_warp(w);
    } else {
      for (uint32_t lane = 0; lane < 32; ++lane) c.thread(warp * 32 + lane).waiting = why;
      b.warps.push_back(warp);
      reason = why;
    }
  }
  c.wait(w.waiters, reason, [&] { return w.generation != mine; });
  c.learn(b.completed);
}

void warp_barrier() {
  Cluster& c = cluster();
  const uint32_t first = c.warp_first();
  Gather all;
  c.meet("warp_sync", 0, nullptr, [&](Warp&) {
    all.reset(c.agents());
    for (uint32_t lane = 0; lane < 32; ++lane) {
      c.add_to(all, first + lane);
      ++c.thread(first + lane).now;
    }
    const SharedClock known = all.freeze();
    for (uint32_t lane = 0; lane < 32; ++lane) c.thread(first + lane).base = known;
  });
}

// ---- Fences and registers

void fence_mbarrier_init() {
  Cluster& c = cluster();
  c.maybe_yield();
  for (MBarrier& b : c.own_block().mbarriers)
    b.init_fenced = b.init_fenced || b.initialised.agent == c.running();
}

void fence_async() {
  Thread& t = cluster().self();
  t.async_fence = t.now++;
}

void fence_release() {
  Thread& t = cluster().self();
  t.release_fence = t.now++;
}

void set_registers(int count, bool increase) {
  Cluster& c = cluster();
  c.meet(increase ? "registers_increase" : "registers_decrease", uint64_t(count), nullptr, [&](Warp& w) {
    for (const uint64_t other : w.in)
      if (other != uint64_t(count)) c.fail("the lanes of a warp ask for different numbers of registers");
  });
}

// ---- Exchange

uint32_t exchange(const char* atom, uint32_t value, int source) {
  Cluster& c = cluster();
  return uint32_t(c.meet(atom, uint64_t(uint32_t(source & 31)) << 32 | value, nullptr, [](Warp& w) {
    for (int lane = 0; lane < 32; ++lane) w.out[lane] = uint32_t(w.in[w.in[lane] >> 32]);
  }));
}

uint32_t ballot(bool predicate) {
  Cluster& c = cluster();
  return uint32_t(c.meet("a vote", predicate, nullptr, [](Warp& w) {
    uint64_t mask = 0;
    for (int lane = 0; lane < 32; ++lane) mask |= w.in[lane] << lane;
    for (uint64_t& out : w.out) out = mask;
  }));
}

// The chip elects the same lane each time but says not which: here it depends on seed and warp.
bool elect() {
  Cluster& c = cluster();
  const uint32_t chosen = (uint32_t(options().seed) * 7 + c.running() / 32 * 11) % 32;
  c.meet("elect_one", 0, nullptr, [](Warp&) {});
  return c.running() % 32 == chosen;
}

}  // namespace warpfold::hopper::emulator
