#!/usr/bin/env python3
"""Checks the GEMM on a Hopper GPU. Usage: gemm_device.py libwarpfold.so [--large | --few]; exit status 77 without PyTorch or GPU.

Inputs are small integers, and alpha and beta eighths and scales powers of two, so that every product and sum is exact in fp32: D
must be the exact result rounded once, bit for bit. Large sizes use normal data and a bound: with S = sum |a||b|, an
m64nNk16 product adds 17 terms, each cut at 2^-24 of the largest, so the sum over K is off by at most K/16 * 17 * 2^-24 * S,
and rounding adds half a unit in the last place: at most 2^-8 of the result in bf16 (8 bits), 2^-11 in fp16 (11 bits), 2^-24
in fp32. tf32 inputs are rounded to 11 bits first (2^-11 of each factor). fp8 sums keep 13 bits after the leading one of the
largest term of each instruction (K/32 of them with 33 terms: K/32 * 33 * 2^-13 * S), promoted ones only inside 128 of K:
4 * 33 * 2^-13 of each part's S, so of S. alpha and beta are rounded to fp32 and so are the two products and the sum with
C: 4 * 2^-24 of their sizes. SiLU and GELU add 2^-19 of the values that enter.
Memory around D and past the rows' ends holds NaN, and so does C where beta = 0; nothing of it may be touched or used.
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
from warpfold_c import Library  # noqa: E402

SIZES = [*range(1, 10), 63, 64, 65, 127, 128, 129, 200, 255, 256, 257]
GUARD = 3  # rows
E4M3, E5M2, BF16, F16, F32 = torch.float8_e4m3fn, torch.float8_e5m2, torch.bfloat16, torch.float16, torch.float32
BITS = {BF16: 8, F16: 11, F32: 24}
POISON = {torch.int32: 0x7FFFFFFF, torch.int8: 77}


class Padded:
    """A (batches, rows, width) tensor whose rows (columns) start on 16 bytes, with poison around it and between."""

    def __init__(self, batches, rows, width, dtype, extra=0, columns=False, loose=None):
        unit = 16 // dtype.itemsize if loose is None else loose
        lines, length = (width, rows) if columns else (rows, width)
        stride = (length + unit - 1) // unit * unit + unit * extra
        self.poison = POISON.get(dtype, float("nan"))
        self.whole = torch.full((batches, lines + 2 * GUARD, stride), self.poison, device="cuda", dtype=F32 if dtype in (E4M3, E5M2) else dtype).to(dtype)
        shift = 0 if loose is None else min(unit * extra, stride - length)  # in columns: on another address
        self.inner = (slice(None), slice(GUARD, GUARD + lines), slice(shift, shift + length))
        view = self.whole[self.inner]
        self.view = view.transpose(1, 2) if columns else view

    def untouched(self):
        clean = self.whole == self.poison if self.whole.dtype in POISON else self.whole.isnan()
        clean[self.inner] = True
        return bool(clean.all())


def integers(tensor, largest):
    tensor.copy_(torch.randint(-largest, largest + 1, tensor.shape, device="cuda").to(F32 if tensor.dtype in (E4M3, E5M2) else tensor.dtype).to(tensor.dtype))


def activated(y, name):
    f = torch.nn.functional
    return {"identity": lambda: y, "relu": lambda: y.clamp(min=0), "silu": lambda: f.silu(y),
            "gelu_tanh": lambda: f.gelu(y, approximate="tanh"), "gelu_erf": lambda: f.gelu(y)}[name]()


def check(lib, rng, m, n, k, a_type, out, tile=-1, b_type=None, batches=1, columns=(False, False, False), alpha=1.0,
          beta=0.0, scaled=False, activation="identity", gate=None, one_b=False, fast=False, loose=False):
    """One product of small integers; every element right, nothing else touched."""
    case = (m, n, k, a_type, out, lib.tiles[tile] if tile >= 0 else "auto", batches, columns, alpha, beta, scaled, activation, gate)
    extra = lambda: rng.choice([0, 1, 3])  # noqa: E731
    rows = 2 * n if gate else n
    unit = lambda: rng.choice([1, 2, 4, 8]) if loose else None  # noqa: E731
    a = Padded(batches, m, k, a_type, extra(), columns[0], unit())
    b = Padded(1 if one_b else batches, rows, k, b_type or a_type, extra(), columns[1], unit())
    c, d = (Padded(batches, m, n, out, extra(), columns[2], unit()) for _ in range(2))
    largest = 127 if a_type == torch.int8 else 4
    integers(a.view, largest)
    integers(b.view, largest)
    if beta != 0:
        integers(c.view, 8)
    vectors = {}
    y = alpha * (a.view.double() @ b.view.double().transpose(1, 2))
    if scaled:
        one = rng.random() < 0.3
        vectors["row"], vectors["column"] = (2.0 ** torch.randint(-8, -4, (1 if one else r,), device="cuda").float() for r in (m, rows))
        vectors["bias"], vectors["row_bias"] = (torch.randint(-4, 5, (r,), device="cuda").float() for r in (rows, m))
        y = y * vectors["row"].double()[:, None] * vectors["column"].double() + vectors["bias"].double() + vectors["row_bias"].double()[:, None]
    slack = 0
    want = y
    if gate:
        g, u = (y[..., ::2], y[..., 1::2]) if gate == "interleaved" else (y[..., :n], y[..., n:])
        want = activated(g, activation) * u
        slack = g.abs() * u.abs() * 2**-19 + want.abs() * 2**-22
    elif activation != "identity":
        want = activated(y, activation)
        slack = y.abs() * 2**-19 if activation != "relu" else 0
    if beta != 0:
        want = want + beta * c.view.double()
    squeeze = (lambda t: t[0]) if batches == 1 else (lambda t: t)
    bview = b.view[0] if batches == 1 or one_b else b.view
    if one_b and batches > 1:
        bview = b.view.expand(batches, rows, k)
    problem = lib.problem(squeeze(a.view), bview, squeeze(c.view), squeeze(d.view), alpha, beta, activation=activation, gate=gate, fast=fast, **vectors)
    if tile >= 0 and lib.plan(problem, tile) is None:
        return 0
    lib.gemm(problem, tile)
    if isinstance(slack, int):
        wrong = d.view != want.to(out)
    else:
        wrong = ~((d.view.double() - want).abs() <= slack + (want.abs() + slack) * 2.0 ** -BITS[out] + 2.0**-25)  # half a subnormal of fp16
    assert not bool(wrong.any()), (case, int(wrong.sum()), "wrong elements, first", wrong.nonzero()[0].tolist())
    assert d.untouched(), (case, "wrote outside D")
    return 1


def check_quantised(lib, rng, m, n, k, a_type, out, tile, batches=1):
    """Zero points, results of 8 bits and the rows' largest values: exact, since scales are powers of two."""
    case = (m, n, k, a_type, out, lib.tiles[tile] if tile >= 0 else "auto", batches)
    extra = lambda: rng.choice([0, 1, 3])  # noqa: E731
    a, b, d = (Padded(batches, r, w, t, extra()) for r, w, t in ((m, k, a_type), (n, k, a_type), (m, n, out)))
    integers(a.view, 127 if a_type == torch.int8 else 4)
    integers(b.view, 127 if a_type == torch.int8 else 4)
    squeeze = (lambda t: t[0]) if batches == 1 else (lambda t: t)
    more, x, y = {}, a.view.double(), b.view.double()
    if a_type == torch.int8:
        for name, other, matrix, rows in (("a_zero", "b_sums", b, m), ("b_zero", "a_sums", a, n)):
            if rng.random() < 0.7:
                more[name] = torch.randint(-128, 128, (1 if rng.random() < 0.4 else rows,), device="cuda", dtype=torch.int32)
                more[other] = lib.row_sums(squeeze(matrix.view))
                assert torch.equal(more[other].view(batches, -1).long(), matrix.view.long().sum(2)), (case, "row sums")
        x = x - more.get("a_zero", torch.zeros(1, device="cuda")).double()[:, None]
        y = y - more.get("b_zero", torch.zeros(1, device="cuda")).double()[:, None]
    want = x @ y.transpose(1, 2)
    vectors = {}
    if out != torch.int32:
        vectors["row"], vectors["column"] = (2.0 ** torch.randint(-8, -4, (r,), device="cuda").float() for r in (m, n))
        vectors["bias"] = torch.randint(-4, 5, (n,), device="cuda").float()
        want = want * vectors["row"].double()[:, None] * vectors["column"].double() + vectors["bias"].double()
        more["row_amax"] = torch.zeros(batches, m, device="cuda")
    largest = want.abs().amax(2) if n else None
    if out == torch.int8:
        more["output_scale"] = 2.0 ** torch.randint(0, 6, (1,), device="cuda").float()
        more["output_zero"] = torch.randint(-128, 128, (1,), device="cuda", dtype=torch.int32)
        want = (torch.round(want / more["output_scale"].double()) + more["output_zero"]).clamp(-128, 127)
    problem = lib.problem(squeeze(a.view), squeeze(b.view), None, squeeze(d.view), **vectors, **more)
    if tile >= 0 and lib.plan(problem, tile) is None:
        return 0
    lib.gemm(problem, tile)
    wrong = d.view != want.to(out)
    assert not bool(wrong.any()), (case, int(wrong.sum()), "wrong elements, first", wrong.nonzero()[0].tolist())
    assert "row_amax" not in more or torch.equal(more["row_amax"].double(), largest), (case, "row_amax")
    assert d.untouched(), (case, "wrote outside D")
    return 1


