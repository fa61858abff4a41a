// The scheduler: threads and engines of a cluster take turns at random; clusters of a launch do, too.
#include "cluster.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace warpfold::hopper::emulator {

thread_local const Identity* identity = nullptr;

namespace {

constexpr uint32_t copy_agents = 32;  // asynchronous copies take these names in turn

}  // namespace

Options& options() {
  static thread_local Options o;
  return o;
}

Cluster::Cluster(const Launch& launch, uint32_t index, uint64_t seed, GlobalMemory& global,
                 Progress& progress, const std::function<void()>& kernel)
    : index_(index),
      threads_per_block_(uint32_t(launch.threads)),
      shared_bytes_(uint32_t(launch.shared_bytes)),
      has_warpgroups_(launch.threads % 128 == 0 || launch.cluster == 1),
      check_races_(options().check_races),
      overlaps_previous_(launch.overlap_previous),
      seed_(seed),
      random_(seed * 1000003 + index),
      global_(global),
      progress_(progress),
      kernel_(kernel),
      blocks_(size_t(launch.cluster)),
      count_(threads_per_block_ * uint32_t(launch.cluster)),
      threads_(new Thread[count_]) {
  agents_ = count_ + (count_ + 127) / 128 + copy_agents;
  const auto nothing = share<const FrozenClock>(Clock(agents_, 0));
  for (Block& b : blocks_) {
    b.storage.reset(new uint8_t[shared_bytes_ + 1024]);
    const auto raw = reinterpret_cast<uintptr_t>(b.storage.get());
    b.shared = b.storage.get() + (1024 - raw % 1024) % 1024;
    std::memset(b.shared, 0xFF, shared_bytes_);  // NaNs, so that reading what nobody wrote shows
    b.shadow.reset(shared_bytes_ + shared_start);
    b.mbarrier_at.assign((shared_bytes_ + shared_start) / 8 + 1, -1);
    b.live_threads = threads_per_block_;
    for (WarpBarrier& n : b.named) n.arriving.reset(agents_, ranks() > 1);
  }
  cluster_barrier_.arriving.reset(agents_, ranks() > 1);
  cluster_barrier_.expected = count_;
  cluster_barrier_.of_all = true;
  warps_.resize(count_ / 32);
  for (Warp& w : warps_) w.registers = registers_of_launch();
  warpgroups_.resize((count_ + 127) / 128);
  for (uint32_t t = 0; t < count_; ++t) {
    Thread& thread = threads_[t];
    const auto rank = int(t / threads_per_block_);
    thread.identity = {int(t % threads_per_block_), int(index) * launch.cluster + rank, launch.blocks, rank,
                       launch.cluster};
    thread.base = thread.published = nothing;
    thread.fiber.start(&Cluster::thread_main, this);
    wake(t / 32, 1u << t % 32);
  }
  live_ = count_;
}

std::string Cluster::located(const std::string& what) const {
  return "emulator, cluster " + std::to_string(index_) + ", seed " + std::to_string(seed_) + ": " + what;
}
void Cluster::fail(const std::string& what) const { throw Failure(located(what)); }

Fiber& Cluster::thread_main(void* argument) {
  Cluster& c = *static_cast<Cluster*>(argument);
  try {
    c.kernel_();
    c.thread_exits();
  } catch (const Failure& e) {
    c.fiber_failure_ = e.what();
  } catch (const std::exception& e) {
    c.fiber_failure_ = c.located(c.name_of_thread(c.running_) + " threw an exception: " + e.what());
  } catch (...) {
    c.fiber_failure_ = c.located(c.name_of_thread(c.running_) + " threw an exception");
  }
  if (!c.fiber_failure_.empty()) c.turn_ = 0;
  c.progressed();
  c.self().finished = true;
  c.own_warp().runnable &= ~(1u << c.running_ % 32);
  --c.own_block().live_threads;
  --c.live_;
  c.leave_barriers();
  return c.next_fiber();
}

