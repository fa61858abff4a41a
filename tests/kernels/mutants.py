#!/usr/bin/env python3
"""Breaks a kernel in one place at a time and checks that its emulated test notices.

Usage: mutants.py --test gemm_emulated_test.cpp --libraries a.a b.a ... [--subset] [--seeds n] [--only text]
Each mutant is compiled with the changed header in front of the include path. A mutant that survives is a failure, and so
is one that no longer compiles or whose text is not in the source. --subset runs every fourth.
"""
import pathlib
import tempfile

from planted_bugs import check, compile_and_run, parser

ROOT = pathlib.Path(__file__).resolve().parents[2]
GEMM = "warpfold/kernels/gemm/"
PIPELINE = "warpfold/kernels/pipeline.h"

# (what is wrong, file, text, replacement)
MUTANTS = [
    ("producer skips the empty wait", GEMM + "kernel.h",
     "hopper::mbarrier_wait(stages.empty(ring.stage), ring.parity ^ 1);", ""),
    ("producer waits on the wrong parity", GEMM + "kernel.h", "ring.parity ^ 1)", "ring.parity)"),
    ("consumer skips the full wait", GEMM + "kernel.h", "hopper::mbarrier_wait(stages.full(ring.stage), ring.parity);", ""),
    ("consumer waits on the wrong parity", GEMM + "kernel.h", "stages.full(ring.stage), ring.parity)",
     "stages.full(ring.stage), ring.parity ^ 1)"),
    ("expected bytes forget B", GEMM + "launch.h", " + b_rows * Config::cluster * B::columns * B::span;", ";"),
    ("stage released while its products run", GEMM + "kernel.h",
     "if (previous >= 0) release<Config::cluster>(stages.empty(previous));\n    previous",
     "release<Config::cluster>(stages.empty(ring.stage));\n    previous"),
    ("wait allows one group too many", GEMM + "kernel.h", "wgmma_wait<1>", "wgmma_wait<2>"),
    ("accumulators used before the last wait", GEMM + "kernel.h", "hopper::wgmma_wait<0>();", ""),
    ("accumulators scaled before the last wait", GEMM + "kernel.h", "pass_turn<Config>(warpgroup);\n  hopper::wgmma_wait<0>();",
     "pass_turn<Config>(warpgroup);\n  for (auto& block : sums) for (auto& x : block) x *= 2;\n  hopper::wgmma_wait<0>();\n"
     "  for (auto& block : sums) for (auto& x : block) x /= 2;"),
    ("last stage of a tile never released", GEMM + "kernel.h",
     "keep<Config>(sums);\n  if (previous >= 0) release<Config::cluster>(stages.empty(previous));", "keep<Config>(sums);"),
    ("ring parity never flips", "warpfold/kernels/pipeline.h", "parity ^= 1;", ""),
    ("skipped stages do not flip the parity", "warpfold/kernels/pipeline.h", "parity ^= uint32_t(stage / kStages) & 1;", ""),
    ("empty barrier expects one warp too many", GEMM + "config.h", "empty_arrivals = 4 * owners * cluster",
     "empty_arrivals = 4 * owners * cluster + 1"),
    ("empty barrier expects the warps of one block", GEMM + "config.h", "empty_arrivals = 4 * owners * cluster",
     "empty_arrivals = 4 * owners"),
    ("no barrier after the initialisation", PIPELINE, "    hopper::block_sync();\n", ""),
    ("only the block waits for the initialisation", PIPELINE,
     "    hopper::cluster_arrive<hopper::Order::relaxed>();\n    hopper::cluster_wait();\n  }\n}\n\n// Until",
     "    hopper::block_sync();\n  }\n}\n\n// Until"),
    ("initialisation not published", GEMM + "kernel.h", "hopper::fence_mbarrier_init();", ""),
    ("block leaves its cluster early", GEMM + "kernel.h",
     "leave_cluster<Config::cluster>();", ""),
    ("no wgmma_fence", GEMM + "kernel.h", "hopper::wgmma_fence();", ""),
    ("no proxy fence before the store", GEMM + "epilogue.h", "hopper::fence_async_shared();", ""),
    ("store before the warpgroup has written", GEMM + "epilogue.h",
     "hopper::fence_async_shared();\n      hopper::named_sync(1 + warpgroup, 128);", "hopper::fence_async_shared();"),
    ("buffer written under the store", GEMM + "epilogue.h", "hopper::bulk_wait_read<Config::buffers - 1>();", "{}"),
    ("store wait allows one box too many", GEMM + "epilogue.h", "bulk_wait_read<Config::buffers - 1>",
     "bulk_wait_read<Config::buffers>"),
    ("nobody waits for the leader before refilling", GEMM + "epilogue.h",
     "has left\n        hopper::named_sync(1 + warpgroup, 128);", "has left"),
    ("both warpgroups share a named barrier", GEMM + "epilogue.h", "named_sync(1 + warpgroup, 128)", "named_sync(1, 128)"),
    ("C is overwritten: its buffer is still being stored", GEMM + "epilogue.h",
     "hopper::bulk_wait_read<1>();  // box - 1 has left", "// box - 1 has left"),
    ("next tile's C before the last box has left", GEMM + "epilogue.h", "    hopper::bulk_wait_read<0>();\n    WF_UNROLL", "    WF_UNROLL"),
    ("nobody waits for C", GEMM + "epilogue.h",
     "hopper::mbarrier_wait(c_full(i), c_parity ^ uint32_t(box / Config::buffers % 2));", ""),
    ("parity of C does not follow the boxes", GEMM + "epilogue.h", "c_parity ^ uint32_t(box / Config::buffers % 2)", "c_parity"),
    ("parity of C is lost between tiles", GEMM + "epilogue.h", "c_parity ^= uint32_t(Config::boxes / Config::buffers % 2);", ""),
    ("C read with beta = 0", GEMM + "epilogue.h", "Config::exact || scaling.beta == 0 || !leader()", "Config::exact || !leader()"),
    ("tail of N left to TMA", GEMM + "epilogue.h", "c >= output.tail() && c < output.n", "c >= output.n"),
    ("tail of N not clipped", GEMM + "epilogue.h", "c >= output.tail() && c < output.n", "c >= output.tail()"),
    ("tail of M not clipped", GEMM + "epilogue.h", "r < output.m && c >=", "c >="),
    ("D's tensor map covers the tail", GEMM + "launch.h", "std::max(output.tail(), 16 / int(sizeof(Result)))", "p.n"),
    ("A's tensor map is a row too long", GEMM + "launch.h", "a_by_rows ? m : p.k, a_by_rows ? p.k : m, left",
     "(a_by_rows ? m : p.k) + 1, a_by_rows ? p.k : m, left"),
    ("a row scale past the last row", GEMM + "epilogue.h", "element_or(scaling.row_scale, r, shape.m, 1)",
     "element_or(scaling.row_scale, r, shape.m + 1, 1)"),
    ("descriptor ignores the second block of rows", GEMM + "kernel.h", "A::descriptor_step(r * 64, step)", "A::descriptor_step(0, step)"),
    ("second warpgroup multiplies the first one's rows", GEMM + "kernel.h", "descriptor(first_row), b", "descriptor(0), b"),
    ("stmatrix without swizzle", "warpfold/hopper/tile.h", "return swizzled<Shape::swizzle>(address + Shape::offset(row, x));",
     "return address + Shape::offset(row, x);"),
    ("first product accumulates", GEMM + "kernel.h", "first_row, i > 0);", "first_row, true);"),
    ("K = 0 leaves the accumulators", GEMM + "kernel.h", "accumulators[r][i] = 0;", "accumulators[r][i] = 1;"),
    ("nobody waits for its turn", GEMM + "kernel.h", "hopper::named_sync(3 + warpgroup, 256);",
     "(void)warpgroup;"),
    ("the first turn is never given", GEMM + "kernel.h",
     "if (!mine) pass_turn<Config>(warpgroup);", ""),
    ("the other warpgroup's stages are not skipped", GEMM + "kernel.h",
     "      ring.advance(count);\n", ""),
    ("multicast reaches one block", GEMM + "kernel.h", "(1 << Config::cluster) - 1", "1"),
    ("both blocks fetch the same half of B", GEMM + "kernel.h", "first, column + first, k, batch_b", "first, column, k, batch_b"),
    ("band does not end at the last row", GEMM + "raster.h", "rows - band_start() < band ? rows - band_start() : band", "band"),
    ("32-bit stores take a value from the wrong patch", GEMM + "epilogue.h", "Pair<Value> d{first ? left[i] : right[i]",
     "Pair<Value> d{first ? right[i] : left[i]"),
    ("32-bit stores of two rows meet in the same banks", GEMM + "config.h", "(lane / 4 % 2 != 0)", "(lane / 8 % 2 != 0)"),
    ("row scales of the upper half only", GEMM + "epilogue.h", "rows.half[i / 2]", "rows.half[0]"),
    ("row factors of the first block of rows", GEMM + "epilogue.h", "const int lane = r * 16 + h * 8", "const int lane = h * 8"),
    ("column factors are those of the first 8 columns", GEMM + "epilogue.h", "column_factor(column + Config::factor_column(hopper::lane_id()))",
     "column_factor(Config::factor_column(hopper::lane_id()))"),
    ("scales past the last column", GEMM + "epilogue.h", "v.data != nullptr && i < size ?", "v.data != nullptr ?"),
    ("C is waited for, the factors are not", GEMM + "epilogue.h",
     "if (Config::factors && box == 0) hopper::named_sync(1 + warpgroup, 128);  // all factors are there", ""),
    ("gate and up exchanged", GEMM + "epilogue.h", "j % 16 < 8 ? 0 : scaling.up", "j % 16 < 8 ? scaling.up : 0"),
    ("up comes from the next gate", GEMM + "epilogue.h", "scale(up, v + 4, rows, column + 8);", "scale(up, v + 8, rows, column + 8);"),
    ("gated B is not alternating", GEMM + "launch.h", "map.stride[2] = interleaved ? p.b.stride : p.n * p.b.stride;",
     "map.stride[2] = p.b.stride;"),
    ("a swapped box is written without transposing", GEMM + "epilogue.h", "hopper::stmatrix<4, Config::swapped>", "hopper::stmatrix<4, false>"),
    ("C of a swapped box is read without transposing", GEMM + "epilogue.h", "hopper::ldmatrix<4, Config::swapped>", "hopper::ldmatrix<4, false>"),
    ("batches of A are taken from the first", GEMM + "kernel.h", "tile.batch() * batch_step.a", "0"),
    ("all batches of B although there is one", GEMM + "launch.h", "right.batch_stride != 0", "1"),
    ("tail of D in the first batch", GEMM + "epilogue.h", "at.batch * output.batch_stride + r", "r"),
    ("promoted products accumulate", GEMM + "kernel.h", "first_row, false);", "first_row, true);"),
    ("promoted products read before the wait", GEMM + "kernel.h", "      begin(0);\n      hopper::wgmma_wait<0>();", "      begin(0);"),
    ("promoted stage released before its products", GEMM + "kernel.h", "hopper::mbarrier_wait(stages.full(ring.stage), ring.parity);\n    multiply_stage<Config>(products",
     "hopper::mbarrier_wait(stages.full(ring.stage), ring.parity);\n    release<Config::cluster>(stages.empty(ring.stage));\n    multiply_stage<Config>(products"),
    ("flag raised before the slot is written", GEMM + "partial.h", "    hopper::named_sync(named_barrier, 128);\n    if (leader()) hopper::store_release",
     "    if (leader()) hopper::store_release"),
    ("flag raised without release", GEMM + "partial.h", "hopper::store_release(flag(hopper::block_id()), 1)", "hopper::store_global(flag(hopper::block_id()), 1)"),
    ("nobody waits for the flag", GEMM + "partial.h", "while (hopper::load_acquire(flag(block)) == 0) {", "while (false) {"),
    ("only the leader waits for the flag", GEMM + "partial.h", "while (hopper::load_acquire(flag(block)) == 0)",
     "while (leader() && hopper::load_acquire(flag(block)) == 0)"),
    ("flag stays up", GEMM + "partial.h", "for (; block < hopper::block_id(); ++block) hopper::store_global(flag(block), 0);", ";"),
    ("flags lowered before all have read", GEMM + "partial.h", "hopper::named_sync(named_barrier, 128);  // all", "// all"),
    ("one partial tile is added, not all", GEMM + "partial.h", "reached = walk.piece(hopper::grid_blocks() - block)", "reached = end"),
    ("partial tiles are finished by their owner, too", GEMM + "kernel.h", "if (finishes) epilogue.store", "epilogue.store"),
    ("a block's piece ends late", GEMM + "raster.h", "last = piece(hopper::grid_blocks() - hopper::block_id());",
     "last = piece(hopper::grid_blocks() - hopper::block_id()) + 1;"),
    ("a split tile begins at its first step", GEMM + "raster.h", "Config::split ? begin - index * steps : 0", "0"),
    ("raster takes every band for the first", GEMM + "raster.h", "in_batch() / (band * columns) * band; }", "0; }"),
    ("alpha = 0 reads A and B", GEMM + "launch.h", "with_products = p.alpha != 0 && p.k > 0", "with_products = p.k > 0"),
    ("alpha is not finite and K = 0", GEMM + "launch.h", "with_products ? p.alpha : 0", "p.alpha"),
    ("the stride of a single row is taken", GEMM + "launch.h", "rows == 1 ? (width + unit - 1) / unit * unit : o.stride", "o.stride"),
    ("ReLU of the negated", GEMM + "activation.h", "return y < 0 ? 0 : y;", "return y < 0 ? y : 0;"),
    ("GELU without its cube", GEMM + "activation.h", "0.044715f", "0.04f"),
    ("arrival at the own block only", PIPELINE, "mbarrier_arrive_remote(empty, hopper::lane_id())",
     "mbarrier_arrive_remote(empty, hopper::cluster_rank())"),
]


