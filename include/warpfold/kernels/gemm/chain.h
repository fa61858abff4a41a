// The proof of a GEMM configuration: global -> shared -> WGMMA -> accumulators -> shared -> global.
#pragma once

#include <utility>

#include "warpfold/kernels/chain.h"
#include "warpfold/kernels/gemm/config.h"

namespace warpfold::kernels::gemm {

// Where stmatrix puts register i of thread t of a 16 x 16 patch, by its definition, against where the
// fragment has it. In a swapped tile both the matrices and the patch are transposed.
template <class Config>
constexpr layout::Text check_patches() {
  layout::Text why;
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < 8; ++i) {
      const int matrix = i / 2, in_row = t % 32 / 4, in_column = t % 4 * 2 + i % 2;  // of the matrix's registers
      const int line = Config::swapped ? in_column : in_row, along = Config::swapped ? in_row : in_column;
      const int addressing = t / 32 * 32 + 8 * matrix + line;  // the thread that names the line
      const int row = Config::patch_row(addressing), column = Config::patch_column(addressing) + along;
      const int want_row = hopper::accumulator_row(t, i), want_column = hopper::accumulator_column(t, i);
      if (row != (Config::swapped ? want_column : want_row) || column != (Config::swapped ? want_row : want_column))
        return why << "stmatrix puts register " << int64_t{i} << " of thread " << int64_t{t} << " at ("
                   << int64_t{row} << "," << int64_t{column} << ") of its patch, but it belongs at ("
                   << int64_t{want_row} << "," << int64_t{want_column} << ")"
                   << (Config::swapped ? " of the transpose" : "");
    }
  return why;
}

// Do the elements that a thread stores one by one, or in pairs of 32 bits, lie where the fragment has them, and is
// each pair stored once?
template <class Config>
constexpr layout::Text check_elements() {
  layout::Text why;
  for (int t = 0; t < 128; ++t) {
    for (int i = 0; i < 8; ++i) {
      const int row = Config::element_row(t / 32, t % 32, 0, i), column = Config::element_column(t / 32, t % 32, 0, i);
      const int want_row = hopper::accumulator_row(t, i), want_column = hopper::accumulator_column(t, i);
      if (row != (Config::swapped ? want_column : want_row) || column != (Config::swapped ? want_row : want_column))
        return why << "register " << int64_t{i} << " of thread " << int64_t{t} << " is stored at (" << int64_t{row}
                   << "," << int64_t{column} << ") of its patch";
    }
    if (Config::left_patch(t % 32, 0) == Config::left_patch(t % 32, 1))
      return why << "thread " << int64_t{t} << " stores one of two patches twice";
  }
  return why;
}

// Wavefronts of the worst access of a box over all warps: stmatrix of 16-bit results, 8-byte stores of 32-bit
// ones, or 4-byte ones in a swapped tile; 2-byte stores of 8-bit ones, or single bytes there, as the words they lie in.
template <class Config>
constexpr AccessReport box_access() {
  using Box = typename Config::Box;
  constexpr bool words = sizeof(typename Config::Output) == 4, bytes = sizeof(typename Config::Output) == 1;
  const layout::Swizzle swizzle = hw::swizzle_of(Box::swizzle);
  AccessReport report{words || bytes ? "stores of D" : "stmatrix of D, ldmatrix of C",
                      !words && !bytes           ? hw::SharedAccess::matrix_x4
                      : Config::swapped || bytes ? hw::SharedAccess::b32
                                         : hw::SharedAccess::b64};
  const auto count = [&](auto offset_of_lane) {
    add_access(report, [&](int lane) { return swizzle(int64_t{offset_of_lane(lane)}); });
  };
  const int width = Config::swapped ? Config::tile_n : Config::span;  // of the patches, side by side
  for (int warp = 0; warp < 4; ++warp)
    for (int x = 0; x < width; x += words && !Config::swapped ? 32 : 16) {
      const auto element = [&](int lane, int at, int i) {
        return Box::offset(Config::element_row(warp, lane, at, i), Config::element_column(warp, lane, at, i));
      };
      for (int i = 0; bytes && i < 8; i += Config::swapped ? 1 : 2)
        count([&](int lane) { return element(lane, x, i) & ~3u; });
      if (!words && !bytes)
        count([&](int lane) {
          const int row = Config::patch_row(warp * 32 + lane), column = Config::patch_column(warp * 32 + lane);
          return Config::swapped ? Box::offset(x + row, column) : Box::offset(row, x + column);
        });
      for (int i = 0; words && Config::swapped && i < 8; ++i) count([&](int lane) { return element(lane, x, i); });
      for (int i = 0; words && !Config::swapped && i < 8; i += 2)
        for (int turn = 0; turn < 2; ++turn)
          count([&](int lane) { return element(lane, Config::left_patch(lane, turn) ? x : x + 16, i); });
    }
  return report;
}

