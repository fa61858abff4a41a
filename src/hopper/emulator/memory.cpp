// Accesses to shared and global memory, and their checks.
#include <algorithm>
#include <cstring>

#include "cluster.h"

namespace warpfold::hopper::emulator {

namespace {

Cluster& cluster() { return Cluster::current(); }

struct Place {
  uint32_t rank, address;
};
Place place(Cluster& c, uint32_t address, const char* atom) {
  const Place p{address >> 24, address & 0xFFFFFF};
  if (p.rank >= c.ranks())
    c.fail([=, &c] {
      return std::string(atom) + ": shared address " + std::to_string(p.address) + " of rank " + std::to_string(p.rank) +
             ", in a cluster of " + std::to_string(c.ranks());
    });
  return p;
}

}  // namespace

void Cluster::fail_place(uint32_t rank, uint32_t address, uint32_t bytes, uint32_t alignment,
                         const char* atom) const {
  if (address % alignment != 0)
    fail(std::string(atom) + ": shared address " + std::to_string(address) +
         " is misaligned; a multiple of " + std::to_string(alignment) + " is needed");
  fail(std::string(atom) + ": " + std::to_string(bytes) + " bytes at shared address " +
       std::to_string(address) + " of rank " + std::to_string(rank) +
       " are outside the block's shared memory, [" + std::to_string(shared_start) + ", " +
       std::to_string(shared_start + shared_bytes_) + ")");
}

void Cluster::fail_race(const char* kind, uint32_t rank, uint32_t address, const Epoch& self,
                        const Epoch& earlier) const {
  const auto conflict = blocks_[rank].shadow.conflict();
  if (conflict == Shadow::Conflict::with_mbarrier)
    fail(name_of(self) + " writes to shared address " + std::to_string(address) + " of rank " +
         std::to_string(rank) + ", where mbarrier " + mbarrier_over(rank, address).name + " lives");
  fail("race on shared memory: " + std::string(kind) + " of address " + std::to_string(address) +
       " of rank " + std::to_string(rank) + " by " + name_of(self) + " is not ordered after a " +
       (conflict == Shadow::Conflict::with_write ? "write" : "read") + " by " + name_of(earlier));
}

// The live mbarrier that shares a unit of 16 bytes with `address`.
const MBarrier& Cluster::mbarrier_over(uint32_t rank, uint32_t address) const {
  const Block& b = blocks_[rank];
  const int32_t first = b.mbarrier_at[address / 16 * 2], second = b.mbarrier_at[address / 16 * 2 + 1];
  const bool is_first = first >= 0 && b.mbarriers[size_t(first)].live && address % 16 < 8;
  return b.mbarriers[size_t(is_first || second < 0 ? first : second)];
}

void Cluster::check_read(uint32_t rank, uint32_t address, uint32_t bytes, const Access& a) {
  if (!check_races_) return;
  Shadow& shadow = blocks_[rank].shadow;
  for (uint32_t i = 0; i < bytes; i += 16) {
    const uint32_t part = std::min(bytes - i, 16u);
    if (const Epoch* e = shadow.read(address + i, part, a))
      fail_race("the read", rank, address + i, a.self, *e);
    if (a.published == nullptr) continue;
    shadow.writers(address + i, part, [&](const Epoch& w) {
      if (w.agent < count_ && w.agent != a.self.agent && w.time > (*a.published)[w.agent])
        fail(name_of(a.self) + " reads shared address " + std::to_string(address + i) + " of rank " +
             std::to_string(rank) + ", written by " + name_of(w) +
             ", but what orders them is relaxed: a relaxed arrival publishes no writes");
      return true;
    });
  }
}

// Has the thread that made an ordinary write executed fence_async_shared since, before what `by` knows of it?
// any: it has executed one at all.
bool Cluster::fence_follows(const Epoch& write, const Access& by, bool& any) const {
  // The first fence after the write; it is most often one of the thread's last.
  const auto& fences = threads_[write.agent].async_fences;
  auto from = fences.end() - std::min<ptrdiff_t>(4, fences.end() - fences.begin());
  if (from != fences.end() && *from >= write.time) from = fences.begin();
  const auto fence = std::lower_bound(from, fences.end(), write.time);
  any = fence != fences.end();
  return any && by.knows({write.agent, *fence});
}

// An asynchronous read also needs the writer's fence_async_shared between its ordinary write and the
// synchronisation.
void Cluster::check_parts_async_read(uint32_t rank, uint32_t address, const Access& a, Passed& passed) {
  Shadow& shadow = blocks_[rank].shadow;
  for (Shadow::Cell& cell : shadow.all(address)) {
    const Epoch w = cell.write;
    if (passed.has(w)) {
      cell.add_read(a.self);
      continue;
    }
    if (const Epoch* e = shadow.read(cell, a)) fail_race("the read", rank, address, a.self, *e);
    passed.add(w);
    if (w.time == 0 || w.agent >= count_) continue;
    if (bool any = false; !fence_follows(w, a, any))
      fail(name_of(a.self) + " reads shared address " + std::to_string(address) + ", written by " +
           name_of(w) + " with no fence_async_shared after the write" +
           (any ? " and before the synchronisation" : ""));
  }
}

void Cluster::check_constant(const void* p, bool reads, const char* what) const {
  const auto address = reinterpret_cast<uintptr_t>(p);
  const GlobalBuffer* buffer = global_.buffer_of(address, 1);
  if (reads && buffer != nullptr && buffer->constant) return;
  fail(std::string(what) + " at " + global_.name_of(address) + " by " + name_of_thread(running_) +
       " comes before its grid_dependency_wait(): the launch overlaps the one before, which may still run");
}

void Cluster::fail_bounds(uintptr_t address, uint64_t bytes, const char* what, uint32_t thread,
                          const GlobalBuffer* only) const {
  const GlobalBuffer& b = only != nullptr ? *only : *global_.nearest(address);
  fail(std::string(what) + " of " + std::to_string(bytes) + " bytes at byte " +
       std::to_string(int64_t(address - reinterpret_cast<uintptr_t>(b.data))) + " of " + b.name + " by " +
       name_of_thread(thread) + " reaches outside that buffer, which has " + std::to_string(b.bytes) +
       " bytes");
}

void Cluster::check_global_race(const void* p, uint64_t bytes, GlobalMemory::Use use, const char* what,
                                uint32_t thread) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (const int other = global_.access(index_, address, bytes, use); other >= 0)
    fail("race on global memory: " + std::string(what) + " of " + std::to_string(bytes) + " bytes at " +
         global_.name_of(address) + " by " + name_of_thread(thread) + " is not ordered after an access by " +
         (ranks() == 1 ? "block " + std::to_string(other)
                       : "blocks " + std::to_string(uint32_t(other) * ranks()) + " to " +
                             std::to_string((uint32_t(other) + 1) * ranks() - 1)));
}

