// The proof of a kernel configuration: what its tiles, copies, operands, barriers and registers are, computed
// from the layouts while the program compiles, and the first thing that is wrong, if any.
//
// A kernel's arithmetic at run time is a handful of shifts and additions (hopper/tile_shape.h). Here every
// one of them is compared with the layout value that it stands for: all rows and units of a tile, all blocks
// and steps of an operand, all threads and registers of a fragment. `Proof<chain>` stops the build and says
// why.
#pragma once

#include <algorithm>
#include <string_view>

#include "warpfold/hopper/tile_shape.h"
#include "warpfold/kernels/shared_plan.h"
#include "warpfold/layout/hardware/banks.h"
#include "warpfold/layout/hardware/fragments.h"

namespace warpfold::kernels {

namespace hw = layout::hardware;

struct TileReport {
  std::string_view name = {};
  hw::SharedTile tile = {};
  hw::Major major = hw::Major::k;
  bool is_operand = false;
  hw::WgmmaOperand operand = {};  // at shared address 0
  hw::TensorMap map = {};         // of one box; sizes are those of one tile
  int boxes = 0;                  // that fill or empty the tile
};
struct AccessReport {
  std::string_view name = {};
  hw::SharedAccess access = hw::SharedAccess::b32;
  int wavefronts = 0, ideal = 0;  // of the worst instruction
};
struct StepReport {  // of the chain global -> shared -> registers -> shared -> global: each a bijection
  std::string_view name = {};
  int64_t elements = 0;
};
struct BarrierReport {
  std::string_view name = {};
  int count = 0, arrivals = 0, bytes = 0;  // that end a phase
};

// A list in a constant.
template <class T, int kCapacity>
struct List {
  T item[kCapacity] = {};
  int count = 0;
  constexpr void add(const T& x) { item[count++] = x; }
  constexpr const T* begin() const { return item; }
  constexpr const T* end() const { return item + count; }
};

// What can be wrong with a configuration.
enum class Check : uint8_t { none, plan, tile, operand, boxes, fragments, bytes, banks, registers };

struct Chain {
  std::string_view kernel = {}, tile = {};
  SharedPlan plan = {};
  List<TileReport, 4> tiles = {};
  List<AccessReport, 6> accesses = {};
  List<StepReport, 6> steps = {};
  List<BarrierReport, 12> barriers = {};
  int threads = 0, cluster = 1;
  int accumulators = 0, math_registers = 0, producer_registers = 0;  // of a thread
  int registers_needed = 0;                                          // estimate for a multiplying thread
  int registers_of_block = 0, blocks_per_multiprocessor = 0;
  Check broken = Check::none;
  layout::Text why = {};  // one sentence; empty: everything holds

