// Every rule about the chip at compile time: the same assertions for g++, clang and nvcc.
#pragma once

#include "warpfold/layout/algebra.h"
#include "warpfold/layout/hardware/coalescing.h"
#include "warpfold/layout/hardware/fragments.h"
#include "warpfold/layout/hardware/synthesis.h"
#include "warpfold/layout/hardware/tma.h"

namespace warpfold::layout::hardware::static_cases {

// Tensor maps
constexpr SharedTile tile = require(canonical_tile(Major::k, SwizzleMode::b128, 2, 128, 64));
static_assert(tile.layout == "((8,16),(64,1)):((64,512),(1,8192))"_layout && tile.bytes() == 16384);
static_assert(swizzled_extent(Swizzle{3, 4, 3}, 144) == 160);
constexpr TileMap map = require(tile_map("(4096,4096):(4096,1)"_layout, tile));
static_assert(map.map.rank == 2 && map.map.box[0] == 64 && map.map.box[1] == 128 &&
              map.map.box_bytes() == 16384);
static_assert(check(map.map).none() && check_box(map.map, 64, 1024).none() &&
              !check_box(map.map, 4, 1024).none());
static_assert(tile_map("(4096,4096):(4100,1)"_layout, tile).reason().view() ==
              "dimension 1 moves 8200 bytes, which is no multiple of 16");

// Matrix descriptors
constexpr WgmmaOperand operand = require(wgmma_operand(tile, Major::k, 1024, 64));
static_assert(operand.blocks == 2 && operand.steps == 4 && operand.first.bits == 0x4000004000010040);
static_assert(descriptor_bits(operand, tile, 1, 1) == 0x4000004000010242);
static_assert(require(wgmma_descriptor(tile, Major::k, 1024, {64, 64, 16})).start == 1024 + 8192 + 32);
static_assert(encode(operand.first) == operand.first.bits);
static_assert(wgmma_k(2) == 16 && wgmma_has_n(24, true) && !wgmma_has_n(40, true));
static_assert(!wgmma_operand({"(64,64):(64,1)"_layout, {}, 2}, Major::k, 0).ok());
static_assert(wgmma_operand({"(512,64):(64,1)"_layout, {3, 4, 3}, 2}, Major::k, 0).why.rule ==
              Rule::wgmma_rows);
static_assert(canonical_tile(Major::k, SwizzleMode::b128, 2, int64_t{1} << 62, 64).why.rule ==
              Rule::wgmma_bytes);

// Banks and coalescing
static_assert(require(bank_conflicts(SharedAccess::matrix_x1, "8:64"_layout, {}, 2)).degree == 8);
static_assert(require(bank_conflicts(SharedAccess::matrix_x1, "8:64"_layout, {3, 4, 3}, 2)).degree == 1);
static_assert(!bank_conflicts(SharedAccess::b128, "32:4"_layout, {}, 2).ok());
static_assert(require(coalescing(16, "32:8"_layout, 2)).sectors == 16 &&
              !coalescing(3, "32:1"_layout, 1).ok());

// Fragments
static_assert(require(accumulator_fragment(8)) == "((4,8,4),(2,2,1)):((128,1,16),(64,8,512))"_layout);
static_assert(require(a_fragment(2)) == "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))"_layout &&
              !a_fragment(8).ok());
static_assert(require(matrix_fragment(4, false)) == "((4,8),(2,4)):((16,1),(8,64))"_layout);
static_assert(require(matrix_fragment(4, true)) == "((4,8),(2,4)):((2,8),(1,64))"_layout);
static_assert(matrix_row_lanes(2) == "(8,2):(1,64)"_layout && quarter_row_lanes() == "(16,2):(1,128)"_layout);
static_assert(quarter_fragment() == "((4,8),(2,2,2)):((32,1),(16,8,128))"_layout);

// Synthesis: 8 rows of 32 bytes, read by columns
constexpr TilePattern columns[] = {{SharedAccess::matrix_x1, "8:32"_layout, 1}};
constexpr Synthesis best = require(synthesise(8, 32, columns, 1));
static_assert(best.plain == 2 && best.wavefronts == 1 && best.best.swizzle == Swizzle{1, 4, 3} &&
              best.best.tma);
static_assert(!synthesise(0, 32, columns, 1).ok());

}  // namespace warpfold::layout::hardware::static_cases
