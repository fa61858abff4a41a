#!/usr/bin/env python3
"""Times the steps of examples/gemm and cuBLAS in one process. Usage: ladder.py libwarpfold_ladder.so [options]

Each step is first checked: exactly on small integers, and within the error bound on the data that it is timed with,
random normal. Then steps 3 to 8 and cuBLAS run in turn, as gemm.py measures; steps 1 and 2, which take many times as
long and would let the chip cool between the others, run by themselves. The post's figures stand beside: TFLOPS of an
H100 PCIe at 4096 cubed, in tf32, and in fp16 beside bf16.
"""
import argparse
import ctypes

import torch

from gemm import Problem, save, time_in_turn

STEPS = ["naive", "shared", "wgmma", "pipeline", "producer", "two_consumers", "cluster", "ping_pong"]
SLOW = 2  # of the steps run on the fp32 units
# Name: number in the C interface, type of A and B, of D, what the chip's WGMMA alone reaches on random data.
TYPES = {"bf16": (0, torch.bfloat16, torch.bfloat16, 870), "tf32": (1, torch.float32, torch.float32, 454)}
# The post's TFLOPS at 4096 cubed and what ran; None is cuBLAS.
POST = {"tf32": {2: (25, "CuTe without TMA and WGMMA, off a plot"), 3: (170, "its kernel"), 4: (228.5, "CUTLASS, pipelined"),
                 7: (249.5, "CUTLASS, warp-specialised, clusters"), 8: (280, "CUTLASS, ping-pong, about"),
                 None: (215.6, "cuBLAS")},
        "bf16": {2: (35, "CuTe without TMA and WGMMA, fp16, off a plot"), 3: (320, "its kernel, fp16, off a plot"),
                 None: (420, "cuBLAS, fp16, off a plot")}}


class Ladder:
    def __init__(self, path):
        library = ctypes.CDLL(path)
        self.functions = [getattr(library, f"wf_ladder_{i:02}") for i in range(1, len(STEPS) + 1)]
        self.message = ctypes.create_string_buffer(512)

    def run(self, step, number, a, b, d):
        """D (M, N) = A (M, K) B (N, K)^T by step 1, 2, ..."""
        p = ctypes.c_void_p
        code = self.functions[step - 1](number, a.shape[0], b.shape[0], a.shape[1], p(a.data_ptr()), p(b.data_ptr()),
                                        p(d.data_ptr()), p(torch.cuda.current_stream().cuda_stream), self.message,
                                        ctypes.c_size_t(len(self.message)))
        if code != 0:
            raise RuntimeError(f"step {step}: {self.message.value.decode()}")


def check_exact(ladder, number, dtype, out):
    """Sums of small integers are exact in fp32: D must be the float64 product rounded once."""
    for m, n, k in [(256, 256, 64), (768, 512, 704), (2560, 3072, 1088)]:
        a, b = (torch.randint(-4, 5, (r, k), device="cuda").to(dtype) for r in (m, n))
        want = (a.double() @ b.double().t()).to(out)
        for step in range(1, len(STEPS) + 1):
            d = torch.full((m, n), float("nan"), device="cuda", dtype=out)
            ladder.run(step, number, a, b, d)
            if not torch.equal(d, want):
                raise RuntimeError(f"step {step}, {m} x {n} x {k}: {int((d != want).sum())} of {m * n} results are wrong")


def check_bound(ladder, number, a, b, d):
    """|error| <= (2 u + K 2^-23) |A| |B|^T + v |D| with u, v the rounding of the operands (tf32: 2^-11) and of D."""
    rows = slice(0, 256)
    want = a[rows].double() @ b.double().t()
    bound = a[rows].double().abs() @ b.double().abs().t() * ((2 * 2.0**-11 if number == 1 else 0) + a.shape[1] * 2.0**-23)
    bound += want.abs() * (2.0**-8 if d.dtype == torch.bfloat16 else 2.0**-23)
    for step in range(1, len(STEPS) + 1):
        d.fill_(float("nan"))
        ladder.run(step, number, a, b, d)
        excess = ((d[rows].double() - want).abs() / bound).nan_to_num(nan=float("inf")).max().item()
        if excess > 1 or not d.isfinite().all():
            raise RuntimeError(f"step {step}: the error is {excess:.2f} of its bound")


def measure(ladder, type_name, size, seconds):
    number, dtype, out, limit = TYPES[type_name]
    check_exact(ladder, number, dtype, out)
    problem = Problem(1, *size, type_name)
    check_bound(ladder, number, *problem.sets[0])
    step_runs = [lambda a, b, d, step=step: ladder.run(step, number, a, b, d) for step in range(1, len(STEPS) + 1)]
    slow = time_in_turn(step_runs[:SLOW], problem, seconds, launches=1)
    fast = time_in_turn([problem.peer] + step_runs[SLOW:], problem, seconds * (len(STEPS) - SLOW + 1))
    flops = 2.0 * size[0] * size[1] * size[2]
    tflops = [flops / ms * 1e-9 for ms in slow + fast[1:]]
    peer = flops / fast[0] * 1e-9
    post = POST[type_name] if list(size) == [4096] * 3 else {}

    def line(label, t, gain, step):
        figure, what = post.get(step, (None, ""))
        beside = f"   {figure:6g} {what}" if figure else ""
        gain_text = f"{gain:.2f}x" if gain else ""
        print(f"{label:18} {flops / t * 1e-6:10.1f} {t:7.1f} {gain_text:>7} {t / limit:6.1%} {t / peer:6.2f}x{beside}", flush=True)

    print(f"\n{type_name}, {' x '.join(map(str, size))}, random normal data, {torch.cuda.get_device_name()}")
    print(f"{'step':18} {'us':>10} {'TFLOPS':>7} {'gain':>7} {'limit':>6} {'cuBLAS':>7}{'   post, TFLOPS of an H100 PCIe' if post else ''}")
    results = []
    for step, (name, t) in enumerate(zip(STEPS, tflops), 1):
        gain = t / tflops[step - 2] if step > 1 else None
        line(f"{step:02} {name}", t, gain, step)
        figure, what = post.get(step, (None, None))
        results.append({"step": step, "name": name, "type": type_name, "m": size[0], "n": size[1], "k": size[2],
                        "us": flops / t * 1e-6, "tflops": t, "gain": gain, "cublas_tflops": peer, "ratio": t / peer,
                        "post_tflops": figure, "post": what})
    line("cuBLAS", peer, None, None)
    return results


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("library")
    p.add_argument("--sizes", default="4096", help="m or mxnxk, comma-separated; multiples of 256, 256 and 64")
    p.add_argument("--types", default="tf32,bf16")
    p.add_argument("--seconds", type=float, default=1.0)
    p.add_argument("--json")
    o = p.parse_args()
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")  # cuBLAS in tf32
    ladder = Ladder(o.library)
    results = []
    for type_name in o.types.split(","):
        if type_name not in TYPES:
            p.error(f"--types: {type_name} is not among {', '.join(TYPES)}")
        for size in o.sizes.split(","):
            parts = [int(x) for x in size.split("x")]
            try:
                results += measure(ladder, type_name, parts * 3 if len(parts) == 1 else parts, o.seconds)
            except RuntimeError as e:
                p.exit(1, f"error: {type_name}, {size}: {e}\n")
    if o.json:
        save(o.json, results)


if __name__ == "__main__":
    main()