def check_reports(lib):
    """Sizes at which other libraries' 32-bit numbers end (reports B21, B22, B23, B38): every element right."""
    for batches, m, n, k in ((65537, 8, 64, 8), (8209, 512, 512, 16), (1, 46341, 46341, 16)):
        a, b = (torch.randint(-2, 3, (batches, r, k), device="cuda").to(BF16) for r in (m, n))
        d = torch.full((batches, m, n), float("nan"), device="cuda", dtype=BF16)
        lib.gemm(lib.problem(a, b, None, d))
        for first in range(0, batches, 4096):
            part = slice(first, first + 4096)
            want = torch.bmm(a[part], b[part].transpose(1, 2))  # sums of at most 64: exact
            assert torch.equal(d[part], want), (batches, m, n, k, "batches from", first)
        del a, b, d, want
        torch.cuda.empty_cache()


def check_large(lib, rng, m, n, k, a_type, out, tile, alpha, beta, fast=False):
    a, b = (torch.randn(r, k, device="cuda").to(a_type) for r in (m, n))
    c = torch.randn(m, n, device="cuda", dtype=out)
    d = torch.full((m, n), float("nan"), device="cuda", dtype=out)
    problem = lib.problem(a, b, c, d, alpha, beta, fast=fast)
    if tile >= 0 and lib.plan(problem, tile) is None:
        return 0
    lib.gemm(problem, tile)
    first = d.clone()
    a64, b64 = a.double(), b.double()
    want = alpha * (a64 @ b64.t()) + beta * c.double()
    size, rest = abs(alpha) * (a64.abs() @ b64.abs().t()), abs(beta) * c.double().abs()
    sums = k / 16 * 17 * 2**-24
    if a_type == F32:
        sums = k / 8 * 9 * 2**-24 + 2 * 2**-11
    elif a_type == E4M3:
        sums = (k / 32 if fast else 4) * 33 * 2**-13 + k / 128 * 2**-24
    bound = size * (sums + 4 * 2**-24) + rest * 4 * 2**-24 + want.abs() * 2.0 ** -BITS[out]
    wrong = int((~((d.double() - want).abs() <= bound + 1e-30)).sum())
    assert wrong == 0, (m, n, k, a_type, out, tile, wrong, "wrong elements")
    lib.gemm(problem, tile)
    assert torch.equal(first, d), (m, n, k, a_type, tile, "another result in the second run")
    return 1


