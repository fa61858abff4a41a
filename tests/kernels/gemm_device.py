#!/usr/bin/env python3
"""Checks the GEMM on a Hopper GPU. Usage: gemm_device.py libwarpfold.so [--large | --few]; exit status 77 without PyTorch or GPU.

Inputs are small integers, and alpha and beta powers of two, so that every product and sum is exact in fp32: D must be
the exact result rounded once, bit for bit. Large sizes use normal data and a bound: with S = sum |a||b|, an m64nNk16
product adds 17 terms, each cut at 2^-24 of the largest, so the sum over K is off by at most K/16 * 17 * 2^-24 * S, and
rounding adds half a unit in the last place: at most 2^-8 of the result in bf16 (8 bits), 2^-11 in fp16 (11 bits). alpha and
beta are rounded to fp32 and so are the two products and the sum with C: 4 * 2^-24 of their sizes.
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
CANARY_ROWS = 3


def padded(rows, width, extra, dtype, fill):
    """A (rows, width) view whose rows start on 16 bytes, with `fill` around it."""
    stride = (width + 7) // 8 * 8 + 8 * extra
    whole = torch.full((rows + 2 * CANARY_ROWS, stride), fill, device="cuda", dtype=dtype)
    return whole, whole[CANARY_ROWS:CANARY_ROWS + rows, :width]


def untouched(whole, rows, width):
    """Only the view was written: everything else is still NaN."""
    inside = torch.zeros_like(whole, dtype=torch.bool)
    inside[CANARY_ROWS:CANARY_ROWS + rows, :width] = True
    return bool((whole.isnan() | inside).all())


def check_exact(lib, m, n, k, dtype, tile, alpha, beta, extra):
    nan = float("nan")
    _, a = padded(m, k, extra, dtype, nan)
    _, b = padded(n, k, extra, dtype, nan)
    _, c = padded(m, n, extra, dtype, nan)
    whole, d = padded(m, n, extra, dtype, nan)
    a.copy_(torch.randint(-4, 5, (m, k), device="cuda"))
    b.copy_(torch.randint(-4, 5, (n, k), device="cuda"))
    if beta != 0:
        c.copy_(torch.randint(-8, 9, (m, n), device="cuda"))
    lib.gemm(lib.problem(a, b, c, d, alpha, beta), tile)
    want = alpha * (a.double() @ b.double().t())
    if beta != 0:
        want += beta * c.double()
    assert torch.equal(d, want.to(dtype)), (m, n, k, dtype, tile, alpha, beta,
                                            int((d != want.to(dtype)).sum()), "wrong elements")
    assert untouched(whole, m, n), (m, n, k, dtype, tile, "wrote outside D")


def check_int8(lib, m, n, k, out, tile, extra):
    """Exact sums, or scales that are powers of two: D is the exact result, rounded once to 16 bits."""
    def operand(rows):
        stride = (k + 15) // 16 * 16 + 16 * extra
        whole = torch.full((rows, stride), 77, device="cuda", dtype=torch.int8)
        whole[:, :k] = torch.randint(-128, 128, (rows, k), device="cuda")
        return whole[:, :k]
    a, b = operand(m), operand(n)
    unit = 16 // out.itemsize
    stride = (n + unit - 1) // unit * unit + unit * extra
    poison = 0x7FFFFFFF if out == torch.int32 else float("nan")
    whole = torch.full((m + 2 * CANARY_ROWS, stride), poison, device="cuda", dtype=out)
    d = whole[CANARY_ROWS:CANARY_ROWS + m, :n]
    row = column = None
    want = a.double() @ b.double().t()
    if out != torch.int32:
        row, column = (2.0 ** torch.randint(-12, -6, (r,), device="cuda").float() for r in (m, n))
        want *= row.double()[:, None] * column.double()
    lib.gemm(lib.problem(a, b, None, d, row=row, column=column), tile)
    assert torch.equal(d, want.to(out)), (m, n, k, out, tile, int((d != want.to(out)).sum()), "wrong elements")
    inside = torch.zeros_like(whole, dtype=torch.bool)
    inside[CANARY_ROWS:CANARY_ROWS + m, :n] = True
    clean = whole == poison if out == torch.int32 else whole.isnan()
    assert bool((clean | inside).all()), (m, n, k, out, tile, "wrote outside D")


def check_large(lib, m, n, k, dtype, tile, alpha, beta):
    a, b = (torch.randn(r, k, device="cuda", dtype=dtype) for r in (m, n))
    c = torch.randn(m, n, device="cuda", dtype=dtype)
    d = torch.full((m, n), float("nan"), device="cuda", dtype=dtype)
    lib.gemm(lib.problem(a, b, c, d, alpha, beta), tile)
    want = alpha * (a.double() @ b.double().t()) + beta * c.double()
    size = abs(alpha) * (a.double().abs() @ b.double().abs().t()) + abs(beta) * c.double().abs()
    bound = size * ((k / 16 * 17 + 4) * 2**-24) + want.abs() * (2**-8 if dtype == torch.bfloat16 else 2**-11)
    wrong = int((~((d.double() - want).abs() <= bound + 1e-30)).sum())
    assert wrong == 0, (m, n, k, dtype, tile, wrong, "wrong elements")


def main():
    lib = Library(sys.argv[1])
    rng = random.Random(1)
    torch.manual_seed(1)
    tiles = range(-1, len(lib.tiles))
    count = 0
    sizes = SIZES[::4] if "--few" in sys.argv else SIZES  # few: for slow checkers
    for m in sizes:
        for n in sizes:
            for k in [0] + sizes:
                dtype = rng.choice([torch.bfloat16, torch.float16])
                check_exact(lib, m, n, k, dtype, tiles[count % len(tiles)], rng.choice([1, 0.5, -2, 0]),
                            rng.choice([0, 0, 1, -0.5]), rng.choice([0, 1, 3]))
                count += 1
                if count % 2 == 0 and k > 0:
                    check_int8(lib, m, n, k, rng.choice([torch.int32, torch.bfloat16, torch.float16]),
                               tiles[count // 2 % len(tiles)], rng.choice([0, 1, 3]))
    torch.cuda.synchronize()
    print(f"{count} exact cases right, and half as many of int8", flush=True)
    if "--large" in sys.argv:
        shapes = [(1000, 1544, 272), (64, 6144, 4096), (4096, 4096, 4096), (3000, 5000, 7000), (8192, 8192, 1024),
                  (33, 8192, 8192), (8192, 40, 8192)]
        for shape in shapes:
            for tile in tiles:
                for dtype in (torch.bfloat16, torch.float16):
                    check_large(lib, *shape, dtype, tile, rng.uniform(-2, 2), rng.choice([0, rng.uniform(-2, 2)]))
        for shape in shapes[:5]:
            for tile in tiles:
                for out in (torch.int32, torch.bfloat16):
                    check_int8(lib, *shape, out, tile, 0)
        torch.cuda.synchronize()
        print(f"{len(shapes) * len(tiles) * 2} large cases right")


main()
