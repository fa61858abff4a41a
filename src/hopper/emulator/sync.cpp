// mbarriers, named and cluster barriers, fences, warp-wide exchange.
#include <algorithm>
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
  if (!from_afar || (m.fenced.time != 0 && access().knows(m.fenced))) return m;
  // To the copy engine of its own block a fence of the proxy publishes it as well.
  const bool own = rank == rank_of(running_);
  if (bool any; own && fence_follows(m.initialised, access(), any)) return m;
  fail(std::string(atom) + ": mbarrier " + m.name + " is used by " +
       (own ? "the copy engine" : "another block") +
       " but its initialisation was not published by fence_mbarrier_init" +
       (own ? " (or fence_async_shared)" : "") + ", followed by a barrier");
}

void Cluster::complete_if_due(MBarrier& b) {
  if (b.pending != 0 || b.bytes != 0) return;
  ++b.phase;
  progressed();
  b.pending = b.count;
  b.completed = b.arriving.freeze();
  wake(b.waiters);
}

void Cluster::arrive(MBarrier& b, Order order) {
  if (b.pending == 0)
    fail("mbarrier " + b.name + " gets more arrivals in phase " + std::to_string(b.phase) + " than the " +
         std::to_string(b.count) + " it was initialised for");
  add_to(b.arriving, running_, order);
  ++self().now;
  --b.pending;
  changed();
  complete_if_due(b);
}

// A copy orders after it what its issuer knew, but publishes only what it has written itself.
void Cluster::mbarrier_bytes(uint32_t rank, uint32_t address, uint32_t bytes, const SharedClock& base,
                             Epoch copy, Epoch issuer) {
  Block& block = blocks_[rank];
  const int32_t index = block.mbarrier_at[address / 8];
  if (index < 0 || !block.mbarriers[size_t(index)].live)
    fail("a copy completes on shared address " + std::to_string(address) + " of rank " +
         std::to_string(rank) + ", where no mbarrier is initialised");
  MBarrier& b = block.mbarriers[size_t(index)];
  b.bytes -= bytes;
  if (b.bytes <= -(1 << 20))
    fail("mbarrier " + b.name + ": more than 2^20 bytes have arrived that no expect_tx announced");
  b.arriving.ordered.add(base);
  b.arriving.ordered.add(issuer);
  b.arriving.add(copy);
  complete_if_due(b);
}

void mbarrier_init(uint32_t address, uint32_t arrivals, const char* name, int index) {
  Cluster& c = cluster();
  c.maybe_yield("mbarrier_init", address);
  address = c.local(address, "mbarrier_init");
  const uint32_t rank = c.own_rank();
  if (address % 8 != 0) c.fail("mbarrier_init: address " + std::to_string(address) + " is no multiple of 8");
  c.check_range(rank, address, 8, "mbarrier_init");
  if (arrivals < 1 || arrivals >= 1u << 20)
    c.fail("mbarrier_init: " + std::to_string(arrivals) + " arrivals; 1 to 2^20 - 1 are possible");
  Block& b = c.own_block();
  int32_t& slot = b.mbarrier_at[address / 8];
  if (slot >= 0 && b.mbarriers[size_t(slot)].live)
    c.fail("mbarrier_init: mbarrier " + b.mbarriers[size_t(slot)].name + " at shared address " +
           std::to_string(address) + " is initialised twice");
  c.check_write(rank, address, 8, c.access());
  b.shadow.guard(address, true);
  slot = int32_t(b.mbarriers.size());
  MBarrier& m = b.mbarriers.emplace_back();
  m.live = true;
  m.name = std::string(name) + "[" + std::to_string(index) + "]";
  m.count = m.pending = arrivals;
  m.initialised = c.epoch();
  m.arriving.reset(c.agents(), c.ranks() > 1);
  m.completed = {c.self().base, c.self().published};
}

void mbarrier_invalidate(uint32_t address) {
  Cluster& c = cluster();
  address = c.local(address, "mbarrier_invalidate");
  c.mbarrier(c.own_rank(), address, "mbarrier_invalidate", false).live = false;
  c.own_block().shadow.guard(address, false);
}

void mbarrier_arrive(uint32_t address, uint32_t expect_bytes) {
  Cluster& c = cluster();
  c.maybe_yield("mbarrier_arrive", address);
  address = c.local(address, "mbarrier_arrive");
  MBarrier& b = c.mbarrier(c.own_rank(), address, "mbarrier_arrive", false);
  b.bytes += expect_bytes;
  if (b.bytes >= 1 << 20) c.fail("mbarrier " + b.name + " expects 2^20 bytes or more");
  c.arrive(b);
}

void mbarrier_expect(uint32_t address, uint32_t bytes) {
  Cluster& c = cluster();
  c.maybe_yield("mbarrier_expect_tx", address);
  address = c.local(address, "mbarrier_expect_tx");
  MBarrier& b = c.mbarrier(c.own_rank(), address, "mbarrier_expect_tx", false);
  b.bytes += bytes;
  if (b.bytes >= 1 << 20) c.fail("mbarrier " + b.name + " expects 2^20 bytes or more");
}

