// The proof of a weight-only configuration: packed global -> shared -> registers -> WGMMA -> accumulators -> shared ->
// global.
#pragma once

#include "warpfold/kernels/gemm/chain.h"
#include "warpfold/kernels/weight_only/config.h"

namespace warpfold::kernels::weight_only {

// Does each thread find the codes of its fragments where it reads, and its rows' scales, and is the chunk filled once?
constexpr layout::Text check_packing(DType type) {
  layout::Text why;
  const layout::Layout fragment = *hw::a_fragment(2);  // thread, value -> row + 64 column of 64 x 16
  const int bits = code_bits(type), per_step = 8 * bits;
  int64_t of_value[8] = {};
  for (int v = 0; v < 8; ++v) of_value[v] = fragment.mode(1)(v);
  bool written[panel_rows * chunk_k] = {};
  for (int half = 0; half < 2; ++half)
    for (int t = 0; t < 128; ++t) {
      const int64_t of_thread = fragment.mode(0)(t);
      for (int step = 0; step < chunk_k / 16; ++step)
        for (int v = 0; v < 8; ++v) {
          const int64_t element = of_thread + of_value[v];
          const int row = int(element % 64) + 64 * half, k = int(element / 64) + 16 * step;
          // Register v / 2 of the fragment has the values 2 (v / 2) and 2 (v / 2) + 1 in its halves; see codes.h.
          const int in_step = bits == 4 ? (v / 2 + v % 2 * 4) * 4 : v * 8;
          const int bit = step * per_step + in_step;  // of the thread's units, one behind the other
          const int want = unit_place(type, half, t, bit / 128) * 8 + bit % 128;
          const CodePlace at = code_place(type, row, k);
          const int have = at.byte * 8 + at.bit;
          if (have != want || have / bits >= panel_rows * chunk_k || written[have / bits])
            return why << "code (" << int64_t{row} << "," << int64_t{k} << ") lies at bit " << int64_t{have}
                       << " of its chunk, but the thread that multiplies it reads bit " << int64_t{want};
          written[have / bits] = true;
          const int scale = pair_place(half, t) + (v / 2 % 2 * 2 + k / block_k) * 2;
          if (scale_place(row, k / block_k) != scale || scale + 2 > scale_bytes)
            return why << "the scale of row " << int64_t{row} << " and block " << int64_t{k / block_k} << " lies at byte "
                       << int64_t{scale_place(row, k / block_k)} << ", but its thread reads byte " << int64_t{scale};
        }
    }
  return why;
}

// What is the same for several configurations, or long, is found once and by itself.
template <DType kType>
inline constexpr layout::Text packing = check_packing(kType);
template <class Tile>
inline constexpr layout::Text tile_is_right = check_tile<Tile>("a tile");
template <class Tile>
inline constexpr layout::Text operand_is_right = check_operand<Tile>("A");
template <class Config>
inline constexpr AccessReport access_of_boxes = gemm::box_access<Config>();

// Wavefronts of the worst read of a warp.
constexpr AccessReport code_access(DType type) {
  AccessReport report{"reads of codes", hw::SharedAccess::b128};
  const auto banks = hw::bank_conflicts(report.access, [&](int lane) { return int64_t{unit_place(type, 0, lane, 0)}; });
  report.wavefronts = banks->total;
  report.ideal = banks->ideal;
  return report;
}
constexpr AccessReport scale_access() {
  AccessReport report{"reads of scales", hw::SharedAccess::b64};
  const auto banks = hw::bank_conflicts(report.access, [](int lane) { return int64_t{pair_place(0, lane)}; });
  report.wavefronts = banks->total;
  report.ideal = banks->ideal;
  return report;
}

template <class Config>
constexpr Chain chain() {
  using X = typename Config::XTile;
  using Box = typename Config::Box;
  constexpr int blocks = 2 * Config::chunks;
  Chain c;
  c.kernel = "weight_only";
  c.tile = Config::name;
  c.plan = Config::plan();
  c.threads = Config::threads;
  // Scaled sums have two sets of products beside them; in any case two sets of fragments, and the codes of a stage.
  constexpr int products = Config::scaled_sums ? 2 * (Config::sums_of_x ? 2 : 1) : 0;
  c.accumulators = Config::accumulators * (1 + products);
  c.math_registers = Config::math_registers;
  c.producer_registers = Config::producer_registers;
  constexpr int codes = Config::chunks * (thread_units(Config::weights) * 4 + (has_minimum(Config::weights) ? 4 : 2));
  c.registers_needed = c.accumulators + 16 + codes + 20;
  c.registers_of_block = Config::producer_threads * Config::producer_registers +
                         128 * Config::math_warpgroups * Config::math_registers;
  c.blocks_per_multiprocessor = Occupancy(Config::shared_bytes, Config::threads, c.registers_of_block).blocks();

  if (!c.holds(Check::plan, check_plan(c.plan)) || !c.holds(Check::tile, tile_is_right<X>) ||
      !c.holds(Check::tile, tile_is_right<Box>) || !c.holds(Check::operand, operand_is_right<X>) ||
      !c.holds(Check::boxes, check_boxes<X>("A", X::rows)) ||
      !c.holds(Check::boxes, check_boxes<Box>("a box of D", Box::rows)) ||
      !c.holds(Check::fragments, packing<Config::weights>) ||
      !c.holds(Check::fragments, check_accumulators(Config::tile_n)) ||
      (sizeof(typename Config::Output) == 2 && !c.holds(Check::fragments, gemm::check_patches<Config>())))
    return c;

  c.tiles.add(tile_report<X>("A", true, X::rows));
  c.tiles.add(tile_report<Box>("box of D or C", false, Box::rows));
  c.accesses.add(code_access(Config::weights));
  c.accesses.add(scale_access());
  c.accesses.add(access_of_boxes<Config>);
  c.barriers.add({"full", Config::stages, 1, Config::weight_bytes + X::bytes});
  c.barriers.add({"empty", Config::stages, Config::empty_arrivals, 0});
  c.barriers.add({"C arrived", Config::math_warpgroups * Config::buffers, 1, Box::bytes});
  c.steps.add({"weights from global to shared memory", int64_t{Config::tile_m} * Config::tile_k});
  c.steps.add({"codes to operand A, in registers", int64_t{Config::tile_m} * Config::tile_k});
  c.steps.add({"A from global to shared memory", int64_t{Config::tile_n} * Config::tile_k});
  c.steps.add({"accumulators to the output tile", int64_t{Config::tile_m} * Config::tile_n});
  c.steps.add({"boxes to global memory", int64_t{Config::tile_m} * Config::tile_n});

  layout::Text bytes, banks, registers;
  if (Config::weight_bytes % 16 != 0 || Config::weight_bytes * 8 < blocks * 32 * panel_rows * code_bits(Config::weights))
    bytes << "a stage has " << int64_t{Config::weight_bytes} << " bytes of weights, which is no copy of whole chunks";
  for (const AccessReport& a : c.accesses)
    if (a.wavefronts != a.ideal && banks.length == 0)
      banks << a.name << " takes " << int64_t{a.wavefronts} << " wavefronts instead of " << int64_t{a.ideal};
  if (c.registers_needed > c.math_registers)
    registers << "a multiplying thread needs about " << int64_t{c.registers_needed} << " registers and has "
              << int64_t{c.math_registers};
  else if (c.blocks_per_multiprocessor < Config::resident)
    registers << int64_t{Config::resident} << " blocks are to fit a multiprocessor, of which "
              << int64_t{c.blocks_per_multiprocessor} << " do";
  c.holds(Check::bytes, bytes);
  c.holds(Check::banks, banks);
  c.holds(Check::registers, registers);
  return c;
}

}  // namespace warpfold::kernels::weight_only