// ---- Shared memory

void shared_read(uint32_t address, void* value, uint32_t bytes) {
  Cluster& c = cluster();
  c.maybe_yield("load_shared", address);
  const Place p = place(c, address, "load_shared");
  const uint8_t* memory = c.at(p.rank, p.address, bytes, bytes, "load_shared");
  if (c.block(p.rank).live_threads == 0)
    c.fail([=] { return "load_cluster: the block of rank " + std::to_string(p.rank) + " has exited"; });
  c.check_read(p.rank, p.address, bytes, c.access());
  std::memcpy(value, memory, bytes);
}

void shared_write(uint32_t address, const void* value, uint32_t bytes) {
  Cluster& c = cluster();
  c.maybe_yield("store_shared", address);
  const Place p = place(c, address, "store_shared");
  uint8_t* memory = c.at(p.rank, p.address, bytes, bytes, "store_shared");
  if (c.block(p.rank).live_threads == 0)
    c.fail([=] { return "store_cluster: the block of rank " + std::to_string(p.rank) + " has exited"; });
  c.check_write(p.rank, p.address, bytes, c.access());
  std::memcpy(memory, value, bytes);
  c.changed();
}

uint32_t map_shared(uint32_t address, int rank) {
  Cluster& c = cluster();
  if (rank < 0 || uint32_t(rank) >= c.ranks())
    c.fail("map_shared: rank " + std::to_string(rank) + " in a cluster of " + std::to_string(c.ranks()));
  return (address & 0xFFFFFF) | uint32_t(rank) << 24;
}

