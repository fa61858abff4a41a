#!/usr/bin/env python3
"""Times grouped products in bf16 beside torch._grouped_mm and a loop of cuBLAS, in one process, in turn.
Usage: gemm_grouped.py libwarpfold.so [options]

Timed as gemm.py times. Sizes of the groups: rows dealt at random to the groups, the same for all; the loop of cuBLAS knows
them on the host, which the others do not need.
"""
import argparse

import torch

import gemm
from warpfold_c import Library

TILES = ["128x128", "128x192", "64x64"]


class Problem:
    def __init__(self, rows, groups, n, k):
        self.flops = 2 * rows * n * k
        self.bounds = torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(torch.randint(0, groups, (rows,)), minlength=groups).cumsum(0)])
        item = 2 * (rows * k + groups * n * k + rows * n)
        self.sets = [[torch.randn(rows, k, device="cuda").bfloat16(), torch.randn(groups, n, k, device="cuda").bfloat16(),
                      torch.empty(rows, n, device="cuda", dtype=torch.bfloat16)] for _ in range(max(1, -(-2 * gemm.L2_BYTES // item)))]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("library")
    p.add_argument("--rows", default="128,1024,8192,32768")
    p.add_argument("--shapes", default="8x4096x4096,64x2048x2048", help="groups x N x K")
    p.add_argument("--tiles", default="auto", help="auto or all")
    p.add_argument("--seconds", type=float, default=0.2)
    p.add_argument("--json")
    o = p.parse_args()
    torch.manual_seed(0)
    lib = Library(o.library)
    results = []
    print(f"{'rows x groups x N x K':>26} {'tile':8} {'us':>8} {'TFLOPS':>6} {'grouped_mm':>10} {'ratio':>6} {'loop':>8} {'ratio':>6}")
    for shape in o.shapes.split(","):
        groups, n, k = map(int, shape.split("x"))
        for rows in map(int, o.rows.split(",")):
            problem = Problem(rows, groups, n, k)
            starts = problem.bounds.int().cuda()
            ends, bounds = starts[1:].contiguous(), problem.bounds.tolist()
            calls = {d.data_ptr(): lib.grouped_problem(a, b, d, starts) for a, b, d in problem.sets}

            def loop(a, b, d):
                for g, (first, end) in enumerate(zip(bounds, bounds[1:])):
                    if end > first:
                        torch.mm(a[first:end], b[g].t(), out=d[first:end])

            peers = [loop]
            try:
                torch._grouped_mm(problem.sets[0][0], problem.sets[0][1].transpose(1, 2), offs=ends)
                peers.append(lambda a, b, d: torch._grouped_mm(a, b.transpose(1, 2), offs=ends))
            except (RuntimeError, AttributeError):
                pass
            names = ["auto"] + (TILES if o.tiles == "all" else [])
            runs = [lambda a, b, d, t=t: lib.gemm_grouped(calls[d.data_ptr()], lib.tiles.index(t) if t != "auto" else -1) for t in names]
            times = gemm.time_in_turn(peers + runs, problem, o.seconds * (len(runs) + len(peers)))
            grouped = times[1] if len(peers) > 1 else float("nan")
            for name, ms in zip(names, times[len(peers):]):
                r = {"rows": rows, "groups": groups, "n": n, "k": k, "tile": name, "us": ms * 1e3, "tflops": 1e-9 * problem.flops / ms,
                     "grouped_mm_us": grouped * 1e3 if len(peers) > 1 else None, "loop_us": times[0] * 1e3}
                results.append(r)
                print(f"{rows:6} x {groups:3} x {n:5} x {k:5} {name:8} {r['us']:8.1f} {r['tflops']:6.1f} {grouped * 1e3:10.1f} {grouped / ms:5.2f}x "
                      f"{r['loop_us']:8.1f} {times[0] / ms:5.2f}x", flush=True)
            del problem, calls, runs, peers
            torch.cuda.empty_cache()
    if o.json:
        gemm.save(o.json, results)


if __name__ == "__main__":
    main()