void mbarrier_arrive_remote(uint32_t address, int rank, Order order) {
  Cluster& c = cluster();
  c.maybe_yield("mbarrier_arrive_remote", address);
  address = c.local(address, "mbarrier_arrive_remote");
  if (rank < 0 || uint32_t(rank) >= c.ranks())
    c.fail("mbarrier_arrive_remote: rank " + std::to_string(rank) + " in a cluster of " +
           std::to_string(c.ranks()) + (c.ranks() == 1 ? " block" : " blocks"));
  const bool own = uint32_t(rank) == c.own_rank();
  if (!own && c.block(uint32_t(rank)).live_threads == 0)
    c.fail("mbarrier_arrive_remote: " + c.name_of_thread(c.running()) + " arrives at a barrier of rank " +
           std::to_string(rank) + ", whose block has exited");
  MBarrier& b = c.mbarrier(uint32_t(rank), address, "mbarrier_arrive_remote", !own);
  c.arrive(b, order);
}

// Waiting on parity p means waiting until the phase of parity p has ended: a fresh barrier lets parity 1
// pass.
bool mbarrier_test(uint32_t address, uint32_t parity) {
  Cluster& c = cluster();
  address = c.local(address, "mbarrier_try_wait");
  if (parity > 1) c.fail("mbarrier_try_wait: parity " + std::to_string(parity) + " is neither 0 nor 1");
  MBarrier& b = c.mbarrier(c.own_rank(), address, "mbarrier_try_wait", false);
  if ((b.phase & 1) == parity) {
    c.ask_in_vain({Waiting::For::try_wait, address, parity}, {"mbarrier_try_wait", address, true});
    return false;
  }
  c.maybe_yield("mbarrier_try_wait", address);
  c.learn(b.completed);
  return true;
}

void mbarrier_wait(uint32_t address, uint32_t parity) {
  Cluster& c = cluster();
  c.maybe_yield("mbarrier_wait", address);
  address = c.local(address, "mbarrier_wait");
  if (parity > 1)
    c.fail([=] { return "mbarrier_wait: parity " + std::to_string(parity) + " is neither 0 nor 1"; });
  MBarrier& b = c.mbarrier(c.own_rank(), address, "mbarrier_wait", false);
  c.wait(b.waiters, {Waiting::For::mbarrier, address, parity}, [&] { return (b.phase & 1) != parity; });
  c.learn(b.completed);
}

// ---- Barriers of warps

namespace {

// The running lane, the last of its warp, arrives at `b` for all of them.
[[gnu::noinline]] void arrive_for_warp(Cluster& c, WarpBarrier& b, Warp& w, const char* atom, Waiting why,
                                       bool wait, uint32_t threads, bool of_all, Order order) {
  const uint32_t warp = c.running() / 32;
  for (uint32_t i = 0; i < 32; ++i) {
    if (w.in[i] != why.id)
      c.fail("the lanes of a warp name different barriers at " + std::string(atom) + ": " +
             std::to_string(w.in[i]) + " and " + std::to_string(why.id));
    c.add_to(b.arriving, warp * 32 + i, order);
    ++c.thread(warp * 32 + i).now;
    w.out[i] = b.generation;
  }
  if (b.arrived == 0) {
    b.expected = threads;
    b.of_all = of_all;
  }
  if (b.expected != threads)
    c.fail("named barrier " + std::to_string(why.id) + " is used with " + std::to_string(b.expected) +
           " and with " + std::to_string(threads) + " threads at once");
  b.arrived += 32;
  c.changed();
  if (wait) {
    w.waits_for = why;
    b.warps.push_back(warp);
  } else {
    c.leave_warp(warp);
  }
  c.complete_if_due(b);
}

// The running lane's warp arrives as a whole at `b`, and waits there or goes on. Returns the phase it arrived
// in.
uint64_t arrive_as_warp(Cluster& c, WarpBarrier& b, const char* atom, Waiting why, bool wait,
                        uint32_t threads, bool of_all, Order order = Order::release) {
  c.maybe_yield(atom);
  Warp& w = c.enter_warp(atom, why.id, nullptr);
  if (w.arrived == 32) arrive_for_warp(c, b, w, atom, why, wait, threads, of_all, order);
  c.wait_for_warp();
  return w.out[c.running() % 32];
}

}  // namespace

void Cluster::complete_if_due(WarpBarrier& b) {
  if (b.arrived + (b.of_all ? b.ended : 0) < b.expected) return;
  b.arrived = 0;
  ++b.generation;
  b.completed = b.arriving.freeze();
  if (&b == &cluster_barrier_) b.ended = count_ - live_;
  for (const uint32_t waiting : b.warps) leave_barrier(waiting, b);
  b.warps.clear();
}

// Nobody waits any more for the running thread.
void Cluster::leave_barriers() {
  WarpBarrier& block = own_block().named[0];
  ++block.ended;
  if (block.arrived > 0) complete_if_due(block);
  cluster_barrier_.ended += self().cluster_phase != cluster_barrier_.generation;
  if (cluster_barrier_.arrived > 0) complete_if_due(cluster_barrier_);
}

