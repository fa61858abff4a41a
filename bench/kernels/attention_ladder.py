#!/usr/bin/env python3
"""Times the steps of examples/attention in one process with their peers. Usage: attention_ladder.py libwarpfold_attention_ladder.so

The post's problem: 4 batches of 4096 tokens, 2048 / head dim heads, fp16, no mask; random normal data. Each tile of each step
is first checked within its error bound, on small problems and on rows of the timed one. Then steps 2 to 6, the library's kernel
(--library) and PyTorch's FlashAttention-2 and cuDNN run in turn, as attention.py measures; the post's table of tiles, in turn,
and step 1, which would let the chip cool between the others, by themselves. The post's figures stand beside: TFLOPS of an H100
PCIe, for steps 4 to 6 the FlashAttention-3 paper's of an H100 SXM5 at 4 x 8448 tokens.
"""
import argparse
import ctypes
import math

import torch

from attention import peers, time_in_turn
from attention_c import Attention
from gemm import save

STEPS = ["unfused", "fused", "stages", "producer", "ping_pong", "overlap"]
OWN_TILES = {64: [(64, 128), (64, 128), (128, 128), (192, 128), (192, 128), (192, 128)],  # rows x keys of each step
             128: [(64, 128), (64, 64), (128, 64), (128, 128), (128, 128), (128, 128)],
             256: [(64, 128), (64, 64), (128, 64), (128, 64), (128, 64), (128, 64)]}
# Step 2 of the post, head dim -> rows x keys -> TFLOPS; tiles marked spill registers.
POST = {64: {(64, 64): 230.1, (64, 128): 259.5, (128, 64): 247.9, (128, 128): 251.4},
        128: {(64, 64): 292.6, (64, 128): 289.3, (128, 64): 295.7, (128, 128): 208.7},
        256: {(64, 64): 308.1, (64, 128): 276.1, (128, 64): 39.3, (128, 128): 36.7}}
SPILLING = {(128, 128, 128), (256, 128, 64), (256, 128, 128)}
POST_FA2 = {64: 212, 128: 237, 256: 204}
PAPER = {4: (570, "FA3 paper, without ping-pong and overlap"), 5: (630, "FA3 paper, 620 to 640, with ping-pong"),
         6: (661, "FA3 paper, all")}


class Problem(ctypes.Structure):
    _fields_ = ([(x, ctypes.c_int) for x in ("batches", "heads", "seqlen_q", "seqlen_k", "head_dim")] +
                [(x, ctypes.c_void_p) for x in "qkvo"] + [("scale", ctypes.c_float), ("rows", ctypes.c_int), ("keys", ctypes.c_int)] +
                [("workspace", ctypes.c_void_p), ("stream", ctypes.c_void_p)])


class Ladder:
    def __init__(self, path):
        library = ctypes.CDLL(path)
        self.functions = [getattr(library, f"wf_attention_ladder_{i:02}") for i in range(1, len(STEPS) + 1)]
        self.spilling = library.wf_attention_ladder_02_spilling
        self.message = ctypes.create_string_buffer(512)
        self.workspace = None

    def run(self, step, tile, q, k, v, o):
        """O (batches, seqlen, heads, head_dim) by step 1, 2, ... with a tile (rows, keys)."""
        b, n, h, d = q.shape
        if step == 1:
            needed = b * h * n * k.shape[1] * 6
            if self.workspace is None or self.workspace.numel() < needed:
                self.workspace = torch.empty(needed, dtype=torch.uint8, device="cuda")
        p = Problem(b, h, n, k.shape[1], d, *(x.data_ptr() for x in (q, k, v, o)), 1 / math.sqrt(d), *tile,
                    self.workspace.data_ptr() if step == 1 else None, torch.cuda.current_stream().cuda_stream)
        f = self.spilling if step == 2 and (d, *tile) in SPILLING else self.functions[step - 1]
        if f(ctypes.byref(p), self.message, ctypes.c_size_t(len(self.message))) != 0:
            raise RuntimeError(f"step {step}: {self.message.value.decode()}")


def error_of_bound(q, k, v, o):
    """The largest error over its bound (examples/attention/common.h) of O of one head, against float64."""
    q, k, v, o = (x.double() for x in (q, k, v, o))
    d, keys, u = q.shape[1], k.shape[0], 2.0**-11
    p = torch.softmax(q @ k.t() / math.sqrt(d), dim=1)
    want = p @ v
    e = 2 * d * 2.0**-23 * (q.abs() @ k.abs().t() / math.sqrt(d)).amax(1, keepdim=True) + 2.0**-18 + keys * 2.0**-23
    bound = (u + e) * (p @ v.abs()) + u * want.abs() + 2.0**-25 * (1 + v.abs().sum(0, keepdim=True))
    return ((o - want).abs() / bound).nan_to_num(nan=float("inf")).max().item()


def check(ladder, step, tile, q, k, v):
    """All of O must be finite; of two heads the first 256 rows are compared. Returns the largest error over its bound."""
    o = torch.full_like(q, float("nan"))
    ladder.run(step, tile, q, k, v, o)
    b, _, h, d = q.shape
    worst = max(error_of_bound(q[i, :256, j], k[i, :, j], v[i, :, j], o[i, :256, j]) for i, j in ((0, h - 1), (b - 1, 0)))
    if worst > 1 or not o.isfinite().all():
        raise RuntimeError(f"step {step}, tile {tile[0]} x {tile[1]}, {tuple(q.shape)}: the error is {worst:.2f} of its bound")
    return worst