OverflowGuard Cluster::guard_stacks() {
  current_ = nullptr;  // of an earlier launch
  return OverflowGuard(
      [](const void* p) { return current_ != nullptr && current_->threads_[current_->running_].fiber.below(p); },
      &Cluster::stack_overflown);
}

// Runs in place of the thread, which is left as it is.
void Cluster::stack_overflown() {
  Cluster& c = *current_;
  c.fiber_failure_ = c.located(c.name_of_thread(c.running_) + " has overflown its stack of " +
                               std::to_string(StackPool::bytes >> 10) + " KiB: arrays or recursion too large");
  c.turn_ = 0;
  c.suspend();
}

void Cluster::thread_exits() {
  Thread& t = self();
  if (!t.in_flight.empty()) fail(name_of_thread(running_) + " exits without waiting for its WGMMAs");
  // A copy that a barrier has been told of is waited for by others.
  if (!t.copies_in_flight.empty() && t.copies_in_flight.back() > t.copies_arrived)
    fail(name_of_thread(running_) + " exits without waiting for its cp.async copies");
  const auto unread = [](const BulkGroup& g) { return !g.read_waited && (g.reading > 0 || !g.done.empty()); };
  bool left = t.open_bulk && unread(*t.open_bulk);
  for (const auto& g : t.bulk_groups) left = left || unread(*g);
  if (left)
    fail(name_of_thread(running_) +
         " exits without waiting (bulk_wait_read) until its TMA stores have read shared memory");
}

// A warp's turn: its runnable lanes run one after another, each until it blocks or yields. They begin with
// any of them, and in one turn of four some are left out, so that they drift apart.
void Cluster::run_warp(uint32_t position) {
  Warp& w = warps_[ready_[position]];
  uint32_t lanes = w.runnable;
  if (random_.below(4) == 0) {
    const uint32_t some = lanes & random_.next();
    if (some != 0) lanes = some;
  }
  turn_first_ = random_.below(32);
  turn_ = std::rotr(lanes, int(turn_first_));
  running_ = ready_[position] * 32;
  scheduler_.switch_to(next_fiber());
  if (!fiber_failure_.empty()) throw Failure(fiber_failure_);
  if (w.runnable != 0) return;
  w.listed = false;
  ready_[position] = ready_.back();
  ready_.pop_back();
}

Fiber& Cluster::next_fiber() {
  if (turn_ == 0) return scheduler_;
  const auto lane = [&] { return (turn_first_ + uint32_t(std::countr_zero(turn_))) % 32; };
  running_ = running_ / 32 * 32 + lane();
  turn_ &= turn_ - 1;
  if (turn_ != 0) threads_[running_ / 32 * 32 + lane()].fiber.prefetch();
  identity = &self().identity;
  return self().fiber;
}

void Cluster::suspend() {
  Fiber& mine = self().fiber;
  mine.switch_to(next_fiber());
}

bool Cluster::step() {
  current_ = this;
  if (steps_++ % 1024 == 0) redraw_speeds();
  const uint32_t engines = engines_ready();
  if (engines == 0 && ready_.empty()) return false;
  if (engines == 0 || (!ready_.empty() && random_.below(1024) < engine_drag_)) {
    auto pick = random_.below(uint32_t(ready_.size()));
    for (int tries = 0; tries < 16 && random_.below(1024) < warp_drag_[ready_[pick]]; ++tries)
      pick = random_.below(uint32_t(ready_.size()));
    run_warp(pick);
  } else {
    step_engine(random_.below(engines));
  }
  return true;
}

// Copies in flight, and warpgroups whose oldest product all threads have issued.
uint32_t Cluster::engines_ready() const {
  auto ready = uint32_t(copies_.size());
  for (const Warpgroup& w : warpgroups_) ready += !w.queue.empty() && w.queue.front().threads == 128;
  return ready;
}

void Cluster::step_engine(uint32_t pick) {
  progressed();
  if (pick < copies_.size()) {
    if (copies_[pick]->step(*this)) {
      copies_[pick] = std::move(copies_.back());
      copies_.pop_back();
    }
    return;
  }
  pick -= uint32_t(copies_.size());
  for (uint32_t i = 0; i < warpgroups_.size(); ++i) {
    const Warpgroup& w = warpgroups_[i];
    if (!w.queue.empty() && w.queue.front().threads == 128 && pick-- == 0) {
      execute_product(i);
      break;
    }
  }
}

