#!/usr/bin/env python3
"""Checks attention on a Hopper GPU. Usage: attention_device.py libwarpfold.so [--few]; exit status 77 without PyTorch or GPU.

Against float64. Error bound, with u the relative error of rounding to the input type (2^-8 bf16, 2^-11 fp16): P is rounded
to it, sums and products are in fp32, O is rounded once to its own type:
  |O - want| <= (u + e + 2 s) sum_j P_j |V_j| + u_out |O|,   |LSE - want| <= e + s + 2^-22 |want|
where e = 2^-17 + seqlen_k 2^-24 covers fp32, and s is the largest error of a score: each m64nNk16 product adds 17 terms, each cut at 2^-24 of the largest, which is at most sum |q||k|, so
s = scale * head_dim / 16 * 17 * 2^-24 * max_j sum |q||k_j|; P_j and their sum are off by a factor exp(s) each. fp16 rounds what is
below 2^-14 to multiples of 2^-24: 2^-25 more for O, and 2^-25 sum_j |V_j| for P.
e4m3 rounds P, times 2^b (8; of eager tiles 5), by 2^-4 of it or 2^-9 / 2: 2^-10-b sum_j |V_j|; its products keep 13 bits after the leading one of the largest
of 33 terms, so u is 2^-13 for 2^-24 above, and O is off by seqlen_k / 32 * 33 * 2^-13 sum_j P_j |V_j| more.
Memory between rows, heads and sequences and past their ends holds NaN; around O and LSE nothing may be written.
"""
import itertools
import math
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
from attention_c import Attention  # noqa: E402

import edge_memory  # noqa: E402

BF16, F16, F32, E4M3 = torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn
U = {E4M3: 2.0**-4, BF16: 2.0**-8, F16: 2.0**-11, F32: 2.0**-24}
NAN = float("nan")
EAGER_E4M3 = ("d128_plain_e4m3", "d128_causal_e4m3")