def outcome(mutant, options):
    name, file, old, new = mutant
    source = (ROOT / "include" / file).read_text()
    if old not in source:
        return "the text is not in " + file
    with tempfile.TemporaryDirectory() as folder:
        changed = pathlib.Path(folder, file)
        changed.parent.mkdir(parents=True)
        changed.write_text(source.replace(old, new))
        program = str(pathlib.Path(folder, "test"))
        run = compile_and_run(
            [options.compiler, "-std=c++20", "-O1", "-w", f"-I{folder}", f"-I{ROOT}/include", options.test,
             *options.libraries, "-lgtest", "-lgtest_main", "-lboost_context", "-lpthread", "-o", program],
            program, {"WF_SEEDS": str(options.seeds)})
    if isinstance(run, str):
        return run
    if run.returncode == 0:
        return "SURVIVES"
    said = [line for line in run.stdout.splitlines() if "Which is:" in line]
    return "caught: " + (said[0].split("Which is:")[1].strip()[:150] if said else f"exit status {run.returncode}")


def main():
    p = parser()
    p.add_argument("--test", required=True)
    p.add_argument("--libraries", nargs="+", required=True)
    p.add_argument("--seeds", type=int, default=6)
    check(MUTANTS, p.parse_args(), 4, lambda m: m[0], outcome)


main()
