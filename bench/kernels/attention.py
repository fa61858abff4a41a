#!/usr/bin/env python3
"""Times Warpfold's attention beside its peers in one process. Usage: attention.py libwarpfold.so [options]

Peers: cuDNN and FlashAttention-2 through scaled_dot_product_attention, and FlashAttention-3 where fa3-fwd is installed.
Random normal data. Own kernel and peers in turn, in an order that changes each round; after 200 ms of warm-up the median of at
least --rounds rounds, each a CUDA graph of enough launches to last some 4 ms. Every result is compared with the first peer's.
TFLOPS are of visible scores: 4 * heads * head dim for each query and key that it sees.

Sets of cells (--set, comma-separated):
  prefill   --head-dims x --masks x --seqlens: 16k tokens in all, 2048 / head dim heads
  gqa       MQA 16/1 and GQA 64/8 at 32k, head dim 128
  e4m3      head dim 128 at 16k
  window    the last 1024 keys at 16k, and causal with all keys
  varlen    sequences of LENGTHS, packed
  rises     scores whose maximum rises by 2^12 with each 64 keys, against eager tiles, at 16k; peers do not care
"""
import argparse
import datetime
import importlib
import itertools
import json
import math
import random
import statistics
from dataclasses import dataclass

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from attention_c import Attention

WGMMA_LIMIT = {torch.bfloat16: 870, torch.float16: 834, torch.float8_e4m3fn: 1740}  # TFLOPS on random data, measured on one H200
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "e4m3": torch.float8_e4m3fn}
LENGTHS = (37, 16384, 512, 2048, 129, 4096, 1000, 300, 8192, 77, 1536, 640, 3000, 200, 5000, 60)


@dataclass
class Cell:
    head_dim: int
    causal: bool
    seqlen: int
    type: str = "bf16"
    heads: int = 0  # 0: 2048 / head dim
    kv_heads: int = 0
    tokens: int = 16384
    window: int = 0  # keys before a query's own that it sees; 0: all
    lengths: tuple = ()
    rises: bool = False
    set: str = "prefill"

    def __post_init__(self):
        self.heads = self.heads or 2048 // self.head_dim
        self.kv_heads = self.kv_heads or self.heads

    def flop(self):
        if self.window:
            scores = sum(min(i, self.window) + 1 for i in range(self.seqlen))
        else:
            scores = sum(n * n for n in self.lengths or (self.seqlen,)) / (2 if self.causal else 1)
        return 4 * self.batch() * self.heads * self.head_dim * scores

    def batch(self):
        return 1 if self.lengths else max(1, self.tokens // self.seqlen)

    def mask(self):
        return f"window {self.window}" if self.window else "causal" if self.causal else "none"


def cells_of(o):
    for kind in o.set.split(","):
        masks = [m == "causal" for m in o.masks.split(",")]
        dims, types = [int(d) for d in o.head_dims.split(",")], o.types.split(",")
        if kind == "prefill":
            h, hk = map(int, o.heads.split("/")) if o.heads else (0, 0)
            for t, d, causal, s in itertools.product(types, dims, masks, map(int, o.seqlens.split(","))):
                yield Cell(d, causal, s, t, h, hk, o.tokens)
        elif kind == "gqa":
            for (h, hk), causal in itertools.product(((16, 1), (64, 8)), (False, True)):
                yield Cell(128, causal, 32768, heads=h, kv_heads=hk, set=kind)
        elif kind == "e4m3":
            for causal in (False, True):
                yield Cell(128, causal, 16384, "e4m3", set=kind)
        elif kind == "window":
            for d in (64, 128, 256):
                yield Cell(d, True, 16384, window=1024, set=kind)
        elif kind == "varlen":
            for d, causal in itertools.product((64, 128), (False, True)):
                yield Cell(d, causal, max(LENGTHS), lengths=LENGTHS, set=kind)
        elif kind == "rises":
            for d, causal in itertools.product((64, 128, 256), (False, True)):
                yield Cell(d, causal, 16384, rises=True, set=kind)
        else:
            raise SystemExit(f"no set {kind}")


def find_fa3():
    for name in ("fa3_fwd_interface", "flash_attn_interface", "flash_attn_3"):
        try:
            module = importlib.import_module(name)
            module.flash_attn_func, module.flash_attn_varlen_func  # noqa: B018
            return module
        except (ImportError, AttributeError, OSError):
            continue
    return None


def sdpa(backend, q, k, v, causal):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    with sdpa_kernel(backend):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1]).transpose(1, 2)


def peers(fa3, wanted, c, q, k, v, starts):
    def with_fa3():
        if c.lengths:
            out = fa3.flash_attn_varlen_func(q, k, v, starts, starts, c.seqlen, c.seqlen, causal=c.causal)
        elif c.window:
            out = fa3.flash_attn_func(q, k, v, window_size=(c.window, 0))
        else:
            out = fa3.flash_attn_func(q, k, v, causal=c.causal)
        return out[0] if isinstance(out, tuple) else out

    all_peers = {}
    if not c.lengths and not c.window and c.type != "e4m3":
        all_peers = {"cudnn": lambda: sdpa(SDPBackend.CUDNN_ATTENTION, q, k, v, c.causal),
                     "fa2": lambda: sdpa(SDPBackend.FLASH_ATTENTION, q, k, v, c.causal)}
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


