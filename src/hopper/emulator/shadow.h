// The race detector's memory of shared memory: who wrote and read each 16-byte unit last. Tiles are moved in
// whole units, so a unit has one cell; it is split into 16 cells of a byte while smaller accesses touch it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "clock.h"

namespace warpfold::hopper::emulator {

class Shadow {
 public:
  void reset(uint32_t bytes) {
    units_.assign(bytes / 16 + 1, Unit{});
    split_.clear();
    free_.clear();
  }

  // Both return the earlier conflicting access that `a` does not know of, or null. The bytes lie within one
  // unit.
  const Epoch* write(uint32_t address, uint32_t bytes, const Access& a) {
    Unit& u = units_[address / 16];
    if (bytes == 16 && u.split < 0) return u.cell.write_by(a);
    return split_access(u, address % 16, bytes, a, true);
  }
  const Epoch* read(uint32_t address, uint32_t bytes, const Access& a) {
    Unit& u = units_[address / 16];
    if (u.split < 0) return u.cell.read_by(a);
    return split_access(u, address % 16, bytes, a, false);
  }
  // f(epoch of the last write) for each part of the unit that the bytes touch, until it returns false.
  template <class F>
  bool writers(uint32_t address, uint32_t bytes, F f) const {
    const Unit& u = units_[address / 16];
    if (u.split < 0) return f(u.cell.write);
    for (uint32_t i = address % 16; i < address % 16 + bytes; ++i)
      if (!f(split_[size_t(u.split)][i].write)) return false;
    return true;
  }

 private:
  struct Cell {
    Epoch write;
    std::array<Epoch, 3> reads;  // a fourth reader evicts one: a race may be missed, never invented

    const Epoch* write_by(const Access& a) {
      if (!a.knows(write)) return &write;
      for (const Epoch& r : reads)
        if (r.time != 0 && !a.knows(r)) return &r;
      write = a.self;
      reads.fill(Epoch{});
      return nullptr;
    }
    const Epoch* read_by(const Access& a) {
      if (!a.knows(write)) return &write;
      size_t slot = 0;
      while (slot < 3 && reads[slot].time != 0 && reads[slot].agent != a.self.agent) ++slot;
      if (slot == 3) slot = a.self.agent % 3;
      reads[slot] = a.self;
      return nullptr;
    }
  };
  struct Unit {
    Cell cell;
    int32_t split = -1;
  };

  const Epoch* split_access(Unit& u, uint32_t first, uint32_t bytes, const Access& a, bool write) {
    if (u.split < 0) {
      if (free_.empty()) {
        free_.push_back(int32_t(split_.size()));
        split_.emplace_back();
      }
      u.split = free_.back();
      free_.pop_back();
      split_[size_t(u.split)].fill(u.cell);
    }
    auto& cells = split_[size_t(u.split)];
    for (uint32_t i = first; i < first + bytes; ++i)
      if (const Epoch* e = write ? cells[i].write_by(a) : cells[i].read_by(a)) return e;
    if (write && bytes == 16) {  // whole again
      u.cell = cells[0];
      free_.push_back(u.split);
      u.split = -1;
    }
    return nullptr;
  }

  std::vector<Unit> units_;
  std::vector<std::array<Cell, 16>> split_;
  std::vector<int32_t> free_;
};

}  // namespace warpfold::hopper::emulator
