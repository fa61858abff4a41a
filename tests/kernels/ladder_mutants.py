#!/usr/bin/env python3
"""Leaves out or changes one line of a step of examples/gemm or examples/attention at a time and checks that the emulator notices.

Usage: ladder_mutants.py --library libwarpfold_hopper.a [--subset] [--only text]
Prints what the emulator says of each. A change that survives is a failure, and so is one that no longer compiles or
whose text is not in the source. --subset runs every twelfth.
"""
import pathlib
import shutil
import tempfile

from planted_bugs import check, compile_and_run, parser

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"

# (step, what is wrong, text, replacement)
GEMM = [
    ("02_shared", "products before the tiles are complete", "block_sync();  // the tiles are complete", ""),
    ("02_shared", "tiles overwritten while they are read", "block_sync();  // all have read them", ""),
    ("03_wgmma", "the products are not waited for", "wgmma_wait<0>();", ""),
    ("03_wgmma", "tiles overwritten while other warps read them", "block_sync();  // all four warps", "//"),
    ("03_wgmma", "the barrier is not published", "fence_mbarrier_init();", ""),
    ("03_wgmma", "products before the bytes have come", "mbarrier_wait(loaded, parity);", ""),
    ("03_wgmma", "expected bytes forget B", "C::ATile::bytes + C::BTile::bytes", "C::ATile::bytes"),
    ("04_pipeline", "a stage is filled while other warps read it", "wgmma_wait<1>();\n    block_sync();", "wgmma_wait<1>();"),
    ("04_pipeline", "a stage is filled while its products run", "wgmma_wait<1>();", ""),
    ("04_pipeline", "the stage before the first", "tile > 0 && next <", "next <"),
    ("05_producer", "the producer does not wait", "mbarrier_wait(stages.empty(ring.stage), ring.parity ^ 1);", ""),
    ("05_producer", "the producer waits on the wrong parity", "ring.parity ^ 1", "ring.parity"),
    ("05_producer", "one arrival too many expected", 'C::consumer_warps, "empty"', 'C::consumer_warps + 1, "empty"'),
    ("05_producer", "a stage is given back while its products run", "wgmma_wait<1>();", ""),
    ("05_producer", "the wrong stage is given back", "stages.empty(previous)", "stages.empty(ring.stage)"),
    ("06_two_consumers", "the arrivals of one consumer expected", '4 * C::consumers, "empty"', '4, "empty"'),
    ("06_two_consumers", "more registers than there are", "registers_increase<C::consumer_registers>",
     "registers_increase<C::consumer_registers + 8>"),
    ("06_two_consumers", "both consumers read the same rows", "descriptor(first_row)", "descriptor()"),
    ("06_two_consumers", "the producer keeps its registers", "registers_decrease<C::producer_registers>();", ""),
    ("07_cluster", "the arrivals of one block expected", '4 * C::consumers * C::cluster, "empty"', '4 * C::consumers, "empty"'),
    ("07_cluster", "only the block waits for the barriers", "cluster_sync();  // the other", "block_sync();  // the other"),
    ("07_cluster", "a block leaves its cluster", "cluster_arrive<Order::relaxed>();\n  cluster_wait();", ""),
    ("07_cluster", "arrivals at the own block only", "lane_id());\n", "cluster_rank());\n"),
    ("07_cluster", "both blocks fetch the same half", "column + first, x", "column, x"),
    ("07_cluster", "multicast reaches one block", "(1 << C::cluster) - 1", "1"),
    ("08_ping_pong", "a box is overwritten while TMA reads it", "if (leader()) bulk_wait_read<C::buffers - 1>();", ""),
    ("08_ping_pong", "a box is overwritten before the leader has waited", "sync();\n      const float", "const float"),
    ("08_ping_pong", "TMA does not see the box", "fence_async_shared();", ""),
    ("08_ping_pong", "a box leaves before all have written it", "sync();\n      if (!leader())", "if (!leader())"),
    ("08_ping_pong", "shared memory ends before the stores", "if (leader()) bulk_wait_read<0>();", ""),
    ("08_ping_pong", "the other's stages are not skipped", ", ring.advance(tiles_deep)) {", ") {"),
    ("08_ping_pong", "nobody waits for its turn", "    await_turn();\n    for", "    for"),
    ("08_ping_pong", "the first turn is never given", "ring.advance(tiles_deep);\n      pass_turn();", "ring.advance(tiles_deep);"),
    ("08_ping_pong", "the last stage is kept", "    release(previous);\n    WF", "    WF"),
    ("08_ping_pong", "the sums are stored before they are complete", "wgmma_wait<0>();", ""),
    ("08_ping_pong", "a block leaves its cluster", "cluster_arrive<Order::relaxed>();\n  cluster_wait();", ""),
]
# The same; after a colon the header that is changed.
ATTENTION = [
    ("01_unfused", "tiles overwritten while other warps read them", "block_sync();  // all four warps", "//"),
    ("01_unfused", "a quarter of the rows has no maximum", "for (int lanes = 16; lanes > 0; lanes /= 2) top", "for (int lanes = 8; lanes > 0; lanes /= 2) top"),
    ("02_fused", "K is overwritten while other warps read it", "block_sync();  // all warps have read K", ""),
    ("02_fused", "V is overwritten while other warps read it", "block_sync();  // all warps have read V", ""),
    ("02_fused", "products with V before it has come", "mbarrier_wait(v_loaded, n % 2);", ""),
    ("02_fused", "O of the keys before is not corrected", "softmax[r].rescale(sums[r]);", ""),
    ("02_fused", "shared memory ends before the store", "bulk_wait_read<0>();", ""),
    ("02_fused:tile.h", "TMA does not see O", "fence_async_shared();", ""),
    ("02_fused:tile.h", "the sum of the keys before is not corrected", "sum[r] *= correction[r];", ""),
    ("02_fused:tile.h", "half a quad has another maximum", "highest[r] = fmaxf(highest[r], shuffle_xor(highest[r], 2));", ""),
    ("02_fused:tile.h", "operand A has its rows exchanged", "p[i / 8][i / 2 % 4]", "p[i / 8][i / 2 % 4 ^ 1]"),
    ("03_stages", "a stage is filled while other warps read it", "block_sync();  // all warps have read K and V", ""),
    ("03_stages", "two tiles into one stage", "const int stage = n % C::stages;", "const int stage = 0;"),
    ("03_stages", "a tile past the last one is fetched", "thread_id() == 0 && n + 1 < shape.key_tiles", "thread_id() == 0"),
    ("04_producer", "the producer does not wait for K to be read", "mbarrier_wait(stages.k_empty(ring.stage), ring.parity ^ 1);", ""),
    ("04_producer", "the arrivals of one consumer expected", '4 * C::consumers, "V empty"', '4, "V empty"'),
    ("04_producer", "both consumers have the same rows of Q", "at.row + i * 64", "at.row"),
    ("05_ping_pong", "the first turn is never given", "if (warpgroup == C::consumers - 1) pass_turn();", ""),
    ("05_ping_pong", "the turn is passed to oneself", "named_arrive(1 + (warpgroup + 1) % C::consumers, 256)", "named_arrive(1 + warpgroup, 256)"),
    ("05_ping_pong", "V is read a tile late", "++n, v.advance()) {\n      k.advance();", "++n) {\n      k.advance();\n      v = k;"),
    ("05_ping_pong", "O is corrected while its product runs", "wgmma_wait<0>();\n      keep_in_registers(sums);\n      keep_in_registers(p);",
     "wgmma_wait<1>();"),
    ("06_overlap", "the softmax does not wait for its scores", "wgmma_wait<1>();", ""),
    ("06_overlap", "operand A is overwritten while its product runs",
     "wgmma_wait<0>();\n      keep_in_registers(sums);\n      keep_in_registers(p);", "keep_in_registers(sums);"),
    ("06_overlap", "the last tile's correction is forgotten", "softmax.rescale(sums);\n    issue", "issue"),
    ("06_overlap", "another stage of K is given back",
     "release(stages.k_empty(k.stage));\n      softmax.update(scores, scale_log2);\n      wgmma_wait<0>();",
     "softmax.update(scores, scale_log2);\n      release(stages.k_empty(v.stage));\n      wgmma_wait<0>();"),
]
MUTANTS = [("gemm", *m) for m in GEMM] + [("attention", *m) for m in ATTENTION]


