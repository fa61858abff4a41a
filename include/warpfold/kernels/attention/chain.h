// The proof of an attention configuration: global -> shared -> WGMMA -> scores -> operand A -> O -> global.
#pragma once

#include "warpfold/kernels/attention/config.h"
#include "warpfold/kernels/chain.h"

namespace warpfold::kernels::attention {

// Are the accumulators 8 j .. 8 j + 7 of a thread, packed in pairs, just operand A of columns 16 j .. 16 j + 15? Both
// layouts are sums of a part of the thread and a part of the register, so the parts are compared.
constexpr layout::Text check_probabilities(int keys) {
  layout::Text why;
  const layout::Layout scores = *hw::accumulator_fragment(keys), operand = *hw::a_fragment(2);  // row + 64 column
  for (int t = 0; t < 128; ++t)
    if (scores.mode(0)(t) != operand.mode(0)(t))
      return why << "thread " << int64_t{t} << " has other rows and columns of P than of operand A";
  for (int i = 0; i < keys / 2; ++i)
    if (const int64_t have = scores.mode(1)(i), want = operand.mode(1)(i % 8) + int64_t{64} * 16 * (i / 8); have != want)
      return why << "accumulator " << int64_t{i} << " holds element " << have << " of P, but operand A has " << want
                 << " there";
  return why;
}

// Do the quads' exchanges give each lane 8 columns in a row? Lane q of a quad ends with word q of lanes 0 to 3.
constexpr layout::Text check_output(int columns) {
  layout::Text why;
  for (int lane = 0; lane < 4; ++lane)
    for (int i = 0; i < columns / 2; i += 16)  // registers of 32 columns
      for (int from = 0; from < 4; ++from)
        for (int half = 0; half < 2; ++half) {
          const int have = hopper::accumulator_column(from, i + 4 * lane + half);  // register that `from` sends
          const int want = i / 4 * 8 + lane * 8 + from * 2 + half;                 // where the lane stores it
          if (have != want)
            return why << "lane " << int64_t{lane} << " stores column " << int64_t{have} << " at " << int64_t{want};
        }
  return why;
}

template <class Config>
constexpr Chain chain() {
  Chain c;
  c.kernel = "attention";
  c.tile = Config::name;
  c.plan = Config::plan();
  c.threads = Config::threads;
  c.cluster = Config::cluster;
  // Scores, probabilities as operand A and O live at the same time; beside them the softmax of two rows, limits of the
  // mask, stages and addresses.
  c.accumulators = Config::scores + 4 * Config::fragments + Config::sums;
  c.math_registers = Config::math_registers;
  c.producer_registers = Config::producer_registers;
  c.registers_needed = c.accumulators + 24;
  c.registers_of_block = 128 * (Config::producer_registers + Config::math_warpgroups * Config::math_registers);
  const Occupancy occupancy(Config::shared_bytes, Config::threads, c.registers_of_block);
  c.blocks_per_multiprocessor = occupancy.blocks();

  using Q = typename Config::QTile;
  using K = typename Config::KTile;
  using V = typename Config::VTile;
  if (!c.holds(Check::plan, check_plan(c.plan)) || !c.holds(Check::tile, check_tile<Q>("Q")) ||
      !c.holds(Check::tile, check_tile<K>("K")) || !c.holds(Check::tile, check_tile<V>("V")) ||
      !c.holds(Check::operand, check_operand<Q>("Q")) || !c.holds(Check::operand, check_operand<K>("K")) ||
      !c.holds(Check::operand, check_operand<V>("V")) || !c.holds(Check::boxes, check_boxes<Q>("Q", Q::rows)) ||
      !c.holds(Check::boxes, check_boxes<K>("K", Config::share)) ||
      !c.holds(Check::boxes, check_boxes<V>("V", Config::share)) ||
      !c.holds(Check::fragments, check_accumulators(Config::tile_keys)) ||
      !c.holds(Check::fragments, check_probabilities(Config::tile_keys)) ||
      !c.holds(Check::fragments, check_output(Config::v_head_dim)))
    return c;

  c.tiles.add(tile_report<Q>("Q of a warpgroup", true, Q::rows));
  c.tiles.add(tile_report<K>("K", true, Config::share));
  c.tiles.add(tile_report<V>("V", true, Config::share));
  c.barriers.add({"Q full", Config::math_warpgroups, 1, Config::q_bytes});
  c.barriers.add({"Q empty", Config::math_warpgroups, 4, 0});
  c.barriers.add({"K full", Config::stages, 1, Config::k_bytes});
  c.barriers.add({"K empty", Config::stages, Config::empty_arrivals, 0});
  c.barriers.add({"V full", Config::stages, 1, Config::v_bytes});
  c.barriers.add({"V empty", Config::stages, Config::empty_arrivals, 0});
  c.barriers.add({"tile full", Config::places, 1, 0});
  c.barriers.add({"tile empty", Config::places, Config::math_warps + 1, 0});
  c.steps.add({"Q from global to shared memory", int64_t{Config::tile_rows} * Config::head_dim});
  c.steps.add({"K from global to shared memory", int64_t{Config::tile_keys} * Config::head_dim});
  c.steps.add({"V from global to shared memory", int64_t{Config::tile_keys} * Config::v_head_dim});
  c.steps.add({"scores to probabilities as operand A", int64_t{Config::tile_rows} * Config::tile_keys});
  c.steps.add({"O from registers to global memory", int64_t{Config::tile_rows} * Config::v_head_dim});

  layout::Text bytes, registers;
  const int expected[] = {Config::q_bytes, Config::k_bytes, Config::v_bytes};
  int i = 0;
  for (const TileReport& t : c.tiles) {
    if (t.map.box_bytes() * t.boxes != expected[i])
      bytes << t.name << " expects " << int64_t{expected[i]} << " bytes, but its boxes bring " << t.map.box_bytes() * t.boxes;
    ++i;
  }
  if (c.registers_needed > c.math_registers)
    registers << "a multiplying thread needs about " << int64_t{c.registers_needed} << " registers and has "
              << int64_t{c.math_registers};
  else if (c.blocks_per_multiprocessor < 1)
    registers << "the warpgroups ask for " << int64_t{c.registers_of_block} << " registers; a multiprocessor has 65536";
  c.holds(Check::bytes, bytes);
  c.holds(Check::registers, registers);
  return c;
}

}  // namespace warpfold::kernels::attention
