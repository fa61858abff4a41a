#!/usr/bin/env python3
"""Checks products with quantised weights on a Hopper GPU. Usage: weight_only_device.py libwarpfold.so [--few]; exit status
77 without PyTorch or GPU.

Exact cases: A holds small integers, scales and minima are powers of two, so products and sums are exact in fp32 and each
weight in bf16: D is the exact result rounded once. Others hold normal data, compared in float64 with what the file's blocks
say: with S = sum |x| (|scale * code| + |minimum|), an m64nNk16 product adds 17 terms, each cut at 2^-24 of the largest, and
scaled sums add two fp32 roundings for each 32 of K, so the sum is off by at most (K/16 * 17 * 2^-24 + K/32 * 2^-23) S;
weights rounded to bf16 add 1.01 * 2^-9 sum |x| |w|; rounding D adds 2^-8 (bf16) or 2^-24 (fp32) of it; alpha, beta and the
sum with C round once each: 4 * 2^-24 of their sizes; SiLU and GELU add 2^-19 of what enters and their slope is below 1.2.
Memory around D holds NaN, and so does C where beta = 0.
"""
import pathlib
import random
import sys

try:
    import torch
except ImportError:
    sys.exit(77)
if not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9:
    sys.exit(77)
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench/kernels"))
from warpfold_c import WEIGHT_TYPES, Library  # noqa: E402

BF16, F32 = torch.bfloat16, torch.float32
ROUNDING = {BF16: 2.0**-8, F32: 2.0**-24}