def measure(ladder, library, d, rounds):
    b, n, h = 4, 4096, 2048 // d
    flop = 4 * b * h * n * n * d
    own = OWN_TILES[d]
    tiles = [(step, own[step - 1]) for step in range(1, 7)] + [(2, t) for t in POST[d] if t != own[1]]
    q, k, v = (torch.randn(b, n, h, d, device="cuda", dtype=torch.float16) for _ in range(3))
    problems = [(q, k, v)]
    for spread in (1, 8):  # of Q: at 8 few keys have all the weight
        problems.append([(torch.randn(2, s, 3, d, device="cuda") * x).half() for s, x in ((256, spread), (896, 1), (896, 1))])
    worst, wrong = 0, []
    for t in tiles[:]:
        try:
            worst = max(worst, *(check(ladder, *t, *p) for p in problems))
        except RuntimeError as e:
            wrong.append(f"error: head dim {d}, {e}")
            tiles.remove(t)
    o = torch.empty_like(q)

    def runs_of(some):
        return {t: lambda t=t: ladder.run(*t, q, k, v, o) for t in some}

    runs = runs_of(t for t in tiles if t[0] > 1 and t[1] == own[t[0] - 1])
    if library:
        problem = library.problem(q, k, v, torch.empty_like(q))
        runs["library"] = lambda: library.run(problem)
    runs.update(peers(None, ["fa2", "cudnn"], q, k, v, False))
    times = time_in_turn(runs, flop, rounds)
    table = time_in_turn(runs_of(t for t in tiles if t[0] == 2), flop, rounds)
    times.update({t: ms for t, ms in table.items() if t not in times})
    times.update(time_in_turn(runs_of(t for t in tiles if t[0] == 1), flop, rounds // 3))
    tflops = {t: flop / ms * 1e-9 for t, ms in times.items()}

    print(f"\nhead dim {d}, {h} heads, {b} x {n}, fp16, random normal data, {torch.cuda.get_device_name()}; largest error "
          f"{worst:.2f} of its bound")
    print(f"{'step':13} {'tile':>9} {'us':>9} {'TFLOPS':>7} {'gain':>6} {'FA2':>6} {'cuDNN':>6}   the post's or paper's TFLOPS")
    results = []
    for t in sorted((t for t in tflops if isinstance(t, tuple)), key=lambda t: (t[0], t[1] != own[t[0] - 1], t[1])) + ["library"]:
        if t not in tflops:
            continue
        step, (rows, keys) = t if t != "library" else (None, (None, None))
        before = (step - 1, own[step - 2]) if step and step > 1 else None
        is_own = step is not None and t[1] == own[step - 1]
        gain = tflops[t] / tflops[before] if before in tflops and is_own else None
        figure, what = (POST[d][t[1]], "the post") if step == 2 else PAPER.get(step, (None, None)) if d == 128 else (None, None)
        name = STEPS[step - 1] if step else "library"
        results.append({"step": step, "name": name, "head_dim": d, "rows": rows, "keys": keys, "own": is_own,
                        "spills": (d, rows, keys) in SPILLING, "batches": b, "heads": h, "seqlen": n, "type": "f16",
                        "us": times[t] * 1e3, "tflops": tflops[t], "gain": gain, "fa2_tflops": tflops["fa2"],
                        "cudnn_tflops": tflops.get("cudnn"), "ratio": tflops[t] / tflops["fa2"], "post_tflops": figure, "post": what,
                        "post_fa2_tflops": POST_FA2[d]})
        print(f"{f'{step:02} ' if step else ''}{name:10} {f'{rows} x {keys}' if rows else '':>9} {times[t] * 1e3:9.1f} {tflops[t]:7.1f} "
              f"{f'{gain:.2f}x' if gain else '':>6} {tflops[t] / tflops['fa2']:5.2f}x {tflops[t] / tflops['cudnn']:5.2f}x"
              + (f"   {figure:6g} {what}" if figure else ""), flush=True)
    print(f"FlashAttention-2 {tflops['fa2']:.1f} (the post's {POST_FA2[d]}), cuDNN {tflops['cudnn']:.1f}")
    return results, wrong


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("ladder")
    p.add_argument("--library", help="libwarpfold.so, to time the library's kernel as well")
    p.add_argument("--head-dims", default="64,128,256")
    p.add_argument("--rounds", type=int, default=30)
    p.add_argument("--json")
    o = p.parse_args()
    torch.manual_seed(0)
    ladder, library, results, wrong = Ladder(o.ladder), Attention(o.library) if o.library else None, [], []
    for d in map(int, o.head_dims.split(",")):
        if d not in POST:
            p.error(f"--head-dims: {d} is not among 64, 128, 256")
        measured, failures = measure(ladder, library, d, o.rounds)
        results += measured
        wrong += failures
    if o.json:
        save(o.json, results)
    p.exit(1 if wrong else 0, "".join(w + "\n" for w in wrong))


if __name__ == "__main__":
    main()