  // Notes the sentence of a check, empty if it holds; the first that does not is kept. Does everything hold so far?
  constexpr bool holds(Check check, const layout::Text& sentence) {
    if (broken == Check::none && sentence.length > 0) {
      broken = check;
      why = sentence;
    }
    return broken == Check::none;
  }
};

// Blocks that fit a multiprocessor, by each of its resources. The launch takes the same number of registers for every
// thread; setmaxnreg then moves them.
struct Occupancy {
  int by_shared, by_threads, by_registers;
  constexpr Occupancy(int shared_bytes, int threads, int registers_of_block)
      : by_shared(228 * 1024 / (shared_bytes + 1024)), by_threads(2048 / threads), by_registers(65536 / registers_of_block) {}
  constexpr int blocks() const { return std::min({by_shared, by_threads, by_registers}); }
};

// ---- The checks. Each gives a sentence, empty when it holds.

constexpr layout::Text check_plan(const SharedPlan& plan) {
  layout::Text why;
  for (int i = 0; i < plan.pieces; ++i) {
    const SharedPiece& p = plan.piece[i];
    if (p.offset % p.alignment != 0)
      return why << p.name << " starts at byte " << int64_t{p.offset} << ", no multiple of "
                 << int64_t{p.alignment};
    if (p.bytes / p.count % p.alignment != 0)
      return why << "the parts of " << p.name << " have " << int64_t{p.bytes / p.count}
                 << " bytes, no multiple of " << int64_t{p.alignment};
    if (i > 0 && p.offset < plan.piece[i - 1].offset + plan.piece[i - 1].bytes)
      return why << p.name << " overlaps " << plan.piece[i - 1].name;
  }
  if (plan.bytes > hw::max_shared_bytes)
    why << "the shared memory plan takes " << int64_t{plan.bytes} << " bytes; a block has "
        << int64_t{hw::max_shared_bytes};
  return why;
}

// Does the tile's arithmetic say what its layout says, for every row and 16-byte unit, and is that a
// bijection?
template <class Shape>
constexpr layout::Text check_tile(std::string_view name) {
  layout::Text why;
  const hw::SharedTile tile = Shape::shared();
  constexpr int unit = 16 / Shape::element_bytes, width = Shape::columns * Shape::across;
  bool written[Shape::bytes / 16] = {};
  constexpr bool k_major = Shape::major == hopper::Major::k;
  const layout::Layout rows = tile.layout.mode(k_major ? 0 : 1), along = tile.layout.mode(k_major ? 1 : 0);
  for (int row = 0; row < Shape::rows; ++row) {
    const int64_t row_begin = rows(row);
    for (int x = 0; x < width; x += unit) {
      const auto element = [&](int at) { return row_begin + along(at); };
      for (const int at : {x, x + unit - 1})
        if (element(at) * Shape::element_bytes != int64_t{Shape::offset(row, at)})
          return why << name << ": element (" << int64_t{row} << "," << int64_t{at} << ") lies at byte "
                     << element(at) * Shape::element_bytes << " of its layout, but the kernel computes "
                     << int64_t{Shape::offset(row, at)};
      const int64_t place = tile.swizzle(element(x) * Shape::element_bytes) / 16;
      if (place >= Shape::bytes / 16 || written[place])
        return why << name << ": two elements share byte " << place * 16
                   << " of the tile, or it lies outside";
      written[place] = true;
    }
  }
  return why;
}

// Is the tile a WGMMA operand, and are its descriptors the layout's, for every block of rows and step of K?
template <class Shape>
constexpr layout::Text check_operand(std::string_view name) {
  layout::Text why;
  constexpr auto major = Shape::major == hopper::Major::k ? hw::Major::k : hw::Major::mn;
  const hw::SharedTile tile = Shape::shared();
  const auto operand = hw::wgmma_operand(tile, major, 0, Shape::wgmma_rows);
  if (!operand) return why << name << ": " << operand.reason().view();
  for (int block = 0; block < operand->blocks; ++block)
    for (int step = 0; step < operand->steps; ++step) {
      const uint64_t want = hw::descriptor_bits(*operand, tile, block, step);
      const uint64_t got =
          Shape::descriptor_base() + (Shape::operand_offset(block * Shape::wgmma_rows, step) >> 4);
      if (got != want)
        return why << name << ": the descriptor of rows from " << int64_t{block * Shape::wgmma_rows}
                   << " and step " << int64_t{step} << " starts at byte " << int64_t(got & 0x3FFF) * 16
                   << ", but the layout says " << int64_t(want & 0x3FFF) * 16;
    }
  return why;
}

// Is the box a legal one, and do boxes of `box_rows` rows make up the tile?
template <class Shape>
constexpr layout::Text check_boxes(std::string_view name, int box_rows) {
  layout::Text why;
  const hw::TensorMap map =
      Shape::map(Shape::rows, Shape::columns * Shape::across, Shape::columns * Shape::across, box_rows);
  if (const hw::Why broken = hw::check(map); broken.rule != hw::Rule::none)
    return why << name << ": " << hw::sentence(broken).view();
  if (box_rows * Shape::span % Shape::alignment != 0)
    return why << name << ": boxes of " << int64_t{box_rows} << " rows do not start on multiples of "
               << int64_t{Shape::alignment} << " bytes";
  if (Shape::rows % box_rows != 0 ||
      map.box_bytes() * (Shape::rows / box_rows) * Shape::columns != Shape::bytes)
    why << name << ": boxes of " << int64_t{box_rows} << " rows do not make up the tile of "
        << int64_t{Shape::bytes} << " bytes";
  return why;
}

template <class Shape>
constexpr TileReport tile_report(std::string_view name, bool is_operand, int box_rows,
                                 int wgmma_rows = Shape::wgmma_rows) {
  TileReport r;
  r.name = name;
  r.tile = Shape::shared();
  r.major = Shape::major == hopper::Major::k ? hw::Major::k : hw::Major::mn;
  r.is_operand = is_operand;
  if (is_operand) r.operand = *hw::wgmma_operand(r.tile, r.major, 0, wgmma_rows);
  r.map = Shape::map(Shape::rows, Shape::columns * Shape::across, Shape::columns * Shape::across, box_rows);
  r.boxes = Shape::rows / box_rows * Shape::columns;
  return r;
}

// Do accumulator_row and accumulator_column say what the fragment's layout says, for all threads and
// registers?
constexpr layout::Text check_accumulators(int n) {
  layout::Text why;
  const layout::Layout fragment = *hw::accumulator_fragment(n);
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < n / 2; i += i < 7 ? 1 : 8) {  // registers repeat every 4, so all kinds are seen
      const int64_t want = fragment.mode(0)(t) + fragment.mode(1)(i);
      const int64_t got = hopper::accumulator_row(t, i) + 64 * hopper::accumulator_column(t, i);
      if (got != want)
        return why << "register " << int64_t{i} << " of thread " << int64_t{t} << " holds element " << want
                   << " of the accumulator tile, but the kernel takes it for " << got;
    }
  return why;
}