def check_places(lib):
    """Memory that the GPU does not reach is refused by name; the host's, where CUDA has it, serves."""
    m, n, k = 70, 80, 64
    a, b = (torch.randint(-2, 3, (r, k)).to(BF16) for r in (m, n))
    want = (a.float() @ b.float().T).to(BF16)
    d = torch.empty(m, n, device="cuda", dtype=BF16)
    try:
        lib.gemm(lib.problem(a, b.cuda(), None, d))
        raise AssertionError("memory of the host alone was taken")
    except RuntimeError as error:
        assert "gemm: A is no memory of a GPU" in str(error), error
    lib.gemm(lib.problem(a.pin_memory(), b.cuda(), None, d))
    assert torch.equal(d.cpu(), want), "operand in pinned memory"


def check_graph(lib):
    """Replays of a captured split product are bit-equal; two streams with a workspace each do not disturb each other."""
    shape = (16, 4096, 4096)
    a, b = (torch.randn(r, shape[2], device="cuda", dtype=BF16) for r in shape[:2])
    d = torch.empty(shape[:2], device="cuda", dtype=BF16)
    problem = lib.problem(a, b, None, d)
    split = lib.tiles.index("swapped_64x16_split")
    lib.gemm(problem, split)
    want = d.clone()
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=side):
        for _ in range(5):
            lib.gemm(problem, split)
    for _ in range(20):
        d.fill_(float("nan"))
        graph.replay()
        assert torch.equal(d, want)
    streams, outs, problems, spaces = [], [], [], []
    for _ in range(2):
        streams.append(torch.cuda.Stream())
        outs.append(torch.empty_like(d))
        spaces.append(torch.zeros_like(lib.workspace))
        problems.append(lib.problem(a, b, None, outs[-1]))
        problems[-1].workspace = spaces[-1].data_ptr()
    torch.cuda.synchronize()
    for _ in range(200):
        for s, p in zip(streams, problems):
            with torch.cuda.stream(s):
                lib.gemm(p, split)
    torch.cuda.synchronize()
    assert all(torch.equal(o, want) for o in outs), "two streams at once"