def padded(rng, batches, rows, heads, dim, dtype):
    """A (batches, rows, heads, dim) view inside NaN, with odd strides, and the whole of it."""
    extra = rng.choice([0, 16 // dtype.itemsize])
    whole = torch.full((batches, rows + 2 + rng.choice([0, 3]), heads + rng.choice([0, 1]), dim + extra), NAN, device="cuda").to(dtype)
    return whole, whole[:, 1:1 + rows, :heads, :dim]


def reference(q, k, v, window, scale, softcap=0, sink=None, alibi=None, bias=None, eight_bit=False):
    """O, sum_j P_j |V_j|, sum_j |V_j|, LSE and the largest error of a score of one sequence (rows, heads, dim) in float64.

    window: (left, right), below 0 without limit. sink, alibi: (heads). bias: (heads, rows, keys), bool or added."""
    ratio = q.shape[1] // k.shape[1]
    q, k, v = (x.double().transpose(0, 1) for x in (q, k, v))
    k, v = (x.repeat_interleave(ratio, 0) for x in (k, v))
    s = q @ k.transpose(1, 2) * scale
    unit = -(-q.shape[2] // 32) * 33 * 2.0**-13 if eight_bit else -(-q.shape[2] // 16) * 17 * 2.0**-24
    error = scale * unit * (q.abs() @ k.abs().transpose(1, 2)).amax(-1) if s.shape[2] else torch.zeros(s.shape[:2], device="cuda")
    if softcap:
        s = softcap * torch.tanh(s / softcap)
        error = error + softcap * 2.0**-20
    rows, keys = s.shape[1:]
    ahead = torch.arange(keys, device="cuda")[None] - torch.arange(rows, device="cuda")[:, None] - (keys - rows)  # j - p
    if alibi is not None:
        part = alibi.double()[:, None, None] * ahead.abs()
        s -= part
        error = error + part.abs().amax(-1) * 2.0**-22 if keys else error
    if bias is not None:
        s = s.masked_fill(~bias, -math.inf) if bias.dtype == torch.bool else s + bias.double()
        error = error + 2.0**-18  # biases of up to 2^4
    left, right = window
    hidden = (ahead < (-left if left >= 0 else -math.inf)) | (ahead > (right if right >= 0 else math.inf))
    s = s.masked_fill(hidden, -math.inf)
    with_sink = s if sink is None else torch.cat([s, sink.double()[:, None, None].expand(-1, rows, 1)], 2)
    lse = with_sink.logsumexp(-1) if with_sink.shape[2] else torch.full(s.shape[:2], -math.inf, device="cuda", dtype=torch.double)
    p = torch.nan_to_num(torch.exp(s - lse[..., None]))
    return (p @ v).transpose(0, 1), (p @ v.abs()).transpose(0, 1), (s.isfinite().double() @ v.abs()).transpose(0, 1), lse, error


def tile_keys(name):
    """Of a tile without options."""
    d, dv = dims(name)
    if "e4m3" in name:
        return 96 if d == 256 else 128
    return 80 if d == 256 else 112 if dv == 192 else 176 if name == "d96_plain" else 144 if "pair" in name else 128


def shape_scores(q, k, tile, data, bits):
    """Scores become `bits` higher, as powers of 2: of each key tile than of the one visited before; of the key visited
    last; of one key. Or some columns are 20 times as large."""
    keys = torch.arange(k.shape[1], device="cuda")
    if data == "outliers":
        for x in (q, k):
            x[..., 3::37] = (x[..., 3::37].float() * 20).to(x.dtype)
        return
    times = {"rising": (k.shape[1] - 1) // tile - keys // tile, "last_key": keys == 0, "one_hot": keys == k.shape[1] * 2 // 3}[data]
    q[..., 0] = torch.full(q.shape[:-1], 8.0, device="cuda").to(q.dtype)
    k[..., 0] = (math.log(2) * math.sqrt(q.shape[-1]) / 8 * bits * times.float())[None, :, None].expand(k.shape[:-1]).to(k.dtype)


def check(lib, rng, tile, dtype, batches, heads, kv_heads, sq, sk, d, dv, causal, out=None, q_lengths=None, k_lengths=None,
          packed=False, lse_wanted=True, spread=1.0, workspace=True, window=None, softcap=0, sink=False, alibi=False, bias=None, descale=False, shape=None):
    """window: (left, right) instead of `causal`. bias: a dtype, bool for a mask. shape: of scores, see shape_scores()."""
    case = dict(tile=lib.tiles[tile] if tile >= 0 else "auto", dtype=dtype, out=out, batches=batches, heads=(heads, kv_heads),
                seqlen=(sq, sk), dims=(d, dv), causal=causal, q_lengths=q_lengths, k_lengths=k_lengths, packed=packed, window=window, softcap=softcap, sink=sink, alibi=alibi, bias=bias, descale=descale, shape=shape)
    eight_bit = dtype == E4M3
    out = out or (BF16 if eight_bit else dtype)
    ql, kl = q_lengths or [sq] * batches, k_lengths or [sk] * batches
    qp, kp = packed and q_lengths is not None, packed and k_lengths is not None
    starts = lambda lengths: list(itertools.accumulate(lengths, initial=0))  # noqa: E731
    qs, ks = starts(ql), starts(kl)
    _, q = padded(rng, 1 if qp else batches, qs[-1] if qp else sq, heads, d, dtype)
    _, k = padded(rng, 1 if kp else batches, ks[-1] if kp else sk, kv_heads, d, dtype)
    _, v = padded(rng, 1 if kp else batches, ks[-1] if kp else sk, kv_heads, dv, dtype)
    whole, o = padded(rng, 1 if qp else batches, qs[-1] if qp else sq, heads, dv, out)
    lse_whole = torch.full((o.shape[0], heads, o.shape[1] + 5), NAN, device="cuda")
    lse = lse_whole[:, :, 2:2 + o.shape[1]]

    def rows(x, b, lengths, firsts, is_packed):
        return x[0, firsts[b]:firsts[b] + lengths[b]] if is_packed else x[b, :lengths[b]]

    for b in range(batches):
        for x, lengths, firsts, is_packed, size in ((q, ql, qs, qp, spread), (k, kl, ks, kp, 1), (v, kl, ks, kp, 1)):
            part = rows(x, b, lengths, firsts, is_packed)
            part.copy_((torch.randn(part.shape, device="cuda") * size).to(dtype))
    if shape is not None:
        shape_scores(q, k, tile_keys(case["tile"]), *shape)
    t = lambda x: torch.tensor(x, device="cuda", dtype=torch.int32)  # noqa: E731
    lengths = {}
    if q_lengths is not None:
        lengths["q_starts" if packed else "q_used"] = t(qs if packed else ql)
    if k_lengths is not None:
        lengths["k_starts" if packed else "k_used"] = t(ks if packed else kl)
    scale = 1 / math.sqrt(d)
    options = {"softcap": softcap, "window": window}
    if sink:
        options["sink"] = torch.randn(heads, device="cuda") * 3
        options["sink"][rng.randrange(heads)] = -math.inf
    if alibi:
        options["alibi"] = torch.randn(batches if rng.random() < 0.5 else 1, heads, device="cuda").expand(batches, heads) * 0.02
    if bias is not None:
        sizes = [size if rng.random() < 0.7 else 1 for size in (batches, heads, sq, sk)]
        step = rng.choice([1, 1, 2])
        values = torch.randn(*sizes[:3], sizes[3] * step, device="cuda") * 2
        values[torch.rand(values.shape, device="cuda") < 0.2] = -math.inf
        options["bias"] = (values.isfinite() if bias is torch.bool else values.to(bias))[..., ::step].expand(batches, heads, sq, sk)
    factors = torch.ones(3, batches, kv_heads, device="cuda")
    if descale:
        factors = torch.rand(3, batches, kv_heads, device="cuda") + 0.5
        options["descale"] = factors.unbind()
    see = window if window is not None else (-1, 0) if causal else (-1, -1)
    first = (lambda x, is_packed: x[0] if is_packed else x)  # noqa: E731
    problem = lib.problem(first(q, qp), first(k, kp), first(v, kp), first(o, qp), first(lse, qp) if lse_wanted else None, causal, scale,
                          longest_q=sq, longest_k=sk, workspace=workspace, **lengths, **options)
    if not lib.run(problem, tile):
        return 0
    again = o.clone()
    lib.run(problem, tile)
    assert torch.equal(again.nan_to_num(7), o.nan_to_num(7)), (case, "another result in the second run")
    e = 2.0**-17 + sk * 2.0**-24
    p_unit = 2.0**-25 if dtype == F16 else 2.0**-15 if case["tile"] in EAGER_E4M3 else 2.0**-18
    for b in range(batches):
        parts = [rows(x, b, n, firsts, is_packed).double() * f.repeat_interleave(x.shape[-2] // kv_heads)[:, None]
                 for x, n, firsts, is_packed, f in ((q, ql, qs, qp, factors[0, b]), (k, kl, ks, kp, factors[1, b]), (v, kl, ks, kp, factors[2, b]))]
        want, size, values, want_lse, score = reference(*parts, see, scale,
                                                          softcap, options.get("sink"), options["alibi"][b] if alibi else None,
                                                          options["bias"][b, :, :ql[b], :kl[b]] if bias is not None else None, eight_bit)
        got = rows(o, b, ql, qs, qp)
        sums = -(-kl[b] // 32) * 33 * 2.0**-13 if eight_bit else 0
        small = 2.0**-25 + (values * p_unit if dtype in (F16, E4M3) else 0)
        bound = (U[dtype] + e + sums + 2 * score.transpose(0, 1)[..., None]) * size + U[out] * got.double().abs() + small
        wrong = ~((got.double() - want).abs() <= bound)
        assert not bool(wrong.any()), (case, b, int(wrong.sum()), "wrong elements of O, first", wrong.nonzero()[0].tolist(),
                                       "by", float(torch.nan_to_num((got.double() - want).abs(), math.inf).max()))
        if lse_wanted:
            got_lse = rows(lse.transpose(1, 2), b, ql, qs, qp).transpose(0, 1).double()
            wrong = ~((got_lse == want_lse) | ((got_lse - want_lse).abs() <= e + score + want_lse.abs() * 2.0**-22))
            assert not bool(wrong.any()), (case, b, int(wrong.sum()), "wrong LSE, first", wrong.nonzero()[0].tolist())
        rows(o, b, ql, qs, qp).fill_(NAN)
        rows(lse.transpose(1, 2), b, ql, qs, qp).fill_(NAN)
    assert bool(whole.isnan().all()), (case, "wrote beside O")
    assert bool(lse_whole.isnan().all()), (case, "wrote beside LSE")
    return 1


def check_edges(lib, rng):
    """Tensors at the first and at the last address of mapped memory, so that an access outside faults."""
    count = 0
    for (d, dv), causal, at_end, packed in itertools.product(((64, 64), (128, 128), (256, 256), (192, 128), (192, 192), (112, 48), (200, 64)), (False, True), (False, True), (None, False, True)):
        batches, heads, rows = 3, 2, rng.choice([60, 128, 300])
        lengths = [rows, rng.choice([0, 1, rows // 2]), rng.choice([1, rows - 1])]
        starts = list(itertools.accumulate(lengths, initial=0))
        size = (starts[-1], heads) if packed else (batches, rows, heads)
        q, k, v, o = (edge_memory.empty((*size, x), BF16, at_end) for x in (d, d, dv, dv))
        for x in (q, k, v):
            x.normal_()
        given = {} if packed is None else {"q_starts": starts, "k_starts": starts} if packed else {"q_used": lengths, "k_used": lengths}
        given = {name: torch.tensor(x, device="cuda", dtype=torch.int32) for name, x in given.items()}
        lib.run(lib.problem(q, k, v, o, causal=causal, longest_q=rows, longest_k=rows, **given))
        try:
            torch.cuda.synchronize()
        except RuntimeError as error:
            raise AssertionError(("tensors at the " + ("end" if at_end else "start"), d, causal, packed, lengths)) from error
        for b in range(batches if packed is not None else 0):
            part = (lambda x: x[starts[b]:starts[b + 1]]) if packed else (lambda x: x[b, :lengths[b]])  # noqa: E731
            want, weighed, *_, score = reference(part(q), part(k), part(v), (-1, 0) if causal else (-1, -1), 1 / math.sqrt(d))
            bound = (2.0**-7 + 2 * score.transpose(0, 1)[..., None]) * (weighed + want.abs()) + 2.0**-25
            assert bool(((part(o).double() - want).abs() <= bound).all()), (d, dv, causal, at_end, packed, lengths, b)
        count += 1
    return count


def dims(name):
    """Head dims of Q and V of a tile: d64_plain, d192x128_plain."""
    numbers = name.split("_")[0][1:].split("x")
    return int(numbers[0]), int(numbers[-1])


def edges(tile):
    return sorted({1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile, 2 * tile + 1, 2 * tile + 33})


def check_options(lib, rng, few):
    """Windows, sinks, softcap, ALiBi and biases, each alone, in pairs and all at once, by the tiles that offer them."""
    count = 0
    for tile, name in enumerate(lib.tiles):
        offer = name.split("_")[1]
        if offer not in ("window", "scores", "bias") or "e4m3" in name:
            continue
        d, dv = dims(name)
        for _ in range(12 if few else 120):
            batches, ratio, kv_heads = rng.choice([1, 1, 2, 3]), rng.choice([1, 2, 4]), rng.choice([1, 2])
            sq, sk = (rng.choice([1, 17, 64, 100, 128, 129, 200, 300, 500, 900]) for _ in "qk")
            lengths = {}
            if rng.random() < 0.3:
                draw = lambda most: [most] + [rng.randint(0, most) for _ in range(batches - 1)]  # noqa: E731
                lengths = {"q_lengths": draw(sq), "k_lengths": draw(sk), "packed": rng.random() < 0.5}
            limit = lambda: rng.choice([-1, -1, 0, 1, 20, 63, 64, 127, 128, 200, 333])  # noqa: E731
            count += check(lib, rng, tile, rng.choice([BF16, F16]), batches, ratio * kv_heads, kv_heads, sq, sk, d, dv, rng.random() < 0.3,
                           out=rng.choice([None, None, F32]), window=rng.choice([None, (limit(), limit()), (limit(), 0)]),
                           sink=rng.random() < 0.5, softcap=rng.choice([0, 5, 30]) if offer != "window" else 0,
                           alibi=offer != "window" and rng.random() < 0.5,
                           bias=rng.choice([None, F32, BF16, F16, torch.bool]) if offer == "bias" else None, **lengths)
        print(f"{name}: {count} cases of options right so far", flush=True)
    for window, sink in (((1024, 0), False), ((127, 0), True), ((-1, 0), True)):  # the table's choice, at length
        count += check(lib, rng, -1, BF16, 1, 8, 2, 300 if few else 6000, 500 if few else 6000, 64, 64, False, window=window, sink=sink)
    return count


def check_e4m3(lib, rng, few):
    count = 0
    for tile, name in enumerate(lib.tiles):
        if "e4m3" not in name:
            continue
        d, _ = dims(name)
        for _ in range(15 if few else 150):
            batches, ratio, kv_heads = rng.choice([1, 1, 2, 3]), rng.choice([1, 2, 4]), rng.choice([1, 2])
            sq, sk = (rng.choice([1, 17, 64, 96, 97, 128, 129, 200, 300, 500, 900]) for _ in "qk")
            lengths = {}
            if rng.random() < 0.3:
                draw = lambda most: [most] + [rng.randint(0, most) for _ in range(batches - 1)]  # noqa: E731
                lengths = {"q_lengths": draw(sq), "k_lengths": draw(sk), "packed": rng.random() < 0.5}
            window = (rng.choice([-1, 0, 20, 128, 200]), rng.choice([-1, 0, 33])) if "window" in name else None
            count += check(lib, rng, tile, E4M3, batches, ratio * kv_heads, kv_heads, sq, sk, d, rng.choice([d, d, d - 16]), "causal" in name,
                           out=rng.choice([None, None, F32]), window=window, sink=window is not None and rng.random() < 0.5,
                           descale=rng.random() < 0.5, **lengths)
        print(f"{name}: {count} cases of e4m3 right so far", flush=True)
    return count


def check_rises(lib, rng):
    """Maxima that rise within and beyond what eager tiles let through, by every tile without options."""
    count = 0
    shapes = [("rising", x) for x in (4, 11, 18, 1024, -7)] + [("last_key", x) for x in (9, 17.5, 1024)] + [("one_hot", 40), ("outliers", 0)]
    shapes_e4m3 = [("rising", x) for x in (3, 6, 12)] + [("last_key", x) for x in (5, 20)] + [("one_hot", 12)]
    for tile, name in enumerate(lib.tiles):
        if name.split("_")[1] in ("window", "scores", "bias"):
            continue
        d, dv = dims(name)
        for shape in shapes_e4m3 if "e4m3" in name else shapes:
            for sq, sk in ((70, 520), (300, 290), (400, 1100 if shape[1] < 1024 else 500)):
                for dtype in (E4M3,) if "e4m3" in name else (BF16, F16):
                    count += check(lib, rng, tile, dtype, 1, 2, 1, sq, sk, d, dv, "causal" in name, out=rng.choice([None, F32]), shape=shape)
    print(f"{count} cases of rising maxima right", flush=True)
    return count


def check_graph(lib):
    """Replays of a captured launch are bit-equal; two streams with a workspace each do not disturb each other."""
    q, k, v = (torch.randn(4, 1024, 8, 128, device="cuda", dtype=BF16) for _ in range(3))
    o = torch.empty_like(q)
    problem = lib.problem(q, k, v, o, causal=True)
    lib.run(problem)
    want = o.clone()
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=side):
        for _ in range(5):
            lib.run(problem)
    for _ in range(20):
        o.fill_(NAN)
        graph.replay()
        assert torch.equal(o, want)
    streams, outs, problems, spaces = [], [], [], []
    for _ in range(2):
        streams.append(torch.cuda.Stream())
        outs.append(torch.empty_like(o))
        spaces.append(torch.zeros_like(lib.workspace))
        problems.append(lib.problem(q, k, v, outs[-1], causal=True))
        problems[-1].workspace = spaces[-1].data_ptr()
    torch.cuda.synchronize()
    for _ in range(100):
        for s, p in zip(streams, problems):
            with torch.cuda.stream(s):
                lib.run(p)
    torch.cuda.synchronize()
    assert all(torch.equal(x, want) for x in outs), "two streams at once"


def main():
    lib = Attention(sys.argv[1])
    few = "--few" in sys.argv  # for slow checkers
    rng = random.Random(1)
    torch.manual_seed(1)
    count = 0
    for tile, name in enumerate(lib.tiles):
        if name.split("_")[1] in ("window", "scores", "bias") or "e4m3" in name:
            continue
        d, dv = dims(name)
        causal = "causal" in name
        sizes = edges(tile_keys(name))
        for sq in sizes[::3] if few else sizes:
            for sk in [0] + (sizes[::3] if few else sizes):
                ratio = rng.choice([1, 1, 2, 3, 8])
                kv_heads = rng.choice([1, 2])
                count += check(lib, rng, tile, rng.choice([BF16, F16]), rng.choice([1, 1, 2, 3]), ratio * kv_heads, kv_heads, sq, sk, d, dv,
                               causal, out=rng.choice([None, None, F32]), lse_wanted=rng.random() < 0.8,
                               spread=rng.choice([1, 1, 10, 1e-3]), workspace=rng.random() < 0.8)
        print(f"{name}: {count} cases right so far", flush=True)
    for causal in (False, True):
        for d, dv in [(64, 64), (128, 128), (256, 256), (8, 8), (40, 64), (72, 80), (96, 96), (112, 48), (192, 128), (192, 192), (248, 136)]:
            for packed in (False, True):
                for _ in range(1 if few else 4):
                    batches, ratio, kv_heads = rng.choice([1, 3, 7]), rng.choice([1, 2, 5]), rng.choice([1, 2])
                    lengths = lambda: [rng.choice([0, 1, 17, 64, 100, 128, 200, 333, 500]) for _ in range(batches)]  # noqa: E731
                    ql, kl = lengths(), lengths()
                    if rng.random() < 0.3:
                        kl = ql
                    only = rng.random()
                    count += check(lib, rng, -1, rng.choice([BF16, F16]), batches, ratio * kv_heads, kv_heads, max(ql) + rng.choice([0, 7]) + (max(ql) == 0),
                                   max(kl) + rng.choice([0, 7]), d, dv, causal, q_lengths=None if only < 0.15 else ql, k_lengths=None if only > 0.85 else kl,
                                   packed=packed and 0.15 <= only <= 0.85)
    print(f"{count} cases right with lengths and other head dims", flush=True)
    count += check_rises(lib, rng)
    count += check_options(lib, rng, few)
    count += check_e4m3(lib, rng, few)
    for d in () if few else (64, 128, 256):
        for causal in (False, True):
            for sq, sk in ((2048, 2048), (1000, 4100), (4100, 1000)):
                count += check(lib, rng, -1, BF16, 2, 4, 2, sq, sk, d, d, causal)
    count += check_edges(lib, rng)
    check_graph(lib)
    torch.cuda.synchronize()
    print(f"{count} cases right, graphs and two streams too")


main()