// Wavefronts of an instruction that is executed at several places: the worst of them.
constexpr void add_access(AccessReport& report, auto offset_of_lane) {  // lane -> byte
  const auto banks = hw::bank_conflicts(report.access, offset_of_lane);
  if (banks->total - banks->ideal >= report.wavefronts - report.ideal) {
    report.wavefronts = banks->total;
    report.ideal = banks->ideal;
  }
}

// The tensor cores' reads of an operand, 8 x 16 bytes at a time: four of them, as ldmatrix would read them.
template <class Shape>
constexpr AccessReport operand_access(std::string_view name) {
  AccessReport report{name, hw::SharedAccess::matrix_x4};
  const layout::Swizzle swizzle = hw::swizzle_of(Shape::swizzle);
  constexpr int unit = 16 / Shape::element_bytes;
  for (int row = 0; row + 8 <= Shape::rows; row += 32)
    for (int x = 0; x < Shape::columns * Shape::across; x += unit)
      add_access(report, [&](int lane) { return swizzle(int64_t{Shape::offset((row + lane) % Shape::rows, x)}); });
  return report;
}

// ---- Stopping the build

// The n-th number in the sentence, for the compiler's message; 0 where there is none.
constexpr int64_t number_in(const layout::Text& sentence, int n) {
  int64_t number = 0;
  bool inside = false;
  for (int i = 0; i < sentence.length; ++i) {
    const char c = sentence.data[i];
    if (c >= '0' && c <= '9') {
      number = (inside ? number * 10 : 0) + (c - '0');
      inside = true;
    } else if (inside) {
      if (n-- == 0) return number;
      inside = false;
    }
  }
  return inside && n == 0 ? number : 0;
}

// Instantiated with what a chain found: fails to compile, with the rule in words and the sentence's numbers
// in the template arguments, unless everything holds.
template <Check kBroken, int64_t kFirstNumber, int64_t kSecondNumber, int64_t kThirdNumber>
struct ProofOfConfiguration {
  static_assert(kBroken != Check::plan,
                "shared memory: a piece is misaligned, overlaps, or all exceed the block's");
  static_assert(kBroken != Check::tile, "a tile's arithmetic differs from its layout, or is no bijection");
  static_assert(kBroken != Check::operand,
                "a tile is no WGMMA operand, or a descriptor differs from the layout's");
  static_assert(kBroken != Check::boxes, "TMA boxes are illegal or do not make up their tile");
  static_assert(kBroken != Check::fragments,
                "registers do not hold the elements that the kernel takes them for");
  static_assert(kBroken != Check::bytes, "a barrier expects other bytes than its boxes bring");
  static_assert(kBroken != Check::banks,
                "an access to shared memory has bank conflicts: wavefronts and ideal");
  static_assert(kBroken != Check::registers, "registers: a thread or the block needs more than there are");
  static constexpr bool holds = kBroken == Check::none;
};
template <const Chain& kChain>
using Proof = ProofOfConfiguration<kChain.broken, number_in(kChain.why, 0), number_in(kChain.why, 1),
                                   number_in(kChain.why, 2)>;

}  // namespace warpfold::kernels
