// The race detector's memory of shared memory: who wrote and read each 16-byte unit last. Tiles are moved in
// whole units, so a unit has one cell; where smaller accesses touch it, it has cells of 8, 4 or 1 bytes,
// until it is next written whole. Bytes of a live mbarrier are guarded: nobody may write them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "clock.h"

namespace warpfold::hopper::emulator {

class Shadow {
 public:
  enum class Conflict : uint8_t { with_write, with_read, with_mbarrier };

  struct alignas(32) Cell {
    Epoch write;
    std::array<Epoch, 3> reads;  // a fourth reader evicts one: a race may be missed, never invented
    bool operator==(const Cell&) const = default;

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
      *this = {a.self, {}};
      return nullptr;
    }
    const Epoch* read_by(const Access& a, Conflict& conflict) {
      if (!a.knows(write)) {
        conflict = Conflict::with_write;
        return &write;
      }
      add_read(a.self);
      return nullptr;
    }
    void add_read(const Epoch& self) {
      size_t slot = 0;
      while (slot < 3 && reads[slot].time != 0 && reads[slot].agent != self.agent) ++slot;
      if (slot == 3) slot = self.agent % 3;
      reads[slot] = self;
    }
  };

  void reset(uint32_t bytes) {
    cells_.assign(bytes / 16 + 1, Cell{});
    forms_.assign(bytes / 16 + 1, Form{});
    for (Pool& p : pools_) p = {};
  }
  // What the access that was returned last is.
  Conflict conflict() const { return conflict_; }

  // Both return the earlier conflicting access that `a` does not know of, or null. The bytes, 1, 2, 4, 8 or
  // 16, are aligned to their number.
  const Epoch* write(uint32_t address, uint32_t bytes, const Access& a) {
    const Form& f = forms_[address / 16];
    if (bytes == f.step && f.guarded == 0)
      return cells(address / 16)[address % 16 / bytes].write_by(a, conflict_);
    return write_parts(address / 16, address % 16, bytes, a);
  }
  const Epoch* read(uint32_t address, uint32_t bytes, const Access& a) {
    const Form& f = forms_[address / 16];
    if (bytes == f.step) return cells(address / 16)[address % 16 / bytes].read_by(a, conflict_);
    return read_parts(address / 16, address % 16, bytes, a);
  }
  const Epoch* read(Cell& cell, const Access& a) { return cell.read_by(a, conflict_); }
  // The cell of a whole unit, null where the unit has several.
  Cell* whole(uint32_t address) { return forms_[address / 16].step == 16 ? &cells_[address / 16] : nullptr; }
  // The cells of a unit.
  std::span<Cell> all(uint32_t address) {
    return {cells(address / 16), size_t(16) / forms_[address / 16].step};
  }
  // f(epoch of the last write) for each part of the unit that the bytes touch, until it returns false.
  template <class F>
  void writers(uint32_t address, uint32_t bytes, F f) {
    const Cell* c = cells(address / 16);
    const uint32_t step = forms_[address / 16].step;
    for (uint32_t i = address % 16 / step, end = (address % 16 + bytes - 1) / step; i <= end; ++i)
      if (!f(c[i].write)) return;
  }
  // Where `from` has written last, `to` has.
  void hand_over(uint32_t address, uint32_t bytes, Epoch from, Epoch to) {
    Cell* c = cells(address / 16);
    const uint32_t step = forms_[address / 16].step;
    for (uint32_t i = address % 16 / step, end = (address % 16 + bytes - 1) / step; i <= end; ++i)
      if (c[i].write == from) c[i].write = to;
  }
  void guard(uint32_t address, bool on) {
    refine(address / 16, 8);
    const auto mask = uint8_t(1 << address % 16 / 8);
    uint8_t& guarded = forms_[address / 16].guarded;
    guarded = uint8_t(on ? guarded | mask : guarded & ~mask);
  }

 private:
  struct Form {
    uint32_t parts = 0;   // where the pool of `step` has its cells, if that is not 16
    uint8_t step = 16;    // bytes of a cell: 16, 8, 4 or 1
    uint8_t guarded = 0;  // mask of halves
  };
  struct Pool {
    std::vector<Cell> cells;
    std::vector<uint32_t> free;
  };

  Pool& pool(uint32_t step) { return pools_[step / 4]; }  // steps 1, 4, 8
  Cell* cells(uint32_t unit) {
    const Form& f = forms_[unit];
    return f.step == 16 ? &cells_[unit] : &pool(f.step).cells[f.parts];
  }

  void refine(uint32_t unit, uint32_t bytes) {
    Form& f = forms_[unit];
    const uint32_t step = bytes >= 4 ? bytes : 1;
    if (f.step <= step) return;
    Pool& p = pool(step);
    if (p.free.empty()) {
      p.free.push_back(uint32_t(p.cells.size()));
      p.cells.resize(p.cells.size() + 16 / step);
    }
    const uint32_t parts = p.free.back();
    p.free.pop_back();
    const Cell* from = cells(unit);
    for (uint32_t i = 0; i < 16; i += step) p.cells[parts + i / step] = from[i / f.step];
    if (f.step != 16) pool(f.step).free.push_back(f.parts);
    f.step = uint8_t(step);
    f.parts = parts;
  }
  const Epoch* read_parts(uint32_t unit, uint32_t first, uint32_t bytes, const Access& a) {
    refine(unit, bytes);
    Cell* c = cells(unit);
    const uint32_t step = forms_[unit].step;
    for (uint32_t i = first / step, end = (first + bytes - 1) / step; i <= end; ++i)
      if (const Epoch* e = c[i].read_by(a, conflict_)) return e;
    return nullptr;
  }
  const Epoch* write_parts(uint32_t unit, uint32_t first, uint32_t bytes, const Access& a) {
    refine(unit, bytes);
    Form& f = forms_[unit];
    Cell* c = cells(unit);
    const uint32_t halves = bytes == 16 ? 3 : 1u << first / 8;
    if ((f.guarded & halves) != 0) {
      conflict_ = Conflict::with_mbarrier;
      return &c[first / f.step].write;
    }
    for (uint32_t i = first / f.step, end = (first + bytes - 1) / f.step; i <= end; ++i)
      if (const Epoch* e = c[i].write_by(a, conflict_)) return e;
    if (bytes == 16) {  // whole again
      cells_[unit] = c[0];
      pool(f.step).free.push_back(f.parts);
      f.step = 16;
    }
    return nullptr;
  }

  std::vector<Cell> cells_;  // of units that have one
  std::vector<Form> forms_;
  Pool pools_[3];
  Conflict conflict_ = Conflict::with_write;
};

}  // namespace warpfold::hopper::emulator
