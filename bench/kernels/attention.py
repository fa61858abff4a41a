#!/usr/bin/env python3
"""Times Warpfold's attention beside its peers in one process. Usage: attention.py libwarpfold.so [options]

Peers: cuDNN and FlashAttention-2 through scaled_dot_product_attention, and FlashAttention-3 where fa3-fwd is installed.
Random normal data; 16k tokens in all, 2048 / head dim heads; 4 * batch * heads * seqlen^2 * head dim FLOP, halved for
causal. Own kernel and peers in turn, in an order that changes each round; after 200 ms of warm-up the median of at least
30 rounds, each a CUDA graph of enough launches to last some 4 ms. Every result is compared with the first peer's.
"""
import argparse
import datetime
import importlib
import json
import random
import statistics

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from attention_c import Attention

WGMMA_LIMIT = {torch.bfloat16: 870, torch.float16: 834}  # TFLOPS on random data, measured on one H200
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}


def find_fa3():
    for name in ("fa3_fwd_interface", "flash_attn_interface", "flash_attn_3"):
        try:
            return importlib.import_module(name).flash_attn_func
        except (ImportError, AttributeError, OSError):
            continue
    return None


def sdpa(backend, q, k, v, causal):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    with sdpa_kernel(backend):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1]).transpose(1, 2)


def peers(fa3, wanted, q, k, v, causal):
    def with_fa3():
        out = fa3(q, k, v, causal=causal)
        return out[0] if isinstance(out, tuple) else out

    all_peers = {"cudnn": lambda: sdpa(SDPBackend.CUDNN_ATTENTION, q, k, v, causal),
                 "fa2": lambda: sdpa(SDPBackend.FLASH_ATTENTION, q, k, v, causal)}
    if fa3:
        all_peers["fa3"] = with_fa3
    return {name: run for name, run in all_peers.items() if name in wanted}


def graph_of(run, flop):
    launches = max(1, min(100, round(4e-3 * 600e12 / flop)))
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run()
        side.synchronize()
        with torch.cuda.graph(graph, stream=side):
            for _ in range(launches):
                run()
    return graph, launches


def time_in_turn(runs, flop, rounds):
    """Median milliseconds of a launch for each of `runs`, name -> callable."""
    graphs = {name: graph_of(run, flop) for name, run in runs.items()}
    times = {name: [] for name in runs}
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    warm, rng = 0.0, random.Random(1)
    order = list(runs)
    while min(len(t) for t in times.values()) < rounds:
        rng.shuffle(order)
        warming = warm < 200
        for name in order:
            graph, launches = graphs[name]
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            ms = begin.elapsed_time(end)
            if warming:
                warm += ms
            else:
                times[name].append(ms / launches)
    return {name: statistics.median(t) for name, t in times.items()}


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("library")
    p.add_argument("--head-dims", default="64,128,256")
    p.add_argument("--masks", default="none,causal")
    p.add_argument("--seqlens", default="512,1024,2048,4096,8192,16384")
    p.add_argument("--types", default="bf16")
    p.add_argument("--heads", default="", help="query/KV heads, as 64/8; default: 2048 / head dim of both")
    p.add_argument("--tokens", type=int, default=16384)
    p.add_argument("--peers", default="cudnn,fa3,fa2")
    p.add_argument("--variants", action="store_true", help="all tiles that serve a problem, not only the table's")
    p.add_argument("--rounds", type=int, default=30)
    p.add_argument("--json")
    o = p.parse_args()
    torch.manual_seed(0)
    lib, fa3, results = Attention(o.library), find_fa3(), []
    print(f"FlashAttention-3: {'found' if fa3 else 'absent'}")
    for type_name in o.types.split(","):
        dtype = TYPES[type_name]
        for d in map(int, o.head_dims.split(",")):
            for mask in o.masks.split(","):
                for s in map(int, o.seqlens.split(",")):
                    b = max(1, o.tokens // s)
                    h, hk = map(int, o.heads.split("/")) if o.heads else (2048 // d, 2048 // d)
                    q, k, v = (torch.randn(b, s, n, d, device="cuda", dtype=dtype) for n in (h, hk, hk))
                    causal = mask == "causal"
                    flop = 4 * b * h * s * s * d / (2 if causal else 1)
                    outs, problems, runs = {}, {}, {}
                    names = ["auto"] + (lib.tiles if o.variants else [])
                    for name in names:
                        tile = -1 if name == "auto" else lib.tiles.index(name)
                        outs[name] = torch.full_like(q, float("nan"))
                        problems[name] = lib.problem(q, k, v, outs[name], causal=causal)
                        if lib.run(problems[name], tile):
                            runs[name] = lambda name=name, tile=tile: lib.run(problems[name], tile)
                    for name, run in peers(fa3, o.peers.split(","), q, k, v, causal).items():
                        try:
                            run()
                            runs[name] = run
                        except RuntimeError as e:
                            print(f"  {name} refuses: {str(e).splitlines()[0]}")
                    torch.cuda.synchronize()
                    own = [n for n in names if n in runs]
                    others = [n for n in runs if n not in own]
                    if others:
                        want = runs[others[0]]().float()
                        for name in own:
                            off = (outs[name].float() - want).abs().max().item()
                            if not off < 0.03:
                                print(f"  WRONG: {name} differs from {others[0]} by {off}")
                        del want
                    times = time_in_turn(runs, flop, o.rounds)
                    best = min((times[n] for n in others), default=float("nan"))
                    line = "  ".join(f"{n} {1e-9 * flop / t:.0f}" for n, t in times.items())
                    fastest = min(own, key=times.get)
                    print(f"d{d} {mask:6} {type_name} {h}/{hk} x {s:6}: auto {best / times['auto']:.3f}x of the best peer, "
                          f"{1e-9 * flop / times['auto'] / WGMMA_LIMIT[dtype]:.1%} of WGMMA's limit"
                          + (f", best tile {fastest} {best / times[fastest]:.3f}x" if o.variants else "") + f"   TFLOPS: {line}",
                          flush=True)
                    results.append({"head_dim": d, "mask": mask, "type": type_name, "batch": b, "heads": h, "kv_heads": hk,
                                    "seqlen": s, "us": {n: 1e3 * t for n, t in times.items()},
                                    "tflops": {n: 1e-9 * flop / t for n, t in times.items()}, "ratio": best / times["auto"]})
                    del q, k, v, outs, problems, runs
                    torch.cuda.empty_cache()
    if o.json:
        about = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
                 "cudnn": torch.backends.cudnn.version(), "date": datetime.date.today().isoformat(),
                 "data": "random normal", "results": results}
        with open(o.json, "w") as f:
            json.dump(about, f, indent=1)


if __name__ == "__main__":
    main()
