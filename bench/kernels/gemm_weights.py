#!/usr/bin/env python3
"""Times products with quantised weights beside Warpfold's own bf16 GEMM and cuBLAS in bf16, in one process, in turn.
Usage: gemm_weights.py libwarpfold.so [options]

Timed as gemm.py times: random normal data and random codes, CUDA graphs of launches, buffers past twice the L2 cache.
"""
import argparse

import torch

import gemm
from warpfold_c import Library

BLOCK = {"Q8_0": 34, "Q4_0": 18, "Q4_1": 20}  # bytes of 32 weights


class Weights:
    """Random weights (N, K), packed, as often as passes twice the L2 cache, and bf16 weights of as many numbers."""

    def __init__(self, lib, weight_type, n, k):
        self.bytes = n * (k // 32) * BLOCK[weight_type]
        rows = torch.randint(0, 256, (n * (k // 32), BLOCK[weight_type]), dtype=torch.uint8)
        scales = torch.randn(rows.shape[0], 2 if weight_type == "Q4_1" else 1).mul(0.01).half()
        rows[:, :scales.shape[1] * 2] = scales.view(torch.uint8)
        packed = lib.pack(weight_type, n, k, rows.flatten())
        self.packed = [packed.clone() for _ in range(max(1, -(-2 * gemm.L2_BYTES // self.bytes)))]
        self.plain = [torch.randn(n, k, device="cuda").bfloat16() for _ in self.packed]


class Problem:
    def __init__(self, weights, m, n, k):
        self.flops = 2 * m * n * k
        self.sets = [[torch.randn(m, k, device="cuda").bfloat16(), w, b, torch.empty(m, n, device="cuda", dtype=torch.bfloat16)]
                     for w, b in zip(weights.packed, weights.plain)]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("library")
    p.add_argument("--rows", default="1,16,32,64,128,256,512,2048,8192")
    p.add_argument("--shapes", default="6144x4096,4096x4096,28672x4096,4096x14336", help="NxK")
    p.add_argument("--types", default="Q8_0,Q4_0,Q4_1")
    p.add_argument("--tiles", default="auto", help="auto or all")
    p.add_argument("--seconds", type=float, default=0.2)
    p.add_argument("--json")
    o = p.parse_args()
    torch.manual_seed(0)
    lib = Library(o.library)
    results = []
    print(f"{'M x N x K':>20} {'type':5} {'tile':14} {'us':>8} {'model':>8} {'GB/s':>5} {'TFLOPS':>6} {'own bf16':>9} {'ratio':>6} {'cuBLAS':>8} {'ratio':>6}")
    for weight_type in o.types.split(","):
        for shape in o.shapes.split(","):
            n, k = map(int, shape.split("x"))
            weights = Weights(lib, weight_type, n, k)
            for m in map(int, o.rows.split(",")):
                problem = Problem(weights, m, n, k)
                calls = {d.data_ptr(): (lib.weights_problem(weight_type, a, w, None, d), lib.problem(a, b, None, d)) for a, w, b, d in problem.sets}
                some = next(iter(calls.values()))[0]
                tiles = [-1] + (list(range(len(lib.weight_tiles))) if o.tiles == "all" else [])
                plans = {t: lib.weights_plan(some, t) for t in tiles}
                tiles = [t for t in tiles if plans[t] is not None and plans[t].workspace_bytes <= lib.workspace.numel()]
                if m > 256:
                    tiles = [t for t in tiles if t == -1 or t >= 2]
                runs = [lambda a, w, b, d: torch.mm(a, b.t(), out=d), lambda a, w, b, d: lib.gemm(calls[d.data_ptr()][1])]
                runs += [lambda a, w, b, d, t=t: lib.gemm_weights(calls[d.data_ptr()][0], t) for t in tiles]
                times = gemm.time_in_turn(runs, problem, o.seconds * len(runs))
                for tile, ms in zip(tiles, times[2:]):
                    label = lib.weight_tiles[plans[tile].tile] + (" *" if tile == -1 else "")
                    moved = weights.bytes + 2 * m * (n + k)
                    r = {"m": m, "n": n, "k": k, "type": weight_type, "tile": label, "us": ms * 1e3, "model_us": plans[tile].microseconds,
                         "gb_per_s": 1e-6 * moved / ms, "tflops": 1e-9 * problem.flops / ms, "bf16_us": times[1] * 1e3,
                         "ratio": times[1] / ms, "cublas_us": times[0] * 1e3, "cublas_ratio": times[0] / ms}
                    results.append(r)
                    print(f"{m:5} x {n:5} x {k:5} {weight_type:5} {label:14} {r['us']:8.1f} {r['model_us']:8.1f} {r['gb_per_s']:5.0f} "
                          f"{r['tflops']:6.1f} {r['bf16_us']:9.1f} {r['ratio']:5.2f}x {r['cublas_us']:8.1f} {r['cublas_ratio']:5.2f}x", flush=True)
                del problem, calls, some, runs
                torch.cuda.empty_cache()
    if o.json:
        gemm.save(o.json, results)


if __name__ == "__main__":
    main()
