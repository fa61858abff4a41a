// The proof of a GEMM configuration: global -> shared -> WGMMA -> accumulators -> shared -> global.
#pragma once

#include "warpfold/kernels/chain.h"
#include "warpfold/kernels/gemm/config.h"

namespace warpfold::kernels::gemm {

// Where stmatrix puts register i of thread t of a 16 x 16 patch, by its definition, against where the
// fragment has it.
template <class Config>
constexpr layout::Text check_patches() {
  layout::Text why;
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < 8; ++i) {
      const int matrix = i / 2,
                addressing = t / 32 * 32 + 8 * matrix + t % 32 / 4;  // the thread that names the row
      const int row = Config::patch_row(addressing),
                column = Config::patch_column(addressing) + t % 4 * 2 + i % 2;
      if (row != hopper::accumulator_row(t, i) || column != hopper::accumulator_column(t, i))
        return why << "stmatrix puts register " << int64_t{i} << " of thread " << int64_t{t} << " at ("
                   << int64_t{row} << "," << int64_t{column} << ") of its patch, but it belongs at ("
                   << int64_t{hopper::accumulator_row(t, i)} << ","
                   << int64_t{hopper::accumulator_column(t, i)} << ")";
    }
  return why;
}

// Wavefronts of the worst access of a box over all warps: stmatrix of 16-bit results, 8-byte stores of int32
// sums.
template <class Config>
constexpr AccessReport box_access() {
  using Box = typename Config::Box;
  const layout::Swizzle swizzle = hw::swizzle_of(Box::swizzle);
  AccessReport report{Config::exact ? "stores of D" : "stmatrix of D, ldmatrix of C",
                      Config::exact ? hw::SharedAccess::b64 : hw::SharedAccess::matrix_x4};
  for (int warp = 0; warp < 4; ++warp)
    for (int x = 0; x < (Config::exact ? 32 : Box::across); x += Config::exact ? 8 : 16) {
      const auto banks = hw::bank_conflicts(report.access, [&](int lane) {
        if (!Config::exact) {
          const int t = warp * 32 + lane;
          return swizzle(int64_t{Box::offset(Config::patch_row(t), x + Config::patch_column(t))});
        }
        const int row = warp * 16 + lane / 4;  // as write_sums: odd rows exchange the halves
        return swizzle(int64_t{Box::offset(row, (row % 2 != 0 ? x ^ 16 : x) + lane % 4 * 2)});
      });
      report.ideal = banks->ideal;
      report.wavefronts = banks->total > report.wavefronts ? banks->total : report.wavefronts;
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
  c.accumulators = Config::accumulators;
  c.math_registers = Config::math_registers;
  c.producer_registers = Config::producer_registers;
  // Beside the accumulators: descriptors, addresses and the ring of the main loop, or a patch with its C in
  // the end.
  c.registers_needed = Config::accumulators + 40;
  c.registers_of_block =
      128 * (Config::producer_registers + Config::math_warpgroups * Config::math_registers);
  // The launch takes the same number of registers for every thread; setmaxnreg then moves them.
  constexpr int by_shared = 228 * 1024 / (Config::shared_bytes + 1024), by_threads = 2048 / Config::threads;
  const int by_registers = 65536 / c.registers_of_block;
  c.blocks_per_multiprocessor = by_shared < by_threads ? by_shared : by_threads;
  if (by_registers < c.blocks_per_multiprocessor) c.blocks_per_multiprocessor = by_registers;

  const auto holds = [&c](Check check, const layout::Text& why) {
    if (c.broken == Check::none && why.length > 0) {
      c.broken = check;
      c.why = why;
    }
    return c.broken == Check::none;
  };
  using A = typename Config::ATile;
  using B = typename Config::BTile;
  using Box = typename Config::Box;
  if (!holds(Check::plan, check_plan(c.plan)) || !holds(Check::tile, check_tile<A>("A")) ||
      !holds(Check::tile, check_tile<B>("B")) || !holds(Check::tile, check_tile<Box>("a box of D")) ||
      !holds(Check::operand, check_operand<A>("A")) || !holds(Check::operand, check_operand<B>("B")) ||
      !holds(Check::boxes, check_boxes<A>("A", Config::tile_m)) ||
      !holds(Check::boxes, check_boxes<B>("B", Config::b_share)) ||
      !holds(Check::boxes, check_boxes<Box>("a box of D", 64)) ||
      !holds(Check::fragments, check_accumulators(Config::tile_n)) ||
      (!Config::exact && !holds(Check::fragments, check_patches<Config>())))
    return c;

  c.tiles.add(tile_report<typename Config::ATile>("A", true, Config::tile_m));
  c.tiles.add(tile_report<typename Config::BTile>("B", true, Config::b_share));
  c.tiles.add(tile_report<typename Config::Box>("box of D or C", false, 64));
  c.accesses.add(box_access<Config>());
  c.barriers.add({"full", Config::stages, 1, Config::full_bytes});
  c.barriers.add({"empty", Config::stages, Config::empty_arrivals, 0});
  c.barriers.add({"C arrived", Config::math_warpgroups * Config::buffers, 1, Config::Box::bytes});
  c.steps.add({"A from global to shared memory", int64_t{Config::tile_m} * Config::tile_k});
  c.steps.add({"B from global to shared memory", int64_t{Config::tile_n} * Config::tile_k});
  c.steps.add(
      {"A and B to WGMMA, by descriptors", int64_t{Config::tile_m + Config::tile_n} * Config::tile_k});
  c.steps.add({"accumulators to the output tile", int64_t{Config::tile_m} * Config::tile_n});
  c.steps.add({"registers to boxes, by stmatrix", int64_t{64} * Config::Box::across});
  c.steps.add({"boxes to global memory", int64_t{Config::tile_m} * Config::tile_n});

  int64_t arriving = 0;
  for (const TileReport& t : c.tiles)
    if (t.is_operand) arriving += t.map.box_bytes() * t.boxes;
  layout::Text bytes, banks, registers;
  if (arriving != Config::full_bytes)
    bytes << "a stage expects " << int64_t{Config::full_bytes} << " bytes, but its boxes bring " << arriving;
  if (c.accesses.item[0].wavefronts != c.accesses.item[0].ideal)
    banks << c.accesses.item[0].name << " takes " << int64_t{c.accesses.item[0].wavefronts}
          << " wavefronts instead of " << int64_t{c.accesses.item[0].ideal};
  if (c.registers_needed > c.math_registers)
    registers << "a multiplying thread needs about " << int64_t{c.registers_needed} << " registers and has "
              << int64_t{c.math_registers};
  else if (c.blocks_per_multiprocessor < 1)
    registers << "the warpgroups ask for " << int64_t{c.registers_of_block}
              << " registers; a multiprocessor has 65536";
  holds(Check::bytes, bytes);
  holds(Check::banks, banks);
  holds(Check::registers, registers);
  return c;
}

}  // namespace warpfold::kernels::gemm
