#!/usr/bin/env python3
"""Checks grouped products on a Hopper GPU. Usage: grouped_device.py libwarpfold.so [--few]; exit status 77 without PyTorch or GPU.

Small integers: every result is exact. Rows in no group hold NaN (77 for integers), in A as in D, and so does what lies
around D: none of it may be used or touched. A captured product finds the sizes of its replay.
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

KINDS = [(torch.bfloat16, torch.bfloat16), (torch.float16, torch.float16), (torch.int8, torch.int32)]
TILES = ["128x128", "128x192", "64x64"]


def poison(dtype):
    return float("nan") if dtype.is_floating_point else 77


def poisoned(rows, width, dtype):
    unit = 16 // dtype.itemsize
    whole = torch.full((rows, (width + unit - 1) // unit * unit + unit), poison(dtype), device="cuda", dtype=dtype)
    return whole[:, :width]


def integers(*shape, dtype):
    return torch.randint(-3, 4, shape, device="cuda").to(dtype)


def expected(a, b, d, ranges, alpha):
    want = torch.full(d.shape, poison(d.dtype), device="cuda", dtype=d.dtype)
    for g, (first, end) in enumerate(ranges):
        want[first:end] = (alpha * (a[first:end].double() @ b[g].double().t())).to(d.dtype)
    return want


def check(lib, rng, sizes, n, k, kind, tile, masked):
    in_type, out = KINDS[kind]
    groups, gap = len(sizes), rng.choice([0, 3])
    row_step = max(sizes) + gap
    if masked:
        starts, counts = None, torch.tensor(sizes, dtype=torch.int32, device="cuda")
        ranges, rows = [(g * row_step, g * row_step + s) for g, s in enumerate(sizes)], max(1, groups * row_step)
    else:
        bounds = [gap]
        for s in sizes:
            bounds.append(bounds[-1] + s)
        starts, counts = torch.tensor(bounds, dtype=torch.int32, device="cuda"), None
        ranges, rows = list(zip(bounds, bounds[1:])), max(1, bounds[-1] + gap)
    a, d = poisoned(rows, k, in_type), poisoned(rows + 200, n, out)
    b = integers(groups, n, (k + 15) // 16 * 16, dtype=in_type)[..., :k]
    for first, end in ranges:
        a[first:end] = integers(end - first, k, dtype=in_type)
    alpha = 1.0 if in_type == torch.int8 else rng.choice([1.0, 0.5, -2.0])
    whole = d._base
    lib.gemm_grouped(lib.grouped_problem(a, b, d[:rows], starts, counts, row_step if masked else 0, alpha), tile)
    want = torch.full_like(whole, poison(out))
    want[:rows, :n] = expected(a, b, d[:rows], ranges, alpha)
    same = (whole == want) | (whole.isnan() & want.isnan())
    assert bool(same.all()), (sizes, n, k, kind, tile, masked, (~same).nonzero()[0].tolist())


def check_fused(lib, rng, sizes, n, k, in_type, out, pointers):
    """Scales, bias and ReLU, with matrices in one tensor or at pointers of their own: powers of two, so exact."""
    groups, bounds = len(sizes), [0]
    for s in sizes:
        bounds.append(bounds[-1] + s)
    rows = max(1, bounds[-1])
    number = lambda *shape: torch.randint(-3, 4, shape, device="cuda").float().to(in_type)  # noqa: E731
    a, b = number(rows, (k + 15) // 16 * 16)[:, :k], number(groups, n, (k + 15) // 16 * 16)[..., :k]
    whole = torch.full((rows + 200, (n + 7) // 8 * 8 + 8), poison(out), device="cuda", dtype=out)
    d = whole[:rows, :n]
    more = {"starts": torch.tensor(bounds, dtype=torch.int32, device="cuda")}
    row, column, bias = torch.ones(rows, device="cuda"), torch.ones(groups, n, device="cuda"), torch.zeros(groups, n, device="cuda")
    if out != torch.int32:
        row, one = 2.0 ** torch.randint(-6, 1, (rows,), device="cuda").float(), rng.random() < 0.3
        column = 2.0 ** torch.randint(-6, 1, (groups, 1 if one else n), device="cuda").float()
        bias = torch.randint(-4, 5, (groups, n), device="cuda").float()
        more.update(row_scale=row, column_scale=column.flatten() if one else column, bias=bias, activation="relu")
        column = column.expand(groups, n)
    if pointers:
        apart = [b[g].clone() for g in range(groups)]
        apart = [torch.nn.functional.pad(x, (0, b.stride(1) - k))[:, :k] for x in apart]  # rows as far apart as in b
        more["b_pointers"] = torch.tensor([x.data_ptr() for x in apart], dtype=torch.int64, device="cuda")
    lib.gemm_grouped(lib.grouped_problem(a, b, d, **more))
    want = torch.full_like(whole, poison(out))
    for g, (first, end) in enumerate(zip(bounds, bounds[1:])):
        y = a[first:end].double() @ b[g].double().t()
        if out != torch.int32:
            y = (y * row[first:end, None].double() * column[g].double() + bias[g].double()).clamp(min=0)
        want[first:end, :n] = y.to(out)
    same = (whole == want) | (whole.isnan() & want.isnan())
    assert bool(same.all()), (sizes, n, k, in_type, out, pointers, (~same).nonzero()[0].tolist())


def check_graph(lib):
    """One captured launch, replayed with other sizes."""
    rows, n, k, groups = 3000, 512, 256, 16
    a, b = integers(rows, k, dtype=torch.bfloat16), integers(groups, n, k, dtype=torch.bfloat16)
    d = torch.empty(rows, n, device="cuda", dtype=torch.bfloat16)
    starts = torch.zeros(groups + 1, dtype=torch.int32, device="cuda")
    problem = lib.grouped_problem(a, b, d, starts)
    lib.gemm_grouped(problem)
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=side):
        lib.gemm_grouped(problem)
    for _ in range(20):
        bounds = torch.sort(torch.randint(0, rows + 1, (groups + 1,)))[0]
        starts.copy_(bounds.int())
        d.fill_(float("nan"))
        graph.replay()
        want = expected(a, b, d, list(zip(bounds.tolist(), bounds.tolist()[1:])), 1.0)
        assert bool(((d == want) | (d.isnan() & want.isnan())).all()), bounds


def main():
    lib = Library(sys.argv[1])
    few = "--few" in sys.argv  # for slow checkers
    rng = random.Random(1)
    torch.manual_seed(1)
    count = 0
    for tile in [-1] + [lib.tiles.index(t) for t in TILES]:
        for kind in range(len(KINDS)):
            for masked in (False, True):
                for _ in range(1 if few else 12):
                    groups = rng.choice([1, 2, 5, 8, 64])
                    sizes = [rng.choice([0, 0, 1, 7, 63, 64, 65, 127, 129, 200, 300]) for _ in range(groups)]
                    check(lib, rng, sizes, rng.choice([1, 8, 63, 200, 264, 512]), rng.choice([0, 1, 16, 40, 136, 400]), kind, tile, masked)
                    count += 1
    for in_type, out in [*KINDS, (torch.int8, torch.bfloat16), (torch.float8_e4m3fn, torch.bfloat16)]:
        for pointers in (False, True):
            for _ in range(1 if few else 12):
                sizes = [rng.choice([0, 1, 7, 63, 64, 65, 129, 300]) for _ in range(rng.choice([1, 2, 5, 16]))]
                check_fused(lib, rng, sizes, rng.choice([1, 8, 63, 200, 264]), rng.choice([0, 1, 16, 40, 136, 400]), in_type, out, pointers)
                count += 1
    if not few:
        check_graph(lib)
    torch.cuda.synchronize()
    print(f"{count} grouped products exact" + ("" if few else "; a captured one finds other sizes"))


main()