def outcome(mutant, options):
    family, place, _, old, new = mutant
    step, _, header = place.partition(":")
    with tempfile.TemporaryDirectory() as folder:  # with the headers, as they find one another by their folder
        shutil.copy(EXAMPLES / "ladder.h", folder)
        shutil.copytree(EXAMPLES / family, pathlib.Path(folder, family))
        changed, program = pathlib.Path(folder, family, header or f"{step}.cpp"), str(pathlib.Path(folder, "changed"))
        source = changed.read_text()
        if source.count(old) != 1:
            return f"the text is {source.count(old)} times in {changed.name}"
        changed.write_text(source.replace(old, new))
        run = compile_and_run([options.compiler, "-std=c++20", "-O1", "-w", f"-I{ROOT}/include",
                               str(pathlib.Path(folder, family, f"{step}.cpp")), options.library, "-lboost_context", "-o", program],
                              program)
    if isinstance(run, str):
        return run
    if run.returncode == 0:
        return "SURVIVES"
    if run.returncode != 1:
        return f"exit status {run.returncode}"
    said = [line for line in run.stdout.splitlines() if "seed" in line]
    return "caught: " + said[0].split(": ", 1)[1] if said else "fails with no report"


def main():
    p = parser()
    p.add_argument("--library", required=True)
    check(MUTANTS, p.parse_args(), 12, lambda m: f"{m[0]} {m[1]}: {m[2]}", outcome)


main()