def quantised(weight_type, n, k, exact):
    """W (N, K) as a file's bytes, and in float64 on the GPU, and the sizes of what each weight is the sum of."""
    def numbers(least):
        if exact:
            return (2.0 ** torch.randint(least, 1, (n, k // 32, 1))) * (torch.randint(0, 2, (n, k // 32, 1)) * 2 - 1)
        return torch.where(torch.rand(n, k // 32, 1) < 0.02, 0.0, torch.randn(n, k // 32, 1) * 0.01)

    with_minimum = weight_type == "Q4_1"
    scale = numbers(-3 if with_minimum else -5).half()
    minimum = (numbers(-3) if with_minimum else torch.zeros(n, k // 32, 1)).half()
    parts = [scale.view(torch.uint8)] + ([minimum.view(torch.uint8)] if with_minimum else [])
    if weight_type == "Q8_0":
        codes = torch.randint(-128, 128, (n, k // 32, 32), dtype=torch.int8)
        parts.append(codes.view(torch.uint8))
    else:
        raw = torch.randint(0, 16, (n, k // 32, 32), dtype=torch.uint8)
        parts.append(raw[..., :16] | raw[..., 16:] << 4)
        codes = raw.to(torch.int8) - (0 if with_minimum else 8)
    rows = torch.cat(parts, dim=-1).contiguous().flatten()
    product, least = scale.cuda().double() * codes.cuda().double(), minimum.cuda().double()
    return rows, (product + least).reshape(n, k), (product.abs() + least.abs()).reshape(n, k)


def padded(m, width, dtype):
    """(M, width) with rows on 16 bytes inside of NaN: the whole, and the view."""
    unit = 16 // dtype.itemsize
    whole = torch.full((m + 6, (width + unit - 1) // unit * unit + unit * random.choice([0, 1])), float("nan"), device="cuda", dtype=dtype)
    return whole, whole[3:m + 3, :width]


def activated(y, name):
    f = torch.nn.functional
    return {"identity": lambda: y, "relu": lambda: y.clamp(min=0), "silu": lambda: f.silu(y),
            "gelu_tanh": lambda: f.gelu(y, approximate="tanh"), "gelu_erf": lambda: f.gelu(y)}[name]()


class Weights:
    def __init__(self, lib, weight_type, n, k, exact):
        self.type, self.n, self.k, self.exact = weight_type, n, k, exact
        rows, self.w, self.size = quantised(weight_type, n, k, exact)
        self.packed = lib.pack(weight_type, n, k, rows)


def check(lib, weights, m, out, tile=-1, alpha=1.0, beta=0.0, scaled=False, activation="identity", twice=False):
    n, k, exact = weights.n, weights.k, weights.exact
    case = (weights.type, m, n, k, out, tile, alpha, beta, scaled, activation, exact)
    a_whole, a = padded(m, k, BF16)
    c_whole, c = padded(m, n, out)
    d_whole, d = padded(m, n, out)
    a.copy_(torch.randint(-2, 3, a.shape, device="cuda") if exact else torch.randn(a.shape, device="cuda"))
    if beta != 0:
        c.copy_(torch.randint(-8, 9, c.shape, device="cuda"))
    vectors = {}
    if scaled:
        vectors = {"row": 2.0 ** torch.randint(-2, 1, (m,), device="cuda").float(), "column": 2.0 ** torch.randint(-2, 1, (n,), device="cuda").float(),
                   "bias": torch.randint(-4, 5, (n,), device="cuda").float()}
    problem = lib.weights_problem(weights.type, a, weights.packed, c, d, alpha, beta, activation=activation, **vectors)
    if tile >= 0 and lib.weights_plan(problem, tile) is None:
        return 0
    lib.gemm_weights(problem, tile)
    factor = alpha * (vectors["row"].double()[:, None] * vectors["column"].double() if scaled else 1)
    y = factor * (a.double() @ weights.w.t()) if alpha != 0 else torch.zeros(m, n, device="cuda", dtype=torch.float64)
    if scaled:
        y = y + vectors["bias"].double()
    want = activated(y, activation)
    slack = torch.zeros_like(y)
    if not exact and alpha != 0:
        size = a.double().abs() @ weights.size.t()
        slack = abs(alpha) * (size * (k / 16 * 17 * 2**-24 + k / 32 * 2**-23 + 4 * 2**-24) + (a.double().abs() @ weights.w.abs().t()) * 1.01 * 2**-9)
        slack = 1.2 * slack * (factor / alpha if scaled else 1)
    if activation not in ("identity", "relu"):
        slack = slack + y.abs() * 2**-19
    if beta != 0:
        want = want + beta * c.double()
    if exact and activation in ("identity", "relu"):
        wrong = d != want.to(out)
    else:
        wrong = ~((d.double() - want).abs() <= slack + (want.abs() + slack) * ROUNDING[out] + 2.0**-126)
    assert not bool(wrong.any()), (case, int(wrong.sum()), "wrong, first", wrong.nonzero()[0].tolist(), d[tuple(wrong.nonzero()[0])].item(), want[tuple(wrong.nonzero()[0])].item())
    if twice:
        first = d.clone()
        lib.gemm_weights(problem, tile)
        assert torch.equal(first, d), (case, "another result in the second run")
    d.fill_(float("nan"))
    assert bool(d_whole.isnan().all()), (case, "wrote outside D")
    return 1


def check_graph(lib, weights):
    """Replays of a captured product are bit-equal; two streams with a workspace each do not disturb each other."""
    a = torch.randn(16, weights.k, device="cuda", dtype=BF16)
    outs = [torch.empty(16, weights.n, device="cuda", dtype=BF16) for _ in range(2)]
    problems = [lib.weights_problem(weights.type, a, weights.packed, None, d) for d in outs]
    spaces = [torch.zeros_like(lib.workspace) for _ in range(2)]
    for p, space in zip(problems, spaces):
        p.workspace = space.data_ptr()
    lib.gemm_weights(problems[0])
    want = outs[0].clone()
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=side):
        for _ in range(5):
            lib.gemm_weights(problems[0])
    for _ in range(20):
        outs[0].fill_(float("nan"))
        graph.replay()
        assert torch.equal(outs[0], want)
    streams = [torch.cuda.Stream() for _ in range(2)]
    torch.cuda.synchronize()
    for _ in range(200):
        for s, p in zip(streams, problems):
            with torch.cuda.stream(s):
                lib.gemm_weights(p)
    torch.cuda.synchronize()
    assert all(torch.equal(o, want) for o in outs), "two streams at once"


def main():
    lib = Library(sys.argv[1])
    few = "--few" in sys.argv  # for slow checkers
    random.seed(1)
    torch.manual_seed(1)
    tiles = range(-1, len(lib.weight_tiles))
    count = 0
    for weight_type in WEIGHT_TYPES:
        for n, k in [(1, 32), (127, 96), (128, 128), (130, 0), (261, 1056), (640, 2080), (1000, 544)][::3 if few else 1]:
            for exact in (True, False):
                weights = Weights(lib, weight_type, n, k, exact)
                for m in [1, 2, 7, 8, 16, 17, 33, 64, 65, 100, 129, 257, 300][::4 if few else 1]:
                    for tile in tiles:
                        count += check(lib, weights, m, random.choice([BF16, F32]), tile, random.choice([1, 0.5, -2, 0]),
                                       random.choice([0, 0, 1, -0.5]), random.random() < 0.3,
                                       random.choice(["identity", "relu", "silu", "gelu_tanh", "gelu_erf"]))
        if not few:
            weights = Weights(lib, weight_type, 4096, 4096, False)
            for m in (1, 16, 40, 64, 128, 600):
                for tile in tiles:
                    count += check(lib, weights, m, BF16, tile, twice=True)
            check_graph(lib, weights)
    torch.cuda.synchronize()
    print(f"{count} products with quantised weights right" + ("" if few else "; graphs and two streams right"))


main()