void Cluster::leave_barrier(uint32_t warp, const WarpBarrier& b) {
  for (uint32_t lane = 0; lane < 32; ++lane) learn(threads_[warp * 32 + lane], b.completed);
  leave_warp(warp);
}

void named_barrier(int id, int threads, bool wait) {
  Cluster& c = cluster();
  const char* atom = wait ? "named_sync" : "named_arrive";
  if (id < 0 || id > 15)
    c.fail([=] { return std::string(atom) + ": barrier " + std::to_string(id) + " is not in [0, 15]"; });
  if (threads < 32 || threads % 32 != 0 || uint32_t(threads) > c.threads_per_block())
    c.fail([=] {
      return std::string(atom) + ": " + std::to_string(threads) +
             " threads; whole warps of the block take part";
    });
  arrive_as_warp(c, c.own_block().named[id], atom, {Waiting::For::barrier, uint32_t(id), 0}, wait,
                 uint32_t(threads), false);
}

void block_barrier() {
  Cluster& c = cluster();
  arrive_as_warp(c, c.own_block().named[0], "block_sync", {Waiting::For::barrier, 0, 0}, true,
                 c.threads_per_block(), true);
}

void cluster_arrive(Order order) {
  Cluster& c = cluster();
  c.self().cluster_phase =
      arrive_as_warp(c, c.cluster_barrier(), "cluster_arrive", {Waiting::For::cluster_barrier, 0, 0}, false,
                     c.ranks() * c.threads_per_block(), true, order);
}

void cluster_wait() {
  Cluster& c = cluster();
  c.maybe_yield("cluster_wait");
  WarpBarrier& b = c.cluster_barrier();
  Warp& w = c.enter_warp("cluster_wait", 0, nullptr);
  const uint32_t warp = c.running() / 32;
  if (w.arrived == 32) {
    if (b.generation > c.self().cluster_phase) {
      c.leave_barrier(warp, b);
    } else {
      w.waits_for = {Waiting::For::cluster_barrier, 0, 0};
      b.warps.push_back(warp);
    }
  }
  c.wait_for_warp();
}

void warp_barrier() {
  Cluster& c = cluster();
  const uint32_t first = c.warp_first();
  Gathered all;
  c.meet("warp_sync", 0, nullptr, [&](Warp&) {
    all.reset(c.agents(), c.ranks() > 1);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      c.add_to(all, first + lane);
      ++c.thread(first + lane).now;
    }
    const Knowledge known = all.freeze();
    for (uint32_t lane = 0; lane < 32; ++lane) {
      c.thread(first + lane).base = known.ordered;
      if (c.ranks() > 1) c.thread(first + lane).published = known.published;
    }
  });
}

// ---- Fences and registers

void fence_mbarrier_init() {
  Cluster& c = cluster();
  c.maybe_yield("fence_mbarrier_init");
  for (MBarrier& b : c.own_block().mbarriers)
    if (b.initialised.agent == c.running() && b.fenced.time == 0) b.fenced = c.epoch();
  ++c.self().now;
}

void fence_async() {
  Thread& t = cluster().self();
  t.async_fences.push_back(t.now++);
}

void fence_cluster() {
  Thread& t = cluster().self();
  t.fence_published = t.published;
  t.fence_time = t.now++;
}

void grid_dependency_wait() { cluster().grid_dependency_wait(); }

void fence_device() {
  Cluster& c = cluster();
  fence_cluster();
  c.global().fence(c.index());
}

// Registers of a lane come from a pool of the block, which registers_decrease fills; registers_increase waits
// for it.
void set_registers(int count, bool increase) {
  Cluster& c = cluster();
  Block& block = c.own_block();
  Warp& warp = c.own_warp();
  c.meet(increase ? "registers_increase" : "registers_decrease", uint64_t(count), nullptr, [&](Warp& w) {
    for (const uint64_t other : w.in)
      if (other != uint64_t(count)) c.fail("the lanes of a warp ask for different numbers of registers");
    const bool launched = w.register_changes++ == 0;
    if (increase && launched) return c.first_increase(count);
    if (increase ? count < w.registers : count > w.registers)
      c.fail(std::string(w.atom) + "<" + std::to_string(count) + ">: " + c.name_of_warp(c.running()) +
             " has " + (increase ? "already " : "only ") + std::to_string(w.registers) + " registers a lane");
    if (increase) return;
    block.free_registers += (w.registers - count) * 32;
    w.registers = count;
    c.progressed();
    c.wake(block.register_waiters);
  });
  if (!increase) return;
  c.wait(block.register_waiters, {Waiting::For::registers, uint32_t(count), 0}, [&] {
    const int more = std::max(0, count - warp.registers) * 32;
    if (more > block.free_registers) return false;
    block.free_registers -= more;
    warp.registers = std::max(warp.registers, count);
    return true;
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
