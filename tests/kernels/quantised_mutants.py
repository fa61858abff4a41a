#!/usr/bin/env python3
"""Breaks zero points, results of 8 bits and the rows' largest values in one place at a time; their emulated test must notice.

Usage: quantised_mutants.py --test quantised_emulated_test.cpp --libraries a.a b.a ... [--subset] [--seeds n] [--only text]
--subset runs every sixteenth.
"""
from planted_bugs import check_headers

GEMM = "warpfold/kernels/gemm/"

# (what is wrong, file, text, replacement)
MUTANTS = [
    ("no product of both zero points", GEMM + "quantise.h", " - uint32_t(k) * uint32_t(zero))}", ")}"),
    ("the correction is not multiplied by the zero point", GEMM + "quantise.h", "uint32_t(row.zero) * uint32_t(column.sum)", "uint32_t(column.sum)"),
    ("row sums are added", GEMM + "quantise.h", "- uint32_t(column.zero)", "+ uint32_t(column.zero)"),
    ("zero points of rows and columns exchanged", GEMM + "launch.h", "{swapped ? b : a, swapped ? a : b,", "{swapped ? a : b, swapped ? b : a,"),
    ("one zero point is read as many", GEMM + "launch.h", "p.one_a_zero ? 0 : 1", "1"),
    ("many zero points are read as one", GEMM + "launch.h", "p.one_b_zero ? 0 : 1", "0"),
    ("sums of the first batch", GEMM + "launch.h", "p.a.batch_stride != 0 ? int(p.m) : 0", "0"),
    ("zero points past the last row", GEMM + "quantise.h", "if (i >= size) return {0, 0};", ""),
    ("zero points of the upper half of the rows", GEMM + "epilogue.h", "rows.zero[i / 2], i % 2", "rows.zero[0], i % 2"),
    ("zero points of the first columns", GEMM + "epilogue.h", "column_zero(column + Config::factor_column(hopper::lane_id()))", "column_zero(Config::factor_column(hopper::lane_id()))"),
    ("zero point of the other column", GEMM + "epilogue.h", "rows.zero[i / 2], i % 2 == 0 ? c.x : c.y", "rows.zero[i / 2], i % 2 == 0 ? c.y : c.x"),
    ("zero points of both warpgroups in one place", GEMM + "epilogue.h",
     "Config::offsets().zeros;\n    return shared + first + uint32_t(Config::factor_offset(warpgroup * Config::tile_n + column));",
     "Config::offsets().zeros;\n    return shared + first + uint32_t(Config::factor_offset(column));"),
    ("integers are corrected as floats", GEMM + "quantise.h", "return int32_t(uint32_t(sum) - uint32_t(row.zero)",
     "return int32_t(uint32_t(int32_t(float(sum))) - uint32_t(row.zero)"),
    ("codes are cut, not rounded", GEMM + "quantise.h", "int32_t((x + whole) - whole)", "int32_t(x)"),
    ("ties away from zero", GEMM + "quantise.h", "int32_t((x + whole) - whole)", "int32_t(x < 0 ? x - 0.5f : x + 0.5f)"),
    ("codes wrap around", GEMM + "quantise.h", "int8_t(q > 127 ? 127 : q < -128 ? -128 : q)", "int8_t(q)"),
    ("far values are not cut first", GEMM + "quantise.h", "x = x > far ? far : x < -far ? -far : x == x ? x : 0;", "x = x == x ? x : 0;"),
    ("the scale multiplies", GEMM + "quantise.h", "1 / hopper::load_global(q.output_scale)", "hopper::load_global(q.output_scale)"),
    ("the output's zero point is forgotten", GEMM + "quantise.h", "d[i] = quantise(y[i], inverse_scale, zero)", "d[i] = quantise(y[i], inverse_scale, 0 * zero)"),
    ("bytes of a pair exchanged", GEMM + "quantise.h", "Pair<int8_t>{d[i], d[i + 1]}", "Pair<int8_t>{d[i + 1], d[i]}"),
    ("tail of 8-bit results left to TMA", GEMM + "quantise.h", "  if (with_tail) e.store_tail(d, at, x);", ""),
    ("boxes of bytes have the swizzle of words", GEMM + "config.h", "box_row_bytes = swapped ? 64 * int(sizeof(Output)) : output_bytes", "box_row_bytes = swapped ? 128 : output_bytes"),
    ("columns past the last count as large", GEMM + "quantise.h", " || column + column_of(i) >= n) continue;", ") continue;"),
    ("rows past the last are raised", GEMM + "quantise.h", "if (mine && row + row_of(first) < m)", "if (mine)"),
    ("half of the lanes are asked for the largest", GEMM + "quantise.h", "mask <= last_mask", "mask < last_mask"),
    ("the upper of a lane's rows only", GEMM + "quantise.h", "Config::swapped ? h / 2 * 4 + h % 2 : h * 2;", "Config::swapped ? h / 2 * 4 : 0;"),
    ("the largest, not the largest size", GEMM + "quantise.h", "__builtin_bit_cast(int32_t, y) & 0x7FFFFFFF", "__builtin_bit_cast(int32_t, y)"),
    ("largest values of the first batch", GEMM + "quantise.h", "row_amax + int64_t{at.batch} * e.output.m", "row_amax"),
    ("no activation of integers", GEMM + "epilogue.h", "scale(y, less, rows, column);\n        activate(y, scaling.activation);", "scale(y, less, rows, column);"),
    ("bytes are summed without their signs", GEMM + "row_sums_kernel.h", "x ^= 0x80808080u;", ""),
    ("the tail of a row is not summed", GEMM + "row_sums_kernel.h", "for (int64_t k = whole + lane; k < p.k; k += 32)", "for (int64_t k = whole + lane; k + 32 < p.k; k += 32)"),
    ("a row on any address is read by 16 bytes", GEMM + "row_sums_kernel.h", "reinterpret_cast<uintptr_t>(row) % 16 == 0 ? p.k / 16 * 16 : 0", "p.k / 16 * 16"),
    ("sums of the first batch only", GEMM + "row_sums_kernel.h", "p.matrix + r / p.rows * p.batch_stride", "p.matrix"),
]
check_headers(MUTANTS, 16)