// Lane 8 i + r names row r of matrix i; register i of lane l holds elements 2 (l%4), +1 of row l/4, or of
// column l/4.
void load_matrices(uint32_t* registers, int matrices, bool transpose, uint32_t address) {
  Cluster& c = cluster();
  const uint32_t first = c.warp_first(), rank = c.own_rank();
  c.meet("ldmatrix", c.local(address, "ldmatrix"), registers, [&](Warp& w) {
    for (int i = 0; i < matrices; ++i) {
      uint16_t m[8][8];
      for (int r = 0; r < 8; ++r) {
        const auto row = uint32_t(w.in[8 * i + r]);
        std::memcpy(m[r], c.at(rank, row, 16, 16, "ldmatrix"), 16);
        c.check_read(rank, row, 16, c.access_of(first + uint32_t(8 * i + r)));
      }
      for (int lane = 0; lane < 32; ++lane) {
        const int row = lane / 4, x = lane % 4 * 2;
        const uint32_t low = transpose ? m[x][row] : m[row][x],
                       high = transpose ? m[x + 1][row] : m[row][x + 1];
        static_cast<uint32_t*>(w.data[lane])[i] = low | high << 16;
      }
    }
  });
}

void store_matrices(const uint32_t* registers, int matrices, bool transpose, uint32_t address) {
  Cluster& c = cluster();
  const uint32_t first = c.warp_first(), rank = c.own_rank();
  c.meet("stmatrix", c.local(address, "stmatrix"), const_cast<uint32_t*>(registers), [&](Warp& w) {
    for (int i = 0; i < matrices; ++i) {
      uint16_t m[8][8];
      for (int lane = 0; lane < 32; ++lane) {
        const uint32_t pair = static_cast<const uint32_t*>(w.data[lane])[i];
        const int row = lane / 4, x = lane % 4 * 2;
        (transpose ? m[x][row] : m[row][x]) = uint16_t(pair);
        (transpose ? m[x + 1][row] : m[row][x + 1]) = uint16_t(pair >> 16);
      }
      for (int r = 0; r < 8; ++r) {
        const auto row = uint32_t(w.in[8 * i + r]);
        uint8_t* memory = c.at(rank, row, 16, 16, "stmatrix");
        c.check_write(rank, row, 16, c.access_of(first + uint32_t(8 * i + r)));
        std::memcpy(memory, m[r], 16);
      }
    }
  });
}

// ---- Global memory

static void check_aligned(Cluster& c, const void* p, uint32_t bytes, const char* atom) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (address == 0) c.fail(std::string(atom) + ": null pointer");
  if (address % bytes != 0)
    c.fail(std::string(atom) + ": " + std::to_string(bytes) + " bytes at " + c.global().name_of(address) +
           " are misaligned: address modulo " + std::to_string(bytes) + " is " +
           std::to_string(address % bytes));
}

void global_read(const void* p, uint32_t bytes) {
  Cluster& c = cluster();
  c.maybe_yield("load_global", p);
  check_aligned(c, p, bytes, "load_global");
  c.check_previous(p, true, "the read");
  c.check_global(p, bytes, GlobalMemory::Use::read, "the read", c.running());
}
void global_write(const void* p, uint32_t bytes) {
  Cluster& c = cluster();
  c.maybe_yield("store_global", p);
  check_aligned(c, p, bytes, "store_global");
  c.check_previous(p, false, "the write");
  c.check_global(p, bytes, GlobalMemory::Use::write, "the write", c.running());
  c.changed();
}
void global_atomic(const void* p) {
  Cluster& c = cluster();
  c.maybe_yield("atomic_add", p);
  check_aligned(c, p, 4, "atomic_add");
  c.check_previous(p, false, "the atomic");
  c.check_global(p, 4, GlobalMemory::Use::atomic, "the atomic", c.running());
  c.global().relaxed(c.index(), reinterpret_cast<uintptr_t>(p));
  c.changed();
}
void global_release(const void* p) {
  Cluster& c = cluster();
  c.maybe_yield("a release", p);
  check_aligned(c, p, 4, "a release");
  c.check_previous(p, false, "the release");
  c.check_bounds(p, 4, "the release", c.running());
  c.global().release(c.index(), reinterpret_cast<uintptr_t>(p));
  c.changed();
}
void global_acquire(const void* p) {
  Cluster& c = cluster();
  check_aligned(c, p, 4, "load_acquire");
  c.check_previous(p, true, "load_acquire");
  c.check_bounds(p, 4, "load_acquire", c.running());
  // Such a load is often repeated until another block has stored.
  c.ask_in_vain({Waiting::For::flag, 0, 0, static_cast<const int*>(p)},
                {"load_acquire", reinterpret_cast<uintptr_t>(p), false});
  c.global().acquire(c.index(), reinterpret_cast<uintptr_t>(p));
}

}  // namespace warpfold::hopper::emulator
