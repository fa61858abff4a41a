#!/usr/bin/env python3
"""Times Warpfold's GEMM beside cuBLAS in one process. Usage: gemm.py libwarpfold.so [options]

Random normal data; own kernel and peer in turn; after 300 ms of warm-up the median of at least 30 runs, each a CUDA
graph of enough launches to last some 5 ms. Buffers rotate past twice the L2 cache.
"""
import argparse
import datetime
import json
import re
import statistics

import torch

from warpfold_c import Library

F8 = torch.float8_e4m3fn
# WGMMA alone on random data, measured on one H200 (TFLOPS).
WGMMA_LIMIT = {torch.bfloat16: 870, torch.float16: 834, torch.float32: 454, F8: 1695, torch.int8: 1895}
# Name: type of A and B, type of D. int8 with a 16-bit result is scaled by row and column, fp8 by tensor. float32 is
# multiplied as TF32. swiglu: silu (gate) * up of N columns each, beside a product of 2N columns and PyTorch's silu and mul.
TYPES = {"bf16": (torch.bfloat16, torch.bfloat16), "f16": (torch.float16, torch.float16),
         "bf16_f32": (torch.bfloat16, torch.float32), "tf32": (torch.float32, torch.float32),
         "e4m3": (F8, torch.bfloat16), "e4m3_promoted": (F8, torch.bfloat16),
         "int8": (torch.int8, torch.int32), "int8_bf16": (torch.int8, torch.bfloat16),
         "swiglu": (torch.bfloat16, torch.bfloat16)}
L2_BYTES = 60 << 20
torch.backends.cuda.matmul.allow_tf32 = True


