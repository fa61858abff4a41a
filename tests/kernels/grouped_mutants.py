#!/usr/bin/env python3
"""Breaks grouped products in one place at a time; their emulated test must notice.

Usage: grouped_mutants.py --test grouped_emulated_test.cpp --libraries a.a b.a ... [--subset] [--seeds n] [--only text]
--subset runs every sixteenth.
"""
from planted_bugs import check_headers

GEMM = "warpfold/kernels/gemm/"
GROUPED = GEMM + "grouped.h"

# (what is wrong, file, text, replacement)
MUTANTS = [
    ("nobody waits for the kernel before", GROUPED, "  hopper::grid_dependency_wait();\n", ""),
    ("a group's rows end where the tile does", GEMM + "grouped.h", "epilogue.output.m = tile.end_row;", ""),
    ("rows of the next group leave by TMA", GEMM + "epilogue.h", "at.row + Config::Box::rows > output.m ? 0 : output.tail()", "output.tail()"),
    ("the last tile of a group is left out", GROUPED, "return (end_row - first_row + Config::tile_m - 1) / Config::tile_m;", "return (end_row - first_row) / Config::tile_m;"),
    ("the next group is entered a tile late", GROUPED, "index >= row_tiles() * columns", "index > row_tiles() * columns"),
    ("a group without rows ends the walk", GROUPED, "while (group < groups.groups && index >=", "if (group < groups.groups && index >="),
    ("starts before the first row are not cut", GROUPED, "row < 0 ? 0 : row > all_rows ? all_rows : row", "row > all_rows ? all_rows : row"),
    ("ends past the last row are not cut", GROUPED, "row < 0 ? 0 : row > all_rows ? all_rows : row", "row < 0 ? 0 : row"),
    ("masked groups lie behind one another", GROUPED, "first_row = inside(int64_t{group} * groups.row_step);", "first_row = end_row;"),
    ("rows and columns of tiles exchanged", GROUPED, "return index / row_tiles() * Config::tile_n;", "return index % row_tiles() * Config::tile_n;"),
    ("all groups take the first B", GROUPED, "tile.group * groups.b_step", "0"),
    ("the other warpgroup's stages are not skipped", GROUPED, "ring.advance(tile.steps);", ""),
    ("K = 0 leaves the accumulators", GROUPED, "if (tile.steps == 0) clear<Config>(sums);", ""),
    ("scales of the first group", GROUPED, "epilogue.group = tile.group;", ""),
    ("one scale a matrix is taken as one a column", GEMM + "epilogue.h", "(v.step == 0 ? 1 : shape.n)", "shape.n"),
    ("scales of the tile's rows from the first on", GEMM + "launch_grouped.h", "{with_products ? p.row_scale : nullptr, 1}", "{with_products ? p.row_scale : nullptr, 0}"),
    ("no activation", GEMM + "launch_grouped.h", "{p.bias, 1}, p.activation,", "{p.bias, 1}, Activation::none,"),
    ("pointers are not looked up", GEMM + "grouped_copied.h", "b.data = hopper::load_global(pointers + tile.group);", "b.data = hopper::load_global(pointers);"),
    ("a pointer moves by the group, too", GEMM + "launch_grouped.h", "if (p.b_pointers != nullptr) b.batch_stride = 0;", ""),
    ("copied rows of the next group are of this one", GEMM + "grouped_copied.h", "tile.end_row, step", "row + 1, step"),
    ("copied B of the first group", GEMM + "grouped_copied.h", "shape.k, tile.group, same", "shape.k, 0, same"),
    ("the last copies are not handed over", GEMM + "grouped_copied.h", "  ring.finish();\n", ""),
]
check_headers(MUTANTS, 16)