def inputs(c):
    shape = (sum(c.lengths),) if c.lengths else (c.batch(), c.seqlen)
    q, k, v = (torch.randn(*shape, n, c.head_dim, device="cuda") for n in (c.heads, c.kv_heads, c.kv_heads))
    if c.rises:  # keys are visited from the last to the first
        q[..., 0] = 8
        bits = 12 * ((c.seqlen - 1 - torch.arange(c.seqlen, device="cuda")) // 64).float()
        k[..., 0] = (math.log(2) * math.sqrt(c.head_dim) / 8 * bits)[None, :, None]
    starts = torch.tensor(list(itertools.accumulate(c.lengths, initial=0)), dtype=torch.int32, device="cuda")
    return *(x.to(TYPES[c.type]) for x in (q, k, v)), starts


def measure(lib, fa3, c, o):
    q, k, v, starts = inputs(c)
    out_type = torch.bfloat16 if c.type == "e4m3" else q.dtype
    given = {"q_starts": starts, "k_starts": starts, "longest_q": c.seqlen, "longest_k": c.seqlen} if c.lengths else {}
    given |= {"window": (c.window, 0)} if c.window else {"causal": c.causal}
    outs, problems, runs = {}, {}, {}
    names = ["auto"] + (lib.tiles if o.tiles == "all" else [n for n in lib.tiles if n in o.tiles.split(",")])
    for name in names:
        tile = -1 if name == "auto" else lib.tiles.index(name)
        outs[name] = torch.full(q.shape, float("nan"), device="cuda", dtype=out_type)
        problems[name] = lib.problem(q, k, v, outs[name], **given)
        if lib.run(problems[name], tile):
            runs[name] = lambda name=name, tile=tile: lib.run(problems[name], tile)
    for name, run in peers(fa3, o.peers.split(","), c, q, k, v, starts).items():
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
            if not off < (0.15 if c.type == "e4m3" else 0.03):
                print(f"  WRONG: {name} differs from {others[0]} by {off}")
        del want
    flop = c.flop()
    times = time_in_turn(runs, flop, o.rounds)
    best = min((times[n] for n in others), default=float("nan"))
    line = "  ".join(f"{n} {1e-9 * flop / t:.0f}" for n, t in times.items())
    fastest = min(own, key=times.get)
    print(f"{c.set} d{c.head_dim} {c.mask():6} {c.type} {c.heads}/{c.kv_heads} x {c.seqlen:6}: auto {best / times['auto']:.3f}x of the best peer, "
          f"{1e-9 * flop / times['auto'] / WGMMA_LIMIT[q.dtype]:.1%} of WGMMA's limit"
          + (f", best tile {fastest} {best / times[fastest]:.3f}x" if len(own) > 1 else "") + f"   TFLOPS: {line}", flush=True)
    return {"set": c.set, "head_dim": c.head_dim, "mask": c.mask(), "type": c.type, "batch": c.batch(), "heads": c.heads, "kv_heads": c.kv_heads,
            "seqlen": c.seqlen, "us": {n: 1e3 * t for n, t in times.items()},
            "tflops": {n: 1e-9 * flop / t for n, t in times.items()}, "ratio": best / times["auto"]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("library")
    p.add_argument("--set", default="prefill")
    p.add_argument("--head-dims", default="64,128,256")
    p.add_argument("--masks", default="none,causal")
    p.add_argument("--seqlens", default="512,1024,2048,4096,8192,16384")
    p.add_argument("--types", default="bf16")
    p.add_argument("--heads", default="", help="query/KV heads, as 64/8; default: 2048 / head dim of both")
    p.add_argument("--tokens", type=int, default=16384)
    p.add_argument("--peers", default="cudnn,fa3,fa2")
    p.add_argument("--tiles", default="", help="also these of the library's tiles, where they serve the problem; comma-separated, or all")
    p.add_argument("--rounds", type=int, default=30)
    p.add_argument("--json")
    o = p.parse_args()
    torch.manual_seed(0)
    lib, fa3, results = Attention(o.library), find_fa3(), []
    print(f"FlashAttention-3: {'found' if fa3 else 'absent'}")
    for c in cells_of(o):
        results.append(measure(lib, fa3, c, o))
        torch.cuda.empty_cache()
        if o.json:  # after each cell, so that what was measured is kept
            about = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
                     "cudnn": torch.backends.cudnn.version(), "date": datetime.date.today().isoformat(),
                     "data": "random normal", "results": results}
            with open(o.json, "w") as f:
                json.dump(about, f, indent=1)


if __name__ == "__main__":
    main()