class Problem:
    def __init__(self, batches, m, n, k, type_name):
        dtype, out = TYPES[type_name]
        self.name, self.batches, self.shape = type_name, batches, (m, n, k)
        self.flops = 2 * batches * m * n * k * (2 if type_name == "swiglu" else 1)
        b_rows = 2 * n if type_name == "swiglu" else n

        def operand(rows):
            x = torch.randn(*((batches,) if batches > 1 else ()), rows, k, device="cuda")
            return (x * 40).clamp(-127, 127).to(torch.int8) if dtype == torch.int8 else x.to(dtype)

        item = batches * (dtype.itemsize * (m * k + b_rows * k) + out.itemsize * m * n)
        shape = (batches, m, n) if batches > 1 else (m, n)
        self.sets = [[operand(m), operand(b_rows), torch.empty(*shape, device="cuda", dtype=out)]
                     for _ in range(max(1, -(-2 * L2_BYTES // item)))]
        self.scales = [None, None]
        if type_name == "int8_bf16":
            self.scales = [torch.rand(r, device="cuda") + 0.5 for r in (m, n)]
        elif dtype == F8:
            self.scales = [torch.rand(1, device="cuda") + 0.5 for _ in range(2)]

    def peer(self, a, b, d):
        """cuBLAS; for int8 cuBLASLt with int32 sums, whatever D is."""
        if a.dtype == torch.int8:
            return torch._int_mm(a, b.t(), out=d) if d.dtype == torch.int32 else torch._int_mm(a, b.t())
        if a.dtype == F8:
            return torch._scaled_mm(a, b.t(), *self.scales, out_dtype=d.dtype, use_fast_accum=True)
        if self.name == "swiglu":
            gate, up = torch.mm(a, b.t()).chunk(2, dim=1)
            return torch.mul(torch.nn.functional.silu(gate), up, out=d)
        if self.batches > 1:
            return torch.bmm(a, b.transpose(1, 2), out=d)
        if d.dtype != a.dtype:
            return torch.mm(a, b.t(), out_dtype=d.dtype)
        return torch.mm(a, b.t(), out=d)


def graph_of(run, problem, launches=None):
    """A graph of launches over all sets, and how many there are: some 5 ms of them unless `launches` says how many."""
    launches = launches or max(len(problem.sets), min(200, int(5e-3 * 700e12 / problem.flops) + 1))
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


def driver_version():
    try:
        words = open("/proc/driver/nvidia/version").readline().split()
    except OSError:
        return None
    return next((w for w in words if re.fullmatch(r"\d+(\.\d+)+", w)), None)


def save(path, results):
    about = {"device": torch.cuda.get_device_name(), "driver": driver_version(), "torch": torch.__version__, "cuda": torch.version.cuda,
             "date": datetime.date.today().isoformat(), "data": "random normal", "results": results}
    with open(path, "w") as f:
        json.dump(about, f, indent=1)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("library")
    p.add_argument("--sizes", default="2048,4096,8192,16384", help="m, mxnxk or batches x m x n x k, comma-separated")
    p.add_argument("--types", default="bf16")
    p.add_argument("--tiles", default="auto", help="auto, all, or names")
    p.add_argument("--seconds", type=float, default=1.0)
    p.add_argument("--json")
    o = p.parse_args()
    torch.manual_seed(0)
    lib = Library(o.library)
    results = []
    print(f"{'M x N x K':>22} {'type':13} {'tile':25} {'us':>9} {'model':>9} {'TFLOPS':>7} {'limit':>6} {'GB/s':>6} {'cuBLAS':>7} {'ratio':>6}")
    for type_name in o.types.split(","):
        for size in o.sizes.split(","):
            parts = [int(x) for x in size.split("x")]
            batches, m, n, k = {1: [1] + parts * 3, 3: [1] + parts, 4: parts}[len(parts)]
            problem = Problem(batches, m, n, k, type_name)
            fused = {"activation": "silu", "gate": "concatenated"} if type_name == "swiglu" else {}
            calls = {d.data_ptr(): lib.problem(a, b, None, d, row=problem.scales[0], column=problem.scales[1],
                                               fast=type_name == "e4m3", **fused) for a, b, d in problem.sets}
            some = next(iter(calls.values()))
            names = {"auto": ["auto"], "all": ["auto"] + lib.tiles}.get(o.tiles, o.tiles.split(","))
            tiles = [-1 if name == "auto" else lib.tiles.index(name) for name in names]
            plans = {t: lib.plan(some, t) for t in tiles}
            tiles = [t for t in tiles if plans[t] is not None and plans[t].workspace_bytes <= lib.workspace.numel()]

            def own(tile):
                return lambda a, b, d: lib.gemm(calls[d.data_ptr()], tile)

            runs = [own(t) for t in tiles]
            has_peer = True
            try:
                problem.peer(*problem.sets[0])
            except RuntimeError:
                has_peer = False  # torch._int_mm wants M > 16
            times = time_in_turn(([problem.peer] if has_peer else []) + runs, problem, o.seconds * len(runs))
            peer_ms = times.pop(0) if has_peer else float("nan")
            for tile, ms in zip(tiles, times):
                label = lib.tiles[plans[tile].tile] + (" *" if tile == -1 else "")
                tflops, peer = (1e-9 * problem.flops / t for t in (ms, peer_ms))
                a, b, d = problem.sets[0]
                gbs = 1e-6 * sum(x.numel() * x.element_size() for x in (a, b, d)) / ms
                shape = f"{m} x {n} x {k}" if batches == 1 else f"{batches} x {m} x {n} x {k}"
                print(f"{shape:>22} {type_name:13} {label:25} {ms * 1e3:9.1f} {plans[tile].microseconds:9.1f} {tflops:7.1f} "
                      f"{tflops / WGMMA_LIMIT[a.dtype]:6.1%} {gbs:6.0f} {peer:7.1f} {peer_ms / ms:5.2f}x", flush=True)
                results.append({"batches": batches, "m": m, "n": n, "k": k, "type": type_name, "tile": label,
                                "us": ms * 1e3, "model_us": plans[tile].microseconds, "tflops": tflops, "limit": tflops / WGMMA_LIMIT[a.dtype], "gb_per_s": gbs,
                                "cublas_tflops": peer if has_peer else None, "ratio": peer_ms / ms if has_peer else None})
            del problem, calls, some, runs
            torch.cuda.empty_cache()
    if o.json:
        save(o.json, results)


if __name__ == "__main__":
    main()
