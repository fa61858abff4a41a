#!/usr/bin/env python3
"""Breaks the attention kernel in one place at a time and checks that its emulated test notices.

Usage: attention_mutants.py --test attention_emulated_test.cpp --libraries a.a ... [--subset] [--seeds n] [--only text]
A mutant that survives is a failure, and so is one that no longer compiles or whose text is not in the source. --subset
runs every twelfth.
"""
from planted_bugs import check_headers

FOLDER = "warpfold/kernels/attention/"
KERNEL, RASTER, SOFTMAX, OUTPUT = (FOLDER + x for x in ("kernel.h", "raster.h", "softmax.h", "output.h"))
LAUNCH, CONFIG, PIPELINE = FOLDER + "launch.h", FOLDER + "config.h", "warpfold/kernels/pipeline.h"

# (what is wrong, file, text, replacement)
MUTANTS = [
    ("K loaded into a stage in use", KERNEL, "hopper::mbarrier_wait(shared.k_empty(k.stage), k.parity ^ 1);", ""),
    ("V loaded into a stage in use", KERNEL, "hopper::mbarrier_wait(shared.v_empty(v.stage), v.parity ^ 1);", ""),
    ("Q loaded over rows in use", KERNEL, "hopper::mbarrier_wait(shared.q_empty(w), parity);", ""),
    ("scores before K is there", KERNEL,
     "hopper::mbarrier_wait(shared.k_full(stage(count)), parity(count));", ""),
    ("P V before V is there", KERNEL,
     "hopper::mbarrier_wait(shared.v_full(stage(values)), parity(values));\n    const uint64_t b", "const uint64_t b"),
    ("Q not waited for", KERNEL, "hopper::mbarrier_wait(shared.q_full(warpgroup), q_parity);", ""),
    ("parity of Q does not follow the tiles", KERNEL, "for (;; q_parity ^= 1)", "for (;;)"),
    ("scores used, and K released, while Q K^T runs", KERNEL, "finish_scores<1>", "finish_scores<2>"),
    ("O used, and V released, while P V runs", KERNEL, "hopper::wgmma_wait<0>();\n    hopper::keep_in_registers(sums);",
     "hopper::keep_in_registers(sums);"),
    ("probabilities overwritten under P V", KERNEL, "finish_values(sums, p);\n    to_probabilities(p, scores);",
     "to_probabilities(p, scores);\n    finish_values(sums, p);"),
    ("O rescaled under P V", KERNEL, "rescale(sums, weights);\n    issue_values(sums, p);\n    pass_turn",
     "issue_values(sums, p);\n    rescale(sums, weights);\n    pass_turn"),
    ("O not rescaled", KERNEL, "sums[i] *= weights.correction[i / 2 % 2];", ";"),
    ("O not rescaled for the last keys", KERNEL, "release_queries();\n      rescale(sums, weights);", "release_queries();"),
    ("the first turn is never given", KERNEL,
     "if (warpgroup == Config::math_warpgroups - 1) pass_turn();", ";"),
    ("a turn is passed to oneself", KERNEL, "(warpgroup + 1) % Config::math_warpgroups, 256", "warpgroup, 256"),
    ("a warpgroup that sees fewer keys takes fewer turns", KERNEL, "if (i < all) skip_turn();", ";"),
    ("skipped stages are released before they are full", KERNEL,
     "      hopper::mbarrier_wait(shared.v_full(stage(values)), parity(values));\n      hopper::warp_sync();",
     "      hopper::warp_sync();"),
    ("skipped keys of V are kept", KERNEL,
     "      release<Config::cluster>(shared.v_empty(stage(values)));\n      if (i < all)", "      if (i < all)"),
    ("skipped stages are not counted", KERNEL, "i <= count; ++i, ++values", "i <= count; ++i"),
    ("order of P's registers", KERNEL, "p[i / 8][i / 2 % 4] =", "p[i / 8][i / 4 % 2 + i / 2 % 2 * 2] ="),
    ("causal limit off by one", KERNEL, "row + 1 + more < all ? row + 1 + more : all", "row + more < all ? row + more : all"),
    ("masking ends a tile early", KERNEL, "v.whole = every <= 0 ? 0 : every / Config::tile_keys",
     "v.whole = every <= 0 ? 0 : (every + Config::tile_keys - 1) / Config::tile_keys"),
    ("the limit of the first row for both", KERNEL, "hopper::accumulator_row(hopper::thread_id() % 128, 2 * r)",
     "hopper::accumulator_row(hopper::thread_id() % 128, 0)"),
    ("Q is released while it is multiplied", KERNEL, "{\n      Probabilities p;", "{\n      Probabilities p;\n      release_queries();"),
    ("the second warpgroup multiplies the first one's Q", KERNEL, "shared.q(warpgroup).descriptor()", "shared.q(0).descriptor()"),
    ("expected bytes forget a box", KERNEL, "mbarrier_arrive_expect_tx(full, Tile::Shape::bytes)",
     "mbarrier_arrive_expect_tx(full, Tile::Shape::bytes - 64)"),
    ("tile announced over one in use", KERNEL, "hopper::mbarrier_wait(shared.place_empty(places.stage), places.parity ^ 1);", ""),
    ("tile read before it is announced", KERNEL,
     "hopper::mbarrier_wait(shared.place_full(places.stage), places.parity);\n      const uint32_t place",
     "const uint32_t place"),
    ("tile released before its second reading", KERNEL, "attend(sums, weights, view, begin.key_tiles);",
     "hopper::warp_sync();\n      if (hopper::lane_id() == 0) hopper::mbarrier_arrive(shared.place_empty(places.stage));\n"
     "      attend(sums, weights, view, begin.key_tiles);"),
    ("the counter is not reset", KERNEL, "hopper::store_global(shape.claimed, 0);", ";"),
    ("every block resets the counter", KERNEL, "claim >= 0 && claim == order.count() - 1", "claim >= 0"),
    ("initialisation not published", KERNEL, "hopper::fence_mbarrier_init();", ""),
    ("nobody waits for the initialisation", PIPELINE, "    hopper::block_sync();\n", ""),
    ("no wgmma_fence", KERNEL, "hopper::wgmma_fence();", ""),
    ("KV head of another group", KERNEL, "tile.place.head / shape.heads_per_kv", "tile.place.head % shape.heads_per_kv"),
    ("sequences of K begin with the batch's first", KERNEL, "shape.k.ragged * (tile.extent.k_start + length)",
     "shape.k.ragged * length"),
    ("Q ends with the longest sequence", KERNEL, "shape.q.ragged * (shape.q.seqlen - length) + tile.place.row", "tile.place.row"),
    ("causal tiles take a key tile less", RASTER, "const int visible = end + k.length - q.length;",
     "const int visible = end + k.length - q.length - Config::tile_keys;"),
    ("no guard for rows without keys", SOFTMAX, "kMayBeEmpty && row == -INFINITY ? 0.0f : row", "row"),
    ("maximum of half the quad", SOFTMAX, "row = fmaxf(row, hopper::shuffle_xor(row, 2));", ""),
    ("sum of half the quad", SOFTMAX, "sum[r] += hopper::shuffle_xor(sum[r], 2);", ""),
    ("sum not corrected", SOFTMAX, "sum[r] *= correction[r];", ""),
    ("LSE in base 2", SOFTMAX, "* 0.6931471805599453f", ""),
    ("rows without keys are divided by 0", OUTPUT, "softmax.sum[r] == 0 ? 0 : 1 / softmax.sum[r]", "1 / softmax.sum[r]"),
    ("rows past the end are stored", OUTPUT, "row < tile.extent.seqlen_q", "row <= tile.extent.seqlen_q"),
    ("columns past the end are stored", OUTPUT, "if (inside && i / 4 * 8 + lane % 4 * 8 < out.columns)", "if (inside)"),
    ("a quad's words are exchanged wrongly", OUTPUT, "odd ? w0 : w1, 1)", "odd ? w1 : w0, 1)"),
    ("packed O is placed by batch", LAUNCH, "packed ? 0 : p.o.batch_stride", "p.o.batch_stride"),
    ("a tile does not end with its sequence", LAUNCH, "ragged ? seqlen * row_stride * int64_t(sizeof(Element)) : 0", "0"),
    ("the arrivals of one block expected", CONFIG, "math_warps * cluster;", "math_warps;"),
]

check_headers(MUTANTS, 12)
