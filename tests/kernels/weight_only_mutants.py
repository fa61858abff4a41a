#!/usr/bin/env python3
"""Breaks the weight-only kernel in one place at a time and checks that its emulated test notices.

Usage: weight_only_mutants.py --test weight_only_emulated_test.cpp --libraries a.a b.a ... [--subset] [--seeds n] [--only text]
--subset runs every twelfth.
"""
from planted_bugs import check_headers

HERE = "warpfold/kernels/weight_only/"

# (what is wrong, file, text, replacement)
MUTANTS = [
    ("A while the kernel before may still write it", HERE + "kernel.h", "  hopper::grid_dependency_wait();\n  RingCursor", "  RingCursor"),
    ("results while the kernel before may still read them", HERE + "kernel.h", "    hopper::grid_dependency_wait();\n", ""),
    ("producer skips the empty wait", HERE + "kernel.h", "hopper::mbarrier_wait(stages.empty(ring.stage), ring.parity ^ 1);", ""),
    ("producer waits on the wrong parity", HERE + "kernel.h", "stages.empty(ring.stage), ring.parity ^ 1)", "stages.empty(ring.stage), ring.parity)"),
    ("A before the kernel in front has ended its stages", HERE + "kernel.h", "first_lap = first_lap && ring.stage != 0;", ""),
    ("consumer skips the full wait", HERE + "kernel.h", "hopper::mbarrier_wait(stages.full(ring.stage), ring.parity);", ""),
    ("expected bytes forget A", HERE + "kernel.h", "Config::weight_bytes + weights.x_bytes", "Config::weight_bytes"),
    ("weights of the next step", HERE + "kernel.h", "weights.steps + at.step;", "weights.steps + at.step + 1;"),
    ("weights of the first row of tiles", HERE + "kernel.h", "int64_t{at.tile.row() / Config::tile_m} * weights.steps + at.step", "at.step"),
    ("stage released before the codes are read", HERE + "kernel.h", "hopper::mbarrier_wait(stages.full(ring.stage), ring.parity);\n",
     "hopper::mbarrier_wait(stages.full(ring.stage), ring.parity);\n    if (Config::scaled_sums) release_read(stages.empty(ring.stage));\n"),
    ("stage never released", HERE + "kernel.h", "      release_read(stages.empty(ring.stage));\n", ""),
    ("stage released while its products run", HERE + "kernel.h", "previous >= 0) release_read(stages.empty(previous));\n    }",
     "previous >= 0) release_read(stages.empty(previous));\n      if (!Config::scaled_sums && b == 0) release_read(stages.empty(ring.stage)), previous = -1;\n    }"),
    ("wait allows one group too many", HERE + "kernel.h", "wgmma_wait<1>", "wgmma_wait<2>"),
    ("last products are not waited for", HERE + "kernel.h", "hopper::wgmma_wait<0>();", ""),
    ("fragments are overwritten under their product", HERE + "kernel.h", "groups[b % 2], sums", "groups[0], sums"),
    ("no wgmma_fence", HERE + "kernel.h", "hopper::wgmma_fence();", ""),
    ("second step multiplies the first of A", HERE + "kernel.h", "group.a[s], advanced(x, X::descriptor_step(0, s))", "group.a[s], x"),
    ("blocks of a stage multiply its first of A", HERE + "kernel.h", "advanced(x, X::descriptor_step(0, 2 * b))", "x"),
    ("scaled products accumulate", HERE + "kernel.h", "!Config::scaled_sums || s > 0", "true"),
    ("sums of A accumulate", HERE + "kernel.h", "ones.a, advanced(x, X::descriptor_step(0, s)), s > 0", "ones.a, advanced(x, X::descriptor_step(0, s)), true"),
    ("scales of the first block", HERE + "kernel.h", "half_of(chunk.scales[half], block)", "half_of(chunk.scales[half], 0)"),
    ("scale of the upper row for both", HERE + "kernel.h", "const int half = i / 2 % 2;", "const int half = 0;"),
    ("minimum is left out", HERE + "kernel.h", "sums[0][i] += group.minimum[half] * group.of_x[i];", ";"),
    ("sums begin at one", HERE + "kernel.h", "sums[0][i] = 0;", "sums[0][i] = 1;"),
    ("first warpgroup's rows twice", HERE + "kernel.h", "tile.row() + warpgroup * 64", "tile.row()"),
    ("first warpgroup's codes twice", HERE + "kernel.h", "warpgroup, hopper::thread_id() % 128);", "0, hopper::thread_id() % 128);"),
    ("barriers not published", HERE + "kernel.h", "hopper::fence_mbarrier_init();", ""),
    ("nobody waits for the initialisation", HERE + "kernel.h", "  hopper::block_sync();\n", ""),
    ("partial tiles are finished by their owner, too", HERE + "kernel.h", "if (finishes) epilogue.store", "epilogue.store"),
    ("bias of Q4_0 off by one", HERE + "packed.h", "t == DType::kQ4_0 ? 8 : 0", "t == DType::kQ4_0 ? 7 : 0"),
    ("4-bit codes keep a neighbour's bit", HERE + "codes.h", "0x000F000F", "0x001F000F"),
    ("nibble exponent", HERE + "codes.h", "uint32_t(127 + e) << 23", "uint32_t(128 + e) << 23"),
    ("rounded weights take the first block's scale", HERE + "codes.h", "scale[half] = half_of(chunk.scales[half], block);", "scale[half] = half_of(chunk.scales[half], 0);"),
    ("rounded weights take one row's scale", HERE + "codes.h", "half = r % 2;", "half = 0;"),
    ("second unit of 8-bit codes is the first", HERE + "codes.h", "half, thread, unit)", "half, thread, 0)"),
    ("box of A is a row too high", HERE + "launch.h", "p.a.data, p.m, p.k, p.a", "p.a.data, p.m + 1, p.k, p.a"),
    ("row and column scales exchanged", HERE + "launch.h", "{with_products ? p.column_scale : nullptr, 1}", "{with_products ? p.row_scale : nullptr, 1}"),
    ("alpha = 0 reads A", HERE + "launch.h", "with_products = p.alpha != 0 && p.k > 0", "with_products = p.k > 0"),
    ("alpha is not finite and K = 0", HERE + "launch.h", "with_products ? p.alpha : 0", "p.alpha"),
    ("flag raised before the slot is written", HERE + "partial.h", "    sync();\n    if (thread() == 0) hopper::store_release", "    if (thread() == 0) hopper::store_release"),
    ("flag raised without release", HERE + "partial.h", "hopper::store_release(flag(hopper::block_id()), 1)", "hopper::store_global(flag(hopper::block_id()), 1)"),
    ("nobody waits for the flag", HERE + "partial.h", "while (hopper::load_acquire(flag(block)) == 0) {", "while (false) {"),
    ("flag stays up", HERE + "partial.h", "hopper::store_global(flag(block), 0);", ""),
    ("slots read before all flags are up", HERE + "partial.h", "    sync();\n    WF_UNROLL", "    WF_UNROLL"),
    ("one partial tile is added, not all", HERE + "partial.h", "block = hopper::block_id() - 1; block >= last", "block = last; block >= last"),
]

check_headers(MUTANTS, 12)
