#!/usr/bin/env python3
"""Times Warpfold's GEMM beside cuBLAS in one process. Usage: gemm.py libwarpfold.so [options]

Random normal data; own kernel and peer in turn; after 300 ms of warm-up the median of at least 30 runs, each a CUDA
graph of enough launches to last some 5 ms. Buffers rotate past twice the L2 cache.
"""
import argparse
import datetime
import json
import statistics

import torch

from warpfold_c import Library

# WGMMA alone on random data, measured on one H200 (TFLOPS).
WGMMA_LIMIT = {torch.bfloat16: 870, torch.float16: 834, torch.int8: 1895}
# Name: type of A and B, type of D. int8 with a 16-bit result is scaled by row and column.
TYPES = {"bf16": (torch.bfloat16, torch.bfloat16), "f16": (torch.float16, torch.float16),
         "int8": (torch.int8, torch.int32), "int8_bf16": (torch.int8, torch.bfloat16)}
L2_BYTES = 60 << 20


class Problem:
    def __init__(self, m, n, k, dtype, out):
        self.shape = (m, n, k)

        def operand(rows):
            if dtype == torch.int8:
                return (torch.randn(rows, k, device="cuda") * 40).clamp(-127, 127).to(torch.int8)
            return torch.randn(rows, k, device="cuda", dtype=dtype)

        item = dtype.itemsize * (m * k + n * k) + out.itemsize * m * n
        self.sets = [[operand(m), operand(n), torch.empty(m, n, device="cuda", dtype=out)]
                     for _ in range(max(1, -(-2 * L2_BYTES // item)))]
        self.scales = [None, None]
        if dtype == torch.int8 and out != torch.int32:
            self.scales = [torch.rand(r, device="cuda") + 0.5 for r in (m, n)]


def library_product(a, b, d):
    """cuBLAS; for int8 cuBLASLt with int32 sums, whatever D is."""
    if a.dtype == torch.int8:
        return torch._int_mm(a, b.t(), out=d) if d.dtype == torch.int32 else torch._int_mm(a, b.t())
    return torch.mm(a, b.t(), out=d)


def graph_of(run, problem, launches=None):
    """A graph of launches over all sets, and how many there are: some 5 ms of them unless `launches` says how many."""
    flops = 2 * problem.shape[0] * problem.shape[1] * problem.shape[2]
    launches = launches or max(len(problem.sets), min(200, int(5e-3 * 700e12 / flops) + 1))
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(side):
        for s in problem.sets[:2]:
            run(*s)
        side.synchronize()
        with torch.cuda.graph(graph, stream=side):
            for i in range(launches):
                run(*problem.sets[i % len(problem.sets)])
    return graph, launches


def time_in_turn(runs, problem, seconds, launches=None):
    """Median milliseconds of a launch for each of `runs`, timed in turn."""
    graphs = [graph_of(r, problem, launches) for r in runs]
    times = [[] for _ in runs]
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    total, warm = 0.0, 0.0
    while total < seconds or min(len(t) for t in times) < 30:
        for (graph, launches), t in zip(graphs, times):
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            ms = begin.elapsed_time(end)
            if warm < 300:
                warm += ms
            else:
                t.append(ms / launches)
                total += ms / 1e3
    return [statistics.median(t) for t in times]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("library")
    p.add_argument("--sizes", default="2048,4096,8192,16384", help="m or mxnxk, comma-separated")
    p.add_argument("--types", default="bf16")
    p.add_argument("--tiles", default="auto", help="auto, all, or names")
    p.add_argument("--seconds", type=float, default=1.0)
    p.add_argument("--json")
    o = p.parse_args()
    torch.manual_seed(0)
    lib = Library(o.library)
    results = []
    print(f"{'M x N x K':>22} {'type':9} {'tile':25} {'us':>9} {'TFLOPS':>7} {'limit':>6} {'cuBLAS':>7} {'ratio':>6}")
    for type_name in o.types.split(","):
        dtype, out = TYPES[type_name]
        for size in o.sizes.split(","):
            parts = [int(x) for x in size.split("x")]
            problem = Problem(*(parts * 3 if len(parts) == 1 else parts), dtype, out)
            m, n, k = problem.shape
            names = {"auto": ["auto"], "all": ["auto"] + lib.tiles}.get(o.tiles, o.tiles.split(","))
            calls = [[lib.problem(a, b, None, d, row=problem.scales[0], column=problem.scales[1]) for a, b, d in problem.sets] for _ in names]

            def own(index):
                tile = -1 if names[index] == "auto" else lib.tiles.index(names[index])
                by_output = {s[2].data_ptr(): c for s, c in zip(problem.sets, calls[index])}
                return lambda a, b, d: lib.gemm(by_output[d.data_ptr()], tile)

            runs = [library_product] + [own(i) for i in range(len(names))]
            times = time_in_turn(runs, problem, o.seconds * len(runs))
            for name, ms in zip(names, times[1:]):
                label = lib.chosen(calls[0][0]) + " *" if name == "auto" else name
                tflops, peer = (2e-9 * m * n * k / t for t in (ms, times[0]))
                print(f"{f'{m} x {n} x {k}':>22} {type_name:9} {label:25} {ms * 1e3:9.1f} {tflops:7.1f} "
                      f"{tflops / WGMMA_LIMIT[dtype]:6.1%} {peer:7.1f} {times[0] / ms:5.2f}x", flush=True)
                results.append({"m": m, "n": n, "k": k, "type": type_name, "tile": label, "us": ms * 1e3,
                                "tflops": tflops, "cublas_tflops": peer, "ratio": times[0] / ms})
    if o.json:
        about = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
                 "date": datetime.date.today().isoformat(), "data": "random normal", "results": results}
        with open(o.json, "w") as f:
            json.dump(about, f, indent=1)


if __name__ == "__main__":
    main()