void Cluster::redraw_speeds() {
  static constexpr uint32_t drags[] = {0, 0, 900, 1020}, engine_drags[] = {64, 256, 768, 1000};
  warp_drag_.resize(warps_.size());
  for (uint32_t& d : warp_drag_) d = drags[random_.below(4)];
  engine_drag_ = engine_drags[random_.below(4)];
}

// The launch seems stuck: notes what the thread, which runs on, goes through.
void Cluster::watch(const Visit& at) {
  until_yield_ = 1;
  ++progress_.watched;
  auto& round = self().round;
  if (round.size() < 6 && std::find(round.begin(), round.end(), at) == round.end()) round.push_back(at);
}

Warp& Cluster::enter_warp(const char* atom, uint64_t in, void* data) {
  Warp& w = warps_[running_ / 32];
  if (w.arrived != 0 && w.atom != atom && std::strcmp(w.atom, atom) != 0)
    fail("the lanes of " + name_of_warp(running_) + " diverge: some are at " + w.atom + ", some at " + atom);
  w.atom = atom;
  const uint32_t lane = running_ % 32;
  w.in[lane] = in;
  w.data[lane] = data;
  ++w.arrived;
  return w;
}

Epoch Cluster::next_copy_epoch(const char* atom) {
  const uint64_t n = issued_copies_.size();
  issued_copies_.push_back({atom, running_});
  const auto first = uint32_t(agents_ - copy_agents);
  return {first + uint32_t(n % copy_agents), Time(n / copy_agents + 1)};
}

std::string Cluster::name_of_warp(uint32_t thread) const {
  return "block " + std::to_string(threads_[thread].identity.block) + " warp " +
         std::to_string(thread % threads_per_block_ / 32);
}
std::string Cluster::name_of_thread(uint32_t thread) const {
  return name_of_warp(thread) + " lane " + std::to_string(thread % 32);
}

void Cluster::learn(const std::vector<Epoch>& epochs) {
  const auto with = [&](const SharedClock& clock) {
    Clock known = *clock;
    for (const Epoch& e : epochs) known[e.agent] = std::max(known[e.agent], e.time);
    return share<const FrozenClock>(std::move(known));
  };
  self().base = with(self().base);
  if (ranks() > 1) self().published = with(self().published);
}

std::string Cluster::name_of(const Epoch& e) const {
  const uint32_t agent = e.agent;
  if (agent < count_) return name_of_thread(agent);
  if (agent < agents_ - copy_agents) {
    const uint32_t warpgroup = agent - count_;
    return "a WGMMA of block " + std::to_string(threads_[warpgroup * 128].identity.block) + " warpgroup " +
           std::to_string(warpgroup * 128 % threads_per_block_ / 128);
  }
  const Issued& copy = issued_copies_[size_t(e.time - 1) * copy_agents + agent - (agents_ - copy_agents)];
  return "a " + std::string(copy.atom) + " of " + name_of_thread(copy.thread);
}

void Cluster::check_finished() {
  for (uint32_t t = 0; has_warpgroups_ && t < count_; t += 32) {
    const Warp &first = warps_[t / 128 * 4], &w = warps_[t / 32];
    if (w.register_changes != first.register_changes)
      fail(name_of_warp(t) + " has executed " + std::to_string(w.register_changes) +
           " registers_increase or registers_decrease, " + name_of_warp(t / 128 * 128) + " " +
           std::to_string(first.register_changes) + ": all four warps of a warpgroup have to");
  }
  const int launched_with = std::min(registers_of_launch(), most_increase_);
  if (least_increase_ < launched_with)
    fail("registers_increase<" + std::to_string(least_increase_) + ">: " + name_of_warp(least_increaser_) +
         " has " + std::to_string(launched_with) +
         " registers a lane from the launch; an increase to fewer is undefined");
  for (uint32_t rank = 0; rank < blocks_.size(); ++rank)
    for (const MBarrier& b : blocks_[rank].mbarriers)
      if (b.live && b.bytes != 0)
        fail("at the end mbarrier " + b.name + " of rank " + std::to_string(rank) + " still expects " +
             std::to_string(b.bytes) + " bytes");
}

