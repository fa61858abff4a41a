// The race detector's memory of shared memory: who wrote and read each 16-byte unit last. Tiles are moved in
// whole units, so a unit has one cell; where smaller accesses touch it, it has cells of 8, 4 or 1 bytes,
// until it is next written whole. Bytes of a live mbarrier are guarded: nobody may write them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "clock.h"

namespace warpfold::hopper::emulator {

class Shadow {
 public:
  enum class Conflict : uint8_t { with_write, with_read, with_mbarrier };

  void reset(uint32_t bytes) {
    units_.assign(bytes / 16 + 1, Unit{});
    for (Pool& p : pools_) p = {};
  }
  // What the access that was returned last is.
  Conflict conflict() const { return conflict_; }

  // Both return the earlier conflicting access that `a` does not know of, or null. The bytes, 1, 2, 4, 8 or
  // 16, are aligned to their number.
  const Epoch* write(uint32_t address, uint32_t bytes, const Access& a) {
    Unit& u = units_[address / 16];
    if (bytes == 16 && u.step == 16) return u.cell.write_by(a, conflict_);
    return write_parts(u, address % 16, bytes, a);
  }
  const Epoch* read(uint32_t address, uint32_t bytes, const Access& a) {
    Unit& u = units_[address / 16];
    if (bytes == 16 && u.step == 16) return u.cell.read_by(a, conflict_);
    return read_parts(u, address % 16, bytes, a);
  }
  // f(epoch of the last write) for each part of the unit that the bytes touch, until it returns false.
  template <class F>
  void writers(uint32_t address, uint32_t bytes, F f) {
    Unit& u = units_[address / 16];
    const Cell* c = cells(u);
    for (uint32_t i = address % 16 / u.step, end = last(u, address % 16, bytes); i <= end; ++i)
      if (!f(c[i].write)) return;
  }
  // Where `from` has written last, `to` has.
  void hand_over(uint32_t address, uint32_t bytes, Epoch from, Epoch to) {
    Unit& u = units_[address / 16];
    Cell* c = cells(u);
    for (uint32_t i = address % 16 / u.step, end = last(u, address % 16, bytes); i <= end; ++i)
      if (c[i].write == from) c[i].write = to;
  }
  void guard(uint32_t address, bool on) {
    Unit& u = units_[address / 16];
    refine(u, 8);
    const auto mask = uint8_t(1 << address % 16 / 8);
    u.guarded = uint8_t(on ? u.guarded | mask : u.guarded & ~mask);
  }

 private:
  struct Cell {
    Epoch write;
    std::array<Epoch, 3> reads;  // a fourth reader evicts one: a race may be missed, never invented

    const Epoch* write_by(const Access& a, Conflict& conflict) {
      if (!a.knows(write)) {
        conflict = Conflict::with_write;
        return &write;
      }
      for (const Epoch& r : reads)
        if (r.time != 0 && !a.knows(r)) {
          conflict = Conflict::with_read;
          return &r;
        }
      write = a.self;
      reads.fill(Epoch{});
      return nullptr;
    }
    const Epoch* read_by(const Access& a, Conflict& conflict) {
      if (!a.knows(write)) {
        conflict = Conflict::with_write;
        return &write;
      }
      size_t slot = 0;
      while (slot < 3 && reads[slot].time != 0 && reads[slot].agent != a.self.agent) ++slot;
      if (slot == 3) slot = a.self.agent % 3;
      reads[slot] = a.self;
      return nullptr;
    }
  };
  struct Unit {
    Cell cell;
    uint32_t parts = 0;   // where the pool of `step` has its cells, if that is not 16
    uint8_t step = 16;    // bytes of a cell: 16, 8, 4 or 1
    uint8_t guarded = 0;  // mask of halves
  };
  struct Pool {
    std::vector<Cell> cells;
    std::vector<uint32_t> free;
  };

  Pool& pool(uint32_t step) { return pools_[step / 4]; }  // steps 1, 4, 8
  Cell* cells(Unit& u) { return u.step == 16 ? &u.cell : &pool(u.step).cells[u.parts]; }
  static uint32_t last(const Unit& u, uint32_t first, uint32_t bytes) { return (first + bytes - 1) / u.step; }

  void refine(Unit& u, uint32_t bytes) {
    const uint32_t step = bytes >= 4 ? bytes : 1;
    if (u.step <= step) return;
    Pool& p = pool(step);
    if (p.free.empty()) {
      p.free.push_back(uint32_t(p.cells.size()));
      p.cells.resize(p.cells.size() + 16 / step);
    }
    const uint32_t parts = p.free.back();
    p.free.pop_back();
    const Cell* from = cells(u);
    for (uint32_t i = 0; i < 16; i += step) p.cells[parts + i / step] = from[i / u.step];
    if (u.step != 16) pool(u.step).free.push_back(u.parts);
    u.step = uint8_t(step);
    u.parts = parts;
  }
  const Epoch* read_parts(Unit& u, uint32_t first, uint32_t bytes, const Access& a) {
    refine(u, bytes);
    Cell* c = cells(u);
    for (uint32_t i = first / u.step, end = last(u, first, bytes); i <= end; ++i)
      if (const Epoch* e = c[i].read_by(a, conflict_)) return e;
    return nullptr;
  }
  const Epoch* write_parts(Unit& u, uint32_t first, uint32_t bytes, const Access& a) {
    refine(u, bytes);
    Cell* c = cells(u);
    const uint32_t halves = bytes == 16 ? 3 : 1u << first / 8;
    if ((u.guarded & halves) != 0) {
      conflict_ = Conflict::with_mbarrier;
      return &c[first / u.step].write;
    }
    for (uint32_t i = first / u.step, end = last(u, first, bytes); i <= end; ++i)
      if (const Epoch* e = c[i].write_by(a, conflict_)) return e;
    if (bytes == 16) {  // whole again
      u.cell = c[0];
      pool(u.step).free.push_back(u.parts);
      u.step = 16;
    }
    return nullptr;
  }

  std::vector<Unit> units_;
  Pool pools_[3];
  Conflict conflict_ = Conflict::with_write;
};

}  // namespace warpfold::hopper::emulator
