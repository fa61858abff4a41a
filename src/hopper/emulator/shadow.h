// The race detector's memory of shared memory: who wrote and read each 16-byte unit last. Tiles are moved in
// whole units, so a unit has one cell; it is split into 16 cells of a byte while smaller accesses touch it.
// Bytes of a live mbarrier are guarded: nobody may write them.
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
    split_.clear();
    free_.clear();
  }
  // What the access that was returned last is.
  Conflict conflict() const { return conflict_; }

  // Both return the earlier conflicting access that `a` does not know of, or null. The bytes lie within one
  // unit.
  const Epoch* write(uint32_t address, uint32_t bytes, const Access& a) {
    Unit& u = units_[address / 16];
    if (bytes == 16 && u.split < 0) return u.cell.write_by(a, conflict_);
    return split_access(u, address % 16, bytes, a, true);
  }
  const Epoch* read(uint32_t address, uint32_t bytes, const Access& a) {
    Unit& u = units_[address / 16];
    if (u.split < 0) return u.cell.read_by(a, conflict_);
    return split_access(u, address % 16, bytes, a, false);
  }
  // f(epoch of the last write) for each part of the unit that the bytes touch, until it returns false.
  template <class F>
  bool writers(uint32_t address, uint32_t bytes, F f) const {
    const Unit& u = units_[address / 16];
    if (u.split < 0) return f(u.cell.write);
    for (uint32_t i = address % 16; i < address % 16 + bytes; ++i)
      if (!f(split_[size_t(u.split)].cells[i].write)) return false;
    return true;
  }
  // Where `from` has written last, `to` has.
  void hand_over(uint32_t address, uint32_t bytes, Epoch from, Epoch to) {
    Unit& u = units_[address / 16];
    const auto hand = [&](Cell& c) {
      if (c.write == from) c.write = to;
    };
    if (u.split < 0) return hand(u.cell);
    for (uint32_t i = address % 16; i < address % 16 + bytes; ++i) hand(split_[size_t(u.split)].cells[i]);
  }
  void guard(uint32_t address, bool on) {
    split(units_[address / 16]);
    Split& s = split_[size_t(units_[address / 16].split)];
    const auto mask = uint16_t(0xFF << address % 16);
    s.guarded = on ? s.guarded | mask : s.guarded & uint16_t(~mask);
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
    int32_t split = -1;
  };
  struct Split {
    std::array<Cell, 16> cells;
    uint16_t guarded = 0;  // mask of bytes
  };

  void split(Unit& u) {
    if (u.split >= 0) return;
    if (free_.empty()) {
      free_.push_back(int32_t(split_.size()));
      split_.emplace_back();
    }
    u.split = free_.back();
    free_.pop_back();
    split_[size_t(u.split)].cells.fill(u.cell);
  }
  const Epoch* split_access(Unit& u, uint32_t first, uint32_t bytes, const Access& a, bool write) {
    split(u);
    Split& s = split_[size_t(u.split)];
    auto& cells = s.cells;
    if (write && (s.guarded & ((1u << (first + bytes)) - (1u << first))) != 0) {
      conflict_ = Conflict::with_mbarrier;
      return &cells[first].write;
    }
    for (uint32_t i = first; i < first + bytes; ++i)
      if (const Epoch* e = write ? cells[i].write_by(a, conflict_) : cells[i].read_by(a, conflict_)) return e;
    if (write && bytes == 16) {  // whole again
      u.cell = cells[0];
      free_.push_back(u.split);
      u.split = -1;
    }
    return nullptr;
  }

  std::vector<Unit> units_;
  std::vector<Split> split_;
  Conflict conflict_ = Conflict::with_write;
  std::vector<int32_t> free_;
};

}  // namespace warpfold::hopper::emulator
