// The proof of an attention configuration: global -> shared -> WGMMA -> scores -> operand A -> O -> global.
#pragma once

#include "warpfold/kernels/attention/config.h"
#include "warpfold/kernels/attention/values.h"
#include "warpfold/kernels/chain.h"

namespace warpfold::kernels::attention {

// Are the accumulators of a thread, packed, just operand A with keys in the order of values.h?
template <class Config>
constexpr layout::Text check_probabilities() {
  layout::Text why;
  constexpr int bytes = sizeof(typename Config::Element), depth = Config::depth;
  const layout::Layout scores = *hw::accumulator_fragment(Config::tile_keys);  // row + 64 column
  const layout::Layout operand = *hw::a_fragment(bytes);
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < (t < 8 ? Config::scores : depth / 2);
         ++i) {  // all fragments of 8 threads, one of all
      const int in = i % (depth / 2), group = in / 4, row = in / 2 % 2, e = in % 2;
      const int value = bytes == 2 ? in : group % 2 * 2 + e + 4 * row + 8 * (group / 2);  // to_operand
      const int64_t have = scores.mode(0)(t) + scores.mode(1)(i);
      const int64_t at = operand.mode(0)(t) + operand.mode(1)(value);
      const int position = int(at / 64) + i / (depth / 2) * depth,
                key = bytes == 2 ? position : key_of_position(position);
      if (have != at % 64 + int64_t{64} * key)
        return why << "thread " << int64_t{t} << ", accumulator " << int64_t{i} << " holds element " << have
                   << " of P, but operand A has " << at % 64 + int64_t{64} * key << " there";
    }
  return why;
}

// Does the transposition put V's keys in that order? Of 16 keys by 16 columns, by one lane's registers after
// another.
constexpr layout::Text check_transposition() {
  layout::Text why;
  const layout::Layout from = *hw::matrix_fragment(1, true),
                       to = *hw::matrix_fragment(1, false);  // row + 8 column
  for (int lane = 0; lane < 32; ++lane)
    for (int odd = 0; odd < 2; ++odd)
      for (int byte = 0; byte < 4; ++byte) {
        const int64_t source = from.mode(0)(lane) + from.mode(1)(byte % 2),
                      target = to.mode(0)(lane) + to.mode(1)(byte / 2);
        const int64_t key = byte / 2 * 8 + source % 8, column = source / 8 * 2 + odd;
        const int64_t position = target / 8 * 2 + byte % 2, row = target % 8 * 2 + odd;
        if (key != key_of_position(int(position)) || column != row)
          return why << "key " << key << " of column " << column << " comes to position " << position
                     << " of row " << row;
      }
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
  // Scores, probabilities as operand A and O live at the same time; beside them the softmax of two rows,
  // limits of the mask, stages and addresses.
  c.accumulators = Config::scores + 4 * Config::fragments * Config::p_buffers + Config::sums;
  c.math_registers = Config::math_registers;
  c.producer_registers = Config::producer_registers;
  c.registers_needed = c.accumulators + 24;
  c.registers_of_block = 128 * (Config::producer_registers + Config::math_warpgroups * Config::math_registers);
  const Occupancy occupancy(Config::shared_bytes, Config::threads, c.registers_of_block);
  c.blocks_per_multiprocessor = occupancy.blocks();

  using Q = typename Config::QTile;
  using K = typename Config::KTile;
  using V = typename Config::VTile;
  using Landing = typename Config::Landing;
  if (!c.holds(Check::plan, check_plan(c.plan)) || !c.holds(Check::tile, check_tile<Q>("Q")) ||
      !c.holds(Check::tile, check_tile<K>("K")) || !c.holds(Check::tile, check_tile<V>("V")) ||
      !c.holds(Check::tile, check_tile<Landing>("V as it comes")) ||
      !c.holds(Check::operand, check_operand<Q>("Q")) || !c.holds(Check::operand, check_operand<K>("K")) ||
      !c.holds(Check::operand, check_operand<V>("V")) ||
      !c.holds(Check::boxes, check_boxes<Q>("Q", Q::rows)) ||
      !c.holds(Check::boxes, check_boxes<K>("K", Config::share)) ||
      !c.holds(Check::boxes, check_boxes<Landing>("V", Config::share)) ||
      !c.holds(Check::fragments, check_accumulators(Config::tile_keys)) ||
      !c.holds(Check::fragments, check_probabilities<Config>()) ||
      (Config::eight_bit && !c.holds(Check::fragments, check_transposition())) ||
      !c.holds(Check::fragments, check_output(Config::v_head_dim)))
    return c;

  c.tiles.add(tile_report<Q>("Q of a warpgroup", true, Q::rows));
  c.tiles.add(tile_report<K>("K", true, Config::share));
  c.tiles.add(
      tile_report<Landing>(Config::eight_bit ? "V as it comes" : "V", !Config::eight_bit, Config::share));
  c.barriers.add({"Q full", Config::math_warpgroups, 1, Config::q_bytes});
  c.barriers.add({"Q empty", Config::math_warpgroups, 4, 0});
  c.barriers.add({"K full", Config::stages, 1, Config::k_bytes});
  c.barriers.add({"K empty", Config::stages, Config::empty_arrivals, 0});
  c.barriers.add(
      {"V full", Config::stages, Config::v_full_arrivals, Config::eight_bit ? 0 : Config::v_bytes});
  c.barriers.add({"V empty", Config::stages, Config::empty_arrivals, 0});
  if (Config::eight_bit) {
    c.barriers.add({"V came", Config::stages, 1, Config::landing_bytes});
    c.barriers.add({"V transposed", Config::stages, Config::transposing_warps, 0});
  }
  c.barriers.add({"tile full", Config::places, 1, 0});
  c.barriers.add({"tile empty", Config::places, Config::place_arrivals, 0});
  c.steps.add({"Q from global to shared memory", int64_t{Config::tile_rows} * Config::head_dim});
  c.steps.add({"K from global to shared memory", int64_t{Config::tile_keys} * Config::head_dim});
  c.steps.add({"V from global to shared memory", int64_t{Config::tile_keys} * Config::v_head_dim});
  c.steps.add({"scores to probabilities as operand A", int64_t{Config::tile_rows} * Config::tile_keys});
  c.steps.add({"O from registers to global memory", int64_t{Config::tile_rows} * Config::v_head_dim});

  layout::Text bytes, registers;
  const int expected[] = {Config::q_bytes, Config::k_bytes, Config::landing_bytes};
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