template <class Config>
constexpr Chain chain() {
  Chain c;
  c.kernel = "gemm";
  c.tile = Config::name;
  c.plan = Config::plan();
  c.threads = Config::threads;
  c.cluster = Config::cluster;
  c.accumulators = Config::sums;
  c.math_registers = Config::math_registers;
  c.producer_registers = Config::producer_registers;
  // Beside the accumulators: descriptors, addresses and the ring of the main loop, or a patch with its C in
  // the end.
  c.registers_needed = Config::sums + 40;
  c.registers_of_block =
      Config::producer_threads * Config::producer_registers + 128 * Config::math_warpgroups * Config::math_registers;
  const Occupancy occupancy(Config::shared_bytes, Config::threads, c.registers_of_block);
  c.blocks_per_multiprocessor = occupancy.blocks();

  using A = typename Config::ATile;
  using B = typename Config::BTile;
  using Box = typename Config::Box;
  constexpr int b_rows = Config::major_b == hopper::Major::k ? Config::b_share : B::rows;
  if (!c.holds(Check::plan, check_plan(c.plan)) || !c.holds(Check::tile, check_tile<A>("A")) ||
      !c.holds(Check::tile, check_tile<B>("B")) || !c.holds(Check::tile, check_tile<Box>("a box of D")) ||
      !c.holds(Check::operand, check_operand<A>("A")) || !c.holds(Check::operand, check_operand<B>("B")) ||
      !c.holds(Check::boxes, check_boxes<A>("A", A::rows)) ||
      !c.holds(Check::boxes, check_boxes<B>("B", b_rows)) ||
      !c.holds(Check::boxes, check_boxes<Box>("a box of D", Box::rows)) ||
      !c.holds(Check::fragments, check_accumulators(Config::tile_n)) ||
      !c.holds(Check::fragments, check_elements<Config>()) ||
      (sizeof(typename Config::Output) == 2 && !c.holds(Check::fragments, check_patches<Config>())))
    return c;

  c.tiles.add(tile_report<typename Config::ATile>("A", true, A::rows));
  c.tiles.add(tile_report<typename Config::BTile>("B", true, b_rows, Config::tile_n));
  c.tiles.add(tile_report<typename Config::Box>("box of D or C", false, Box::rows));
  c.accesses.add(box_access<Config>());
  c.accesses.add(operand_access<A>("WGMMA reads of A"));
  c.accesses.add(operand_access<B>("WGMMA reads of B"));
  if (Config::factors) {
    AccessReport stores{"stores of column factors", hw::SharedAccess::b64}, loads{"loads of column factors", hw::SharedAccess::b128};
    add_access(stores, [](int lane) { return int64_t{Config::factor_offset(lane)}; });
    add_access(loads, [](int lane) { return int64_t{Config::factor_offset(Config::factor_column(lane))}; });
    c.accesses.add(stores);
    c.accesses.add(loads);
  }
  c.barriers.add({"full", Config::stages, Config::full_arrivals, Config::copied ? 0 : Config::full_bytes});
  c.barriers.add({"empty", Config::stages, Config::empty_arrivals, 0});
  c.barriers.add({"C arrived", Config::math_warpgroups * Config::buffers, 1, Config::Box::bytes});
  c.steps.add({"A from global to shared memory", int64_t{Config::tile_m} * Config::tile_k});
  c.steps.add({"B from global to shared memory", int64_t{Config::tile_n} * Config::tile_k});
  c.steps.add(
      {"A and B to WGMMA, by descriptors", int64_t{Config::tile_m + Config::tile_n} * Config::tile_k});
  c.steps.add({"accumulators to the output tile", int64_t{Config::tile_m} * Config::tile_n});
  c.steps.add({"registers to boxes", int64_t{Config::Box::rows} * Config::Box::columns * Config::Box::across});
  c.steps.add({"boxes to global memory", int64_t{Config::tile_m} * Config::tile_n / Config::columns_per_output});

  int64_t arriving = 0;
  for (const TileReport& t : c.tiles)
    if (t.is_operand) arriving += t.map.box_bytes() * t.boxes;
  layout::Text bytes, banks, registers;
  if (arriving != Config::full_bytes)
    bytes << "a stage expects " << int64_t{Config::full_bytes} << " bytes, but its boxes bring " << arriving;
  for (const AccessReport& a : c.accesses)
    if (banks.length == 0 && a.wavefronts != a.ideal)
      banks << a.name << " takes " << int64_t{a.wavefronts} << " wavefronts instead of " << int64_t{a.ideal};
  if (c.registers_needed > c.math_registers)
    registers << "a multiplying thread needs about " << int64_t{c.registers_needed} << " registers and has "
              << int64_t{c.math_registers};
  else if (occupancy.by_registers < Config::resident)
    registers << int64_t{Config::resident} << " blocks ask for " << int64_t{Config::resident} * c.registers_of_block
              << " registers; a multiprocessor has 65536";
  if (occupancy.by_shared < Config::resident)
    bytes << int64_t{Config::resident} << " blocks ask for " << int64_t{Config::resident} * (Config::shared_bytes + 1024)
          << " bytes of shared memory; a multiprocessor has " << 228 * 1024;
  c.holds(Check::bytes, bytes);
  c.holds(Check::banks, banks);
  c.holds(Check::registers, registers);
  return c;
}

}  // namespace warpfold::kernels::gemm