def main():
    lib = Library(sys.argv[1])
    rng = random.Random(1)
    torch.manual_seed(1)
    tiles = range(-1, len(lib.tiles))
    kinds = [(BF16, BF16), (F16, F16), (BF16, F32), (F16, F32), (F32, F32), (E4M3, BF16), (torch.int8, torch.int32),
             (torch.int8, BF16), (torch.int8, F16)]
    few = "--few" in sys.argv  # for slow checkers
    sizes = SIZES[::4] if few else SIZES
    count = total = 0
    for a_type in () if few else (BF16, F16):  # alpha and beta in eighths keep all sums exact
        for m in sizes:
            for n in sizes:
                for k in [0] + sizes:
                    count += check(lib, rng, m, n, k, a_type, a_type, tile=rng.choice(tiles), alpha=rng.randint(-32, 32) / 8, beta=rng.randint(-32, 32) / 8)
    for m in sizes:
        for n in sizes:
            for k in [0] + sizes:
                for _ in range(1 if few else 2):
                    a_type, out = kinds[total % len(kinds)]
                    total += 1
                    o = {"tile": rng.choice(tiles), "batches": rng.choice([1, 1, 1, 2])}
                    exact = out == torch.int32
                    if not exact:
                        o.update(alpha=rng.choice([1, 0.5, -2, 0]), beta=rng.choice([0, 0, 1, -0.5]))
                    if a_type in (BF16, F16) and out == a_type:
                        what = rng.choice(["plain", "columns", "fused", "gated"])
                        if what == "columns":
                            o["columns"] = tuple(rng.choice([False, True]) for _ in range(3))
                        elif what == "fused":
                            o.update(scaled=True, activation=rng.choice(["identity", "relu", "silu", "gelu_tanh", "gelu_erf"]), alpha=0.0625)
                        elif what == "gated" and n % 8 == 0:
                            o.update(scaled=rng.random() < 0.5, activation=rng.choice(["silu", "gelu_tanh"]), alpha=0.0625,
                                     gate=rng.choice(["interleaved", "concatenated"]))
                    elif a_type in (torch.int8, E4M3) and not exact:
                        o.update(scaled=True)
                        if a_type == torch.int8 and rng.random() < 0.3:
                            o.update(activation=rng.choice(["relu", "silu", "gelu_erf"]), alpha=0.0625)
                        if a_type == E4M3:
                            o.update(fast=rng.random() < 0.5)
                            if rng.random() < 0.3:
                                a_type, o["b_type"] = rng.choice([(E4M3, E5M2), (E5M2, E4M3), (E5M2, E5M2)])
                    elif exact or out == F32:
                        o["columns"] = (False, False, rng.choice([False, True]))
                    if o["batches"] > 1:
                        o["one_b"] = rng.random() < 0.3
                    count += check(lib, rng, m, n, k, a_type, out, **o)
    for m in sizes:  # where TMA cannot take the matrices
        for n in sizes:
            a_type, out = rng.choice(kinds)
            o = {"columns": tuple(rng.choice([False, True]) for _ in range(3)), "loose": True, "batches": rng.choice([1, 1, 2])}
            if out != torch.int32:
                o.update(alpha=rng.choice([1, 0.5, -2, 0]), beta=rng.choice([0, 0, 1, -0.5]))
            if out in (BF16, F16):
                o.update(scaled=rng.random() < 0.5)
                if a_type in (BF16, F16) and rng.random() < 0.3:
                    o.update(gate=rng.choice(["interleaved", "concatenated"]), activation="silu", alpha=0.0625, columns=(*o["columns"][:2], False))
            if a_type == E4M3:
                o["b_type"] = rng.choice([E4M3, E5M2])
            count += check(lib, rng, m, n, rng.choice([0] + sizes), a_type, out, **o)
    for m in sizes:
        for n in sizes:
            a_type, out = rng.choice([(torch.int8, torch.int8)] * 3 + [(torch.int8, torch.int32), (torch.int8, BF16), (torch.int8, F16), (torch.int8, F32),
                                      (BF16, torch.int8), (F16, F16), (E4M3, BF16)])
            count += check_quantised(lib, rng, m, n, rng.choice([0] + sizes), a_type, out, rng.choice(tiles), rng.choice([1, 1, 2]))
    check_places(lib)
    torch.cuda.synchronize()
    print(f"{count} exact cases right", flush=True)
    if "--large" in sys.argv:
        large = 0
        for shape in [(1000, 1544, 272), (64, 6144, 4096), (1, 4096, 14336), (4096, 4096, 4096), (3000, 5000, 7008), (33, 8192, 8192),
                      (8192, 40, 8192)]:
            for tile in tiles:
                for a_type, out in kinds[:6]:
                    for fast in (False, True) if a_type == E4M3 else (False,):
                        large += check_large(lib, rng, *shape, a_type, out, tile, rng.uniform(-2, 2), rng.choice([0, rng.uniform(-2, 2)]), fast)
                for out in (torch.int32, BF16):
                    large += check(lib, rng, *shape, torch.int8, out, tile, scaled=out == BF16)
        check_reports(lib)
        check_graph(lib)
        torch.cuda.synchronize()
        print(f"{large} large cases in bounds and the same twice; graphs and two streams right")


main()