Status run(const Launch& launch, const std::function<void()>& kernel) {
  const auto refuse = [](std::string text) {
    return warpfold::fail(ErrorCode::kInvalidArgument, "launch: " + text);
  };
  if (launch.blocks < 1) return refuse(std::to_string(launch.blocks) + " blocks; at least 1 is needed");
  if (launch.threads < 32 || launch.threads > 1024 || launch.threads % 32 != 0)
    return refuse(std::to_string(launch.threads) + " threads; a block has whole warps, at most 1024 threads");
  if (launch.cluster < 1 || launch.cluster > 8)
    return refuse("clusters of " + std::to_string(launch.cluster) + " blocks; 1 to 8 are portable");
  if (launch.blocks % launch.cluster != 0)
    return refuse(std::to_string(launch.blocks) + " blocks are no multiple of the cluster of " +
                  std::to_string(launch.cluster));
  if (launch.shared_bytes < 0 || launch.shared_bytes > layout::hardware::max_shared_bytes)
    return refuse(std::to_string(launch.shared_bytes) + " bytes of shared memory; a block has at most " +
                  std::to_string(layout::hardware::max_shared_bytes));
  const Options& o = options();
  if (o.resident_clusters < 1)
    return refuse("options().resident_clusters is " + std::to_string(o.resident_clusters) +
                  "; at least one cluster has to run");
  try {
    const auto clusters = uint32_t(launch.blocks / launch.cluster);
    const uint64_t seed = o.seed;
    const OverflowGuard guard = Cluster::guard_stacks();
    GlobalMemory global(clusters, launch.buffers);
    Progress progress{o.patience};
    Random random(seed);
    std::vector<std::unique_ptr<Cluster>> resident;
    uint32_t next = 0;
    const auto admit = [&] {
      resident.push_back(std::make_unique<Cluster>(launch, next++, seed, global, progress, kernel));
    };
    while (next < clusters && next < uint32_t(o.resident_clusters)) admit();
    const auto deadlock = [&](std::string text) {
      for (const auto& r : resident) text += r->describe_waiters();
      if (next < clusters)
        text += "\n  " + std::to_string(clusters - next) + " of " + std::to_string(clusters) +
                " clusters have not begun: options().resident_clusters lets " +
                std::to_string(o.resident_clusters) + " run at once, and a grid may not wait for more";
      resident[0]->fail(text);
    };
    std::vector<bool> stuck(resident.size());
    size_t stuck_count = 0;
    while (!resident.empty()) {
      const uint32_t i = random.below(uint32_t(resident.size()));
      if (stuck[i]) continue;
      Cluster& c = *resident[i];
      bool moved = false;
      if (progress.watched > Progress::watch)
        deadlock("deadlock: threads run on, but nothing has changed for " + std::to_string(o.patience) +
                 (progress.questions > o.patience ? " questions" : " turns"));
      for (int slice = 0; slice < 16 && !c.finished(); ++slice) {
        if (!c.step()) break;
        moved = true;
      }
      if (c.finished()) {
        c.check_finished();
        resident.erase(resident.begin() + i);
        if (next < clusters) admit();
        moved = true;
      }
      if (moved) {
        stuck.assign(resident.size(), false);
        stuck_count = 0;
      } else {
        stuck[i] = true;
        if (++stuck_count == resident.size()) deadlock("deadlock");
      }
    }
    if (launch.overlap_previous && !progress.previous_awaited)
      return refuse("no thread called grid_dependency_wait(): the launch may end before the one before it, and what "
                    "follows waits for this one alone");
    return {};
  } catch (const std::exception& e) {  // a Failure, or no memory
    return warpfold::fail(ErrorCode::kInvalidArgument, e.what());
  }
}

}  // namespace warpfold::hopper::emulator
