#!/usr/bin/env python3
"""Breaks the copying of operands and results by threads in one place at a time; its emulated test must notice.

Usage: copied_mutants.py --test copied_emulated_test.cpp --libraries a.a b.a ... [--subset] [--seeds n] [--only text]
--subset runs every sixteenth.
"""
from planted_bugs import check_headers

GEMM = "warpfold/kernels/gemm/"
COPIED = GEMM + "copied.h"

# (what is wrong, file, text, replacement)
MUTANTS = [
    ("nobody waits for the kernel before", COPIED, "  hopper::grid_dependency_wait();\n", ""),
    ("producer skips the empty wait", COPIED, "hopper::mbarrier_wait(stages.empty(next.stage), next.parity ^ 1);", ""),
    ("copies are not shown to the tensor cores", COPIED, "    hopper::fence_async_shared();\n    hopper::mbarrier_arrive", "    hopper::mbarrier_arrive"),
    ("handed over before the copies have landed", COPIED, "copy_async_wait<lag>", "copy_async_wait<lag + 1>"),
    ("the last copies are not waited for", COPIED, "hopper::copy_async_wait<0>();", ""),
    ("the last stages are not handed over", COPIED, "while (flying > 0) hand_over();", ""),
    ("full expects one thread", GEMM + "config.h", "TileType::copied ? 128 : 1;", "1;"),
    ("full expects a warp less", GEMM + "config.h", "TileType::copied ? 128 : 1;", "TileType::copied ? 96 : 1;"),
    ("copies run too far ahead", COPIED, "constexpr int lag = 3;  // stages on their way\n  static_assert(lag <= Config::stages - 2,", "constexpr int lag = Config::stages;\n  static_assert(lag > 0,"),
    ("K is not filled up with zeros", COPIED, "const int left = row < size ? k_end - at : 0,", "const int left = row < size ? count : 0,"),
    ("a copy of 4 bytes reads past K", COPIED, "left < 0 ? 0 : left < kBytes ? left : kBytes", "left < 0 ? 0 : kBytes"),
    ("rows past the last are read", COPIED, "row < size ? k_end - at : 0", "k_end - at"),
    ("copies as if on 16 bytes", GEMM + "launch_copied.h", "all % 16 == 0 ? 16 : all % 8 == 0 ? 8 : all % 4 == 0 ? 4 : 0", "16"),
    ("the address does not count", GEMM + "launch_copied.h", "uintptr_t(o.data) | uintptr_t(s.row_step", "uintptr_t(s.row_step"),
    ("the batch stride does not count", GEMM + "launch_copied.h", "uintptr_t(s.batch_stride * int64_t{sizeof(Element)})", "0"),
    ("column-major operands read by rows", GEMM + "launch_copied.h", "s.row_step = o.column_major ? 1 :", "s.row_step = o.column_major ? o.stride :"),
    ("elements of a unit in reverse", COPIED, "load_global(bits + i * step)", "load_global(bits + (valid - 1 - i) * step)"),
    ("elements of a word overlap", COPIED, "|= x << i * int(sizeof(Element)) % 4 * 8", "|= x << i * int(sizeof(Element)) % 2 * 8"),
    ("tf32 is cut", COPIED, "return (x + 0xFFF + (x >> 13 & 1)) & ~0x1FFFu;", "return x & ~0x1FFFu;"),
    ("ties of tf32 go up", COPIED, "(x + 0xFFF + (x >> 13 & 1))", "(x + 0x1000)"),
    ("gate and up exchanged", COPIED, "(j % 16 < 8 ? 0 : scaling.up)", "(j % 16 < 8 ? scaling.up : 0)"),
    ("batches of A from the first", COPIED, "static_cast<const Element*>(s.data) + batch * s.batch_stride", "static_cast<const Element*>(s.data)"),
    ("a box is written while it is read", COPIED, "hopper::named_sync(named_barrier, 128);  // the box's", "// the box's"),
    ("C is used before it is there", COPIED, "      });\n      hopper::named_sync(named_barrier, 128);\n    }", "      });\n    }"),
    ("D leaves before it is there", COPIED, "box_sums, at);\n    hopper::named_sync(named_barrier, 128);", "box_sums, at);"),
    ("rows past the last are stored", COPIED, " && at.row + r < e.output.m; r += 4)", "; r += 4)"),
    ("columns past the last are stored", COPIED, " && at.column + c < e.output.n; c += 32)", "; c += 32)"),
    ("half of a row is stored", COPIED, "c < Config::Box::across &&", "c < Config::Box::across / 2 &&"),
    ("C of the first batch", COPIED, "+ at.batch * e.map_c.batch_stride", ""),
    ("C with D's stride", COPIED, "c + i * e.map_c.row_step + j", "c + i * e.output.stride + j"),
]
check_headers(MUTANTS, 16)
