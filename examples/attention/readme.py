#!/usr/bin/env python3
"""Writes the tables in README.md: each step's lines, and what `bench attention --ladder --json` measured beside the post's figures.

Usage: readme.py [RESULTS.json]    without results the measured parts stay as they are
       readme.py --check           fails if the lines are not those of the files, or a file has 200 or more
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
LINES, FIRST_FIGURE = 2, 4  # columns; a gain follows each figure
HEAD_DIMS = (64, 128, 256)
POST = {64: (110, 212, 260), 128: (121, 237, 296), 256: (99, 204, 308)}  # CUTLASS example 41, FlashAttention-2, the post


def cells(row):
    return [c.strip() for c in row.strip().strip("|").split("|")]


def steps_with(old, results):
    header, rule, *rows = old.strip("\n").splitlines()
    rows = [cells(r) for r in rows]
    for row in rows:
        name = row[0].split("]")[0].strip("[")
        if (HERE / f"{name}.cpp").exists():
            row[LINES] = str(len((HERE / f"{name}.cpp").read_text().splitlines()))
        for i, d in enumerate(HEAD_DIMS):
            for r in results:
                label = f"{r['step']:02}_{r['name']}" if r["step"] else "the library's kernel"
                if label == name and r["head_dim"] == d and (r["own"] or not r["step"]):
                    row[FIRST_FIGURE + 2 * i] = f"{r['tflops']:.0f}"
                    row[FIRST_FIGURE + 2 * i + 1] = f"{r['gain']:.2f}x" if r["gain"] else ""
    return rows, "\n".join([header, rule] + ["| " + " | ".join(r) + " |" for r in rows]) + "\n"


def tiles_of(results):
    """The post's table: rows x keys of step 2's tile, ours and the post's."""
    tiles = [(64, 64), (64, 128), (128, 64), (128, 128)]
    lines = ["| head dim | " + " | ".join(f"{r} x {k}" for r, k in tiles) + " |", "|---" * 5 + "|"]
    for d in HEAD_DIMS:
        found = {(r["rows"], r["keys"]): r for r in results if r["step"] == 2 and r["head_dim"] == d}
        row = [f"{found[t]['tflops']:.0f} ({found[t]['post_tflops']:g}){', spills' if found[t]['spills'] else ''}" if t in found
               else "" for t in tiles]
        lines.append(f"| {d} | " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def peers_of(results):
    lines = ["| head dim | CUTLASS example 41 | FlashAttention-2 | the post | over FA-2 | FlashAttention-2 | step 2, best tile | over FA-2 "
             "| step 6 | cuDNN |", "|---" * 10 + "|"]
    for d in HEAD_DIMS:
        of_dim = [r for r in results if r["head_dim"] == d]
        if not of_dim:
            continue
        best = max((r for r in of_dim if r["step"] == 2), key=lambda r: r["tflops"])
        last = next((r for r in of_dim if r["step"] == 6), None)
        cutlass, fa2, post = POST[d]
        lines.append(f"| {d} | {cutlass} | {fa2} | {post} | {post / fa2:.2f}x | {best['fa2_tflops']:.0f} | {best['tflops']:.0f} | "
                     f"{best['ratio']:.2f}x | {format(last['tflops'], '.0f') if last else ''} | {best['cudnn_tflops']:.0f} |")
    return "\n".join(lines) + "\n"


def main():
    arguments = sys.argv[1:]
    check = arguments == ["--check"]
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    measured = json.loads(pathlib.Path(arguments[0]).read_text()) if arguments and not check else None
    results = measured["results"] if measured else []
    readme = HERE / "README.md"
    text = new = readme.read_text()

    def part(name, write):
        begin, end = f"<!-- {name}: written by readme.py -->\n", f"<!-- end of {name} -->"
        before, rest = new.split(begin)
        old, after = rest.split(end)
        return before + begin + write(old) + end + after

    rows = []

    def steps(old):
        nonlocal rows
        rows, table = steps_with(old, results)
        return table

    new = part("steps", steps)
    if measured:
        new = part("tiles", lambda _: tiles_of(results))
        new = part("peers", lambda _: peers_of(results))
        new = part("device", lambda _: f"{measured['device']}, {measured['date']}, PyTorch {measured['torch']}.\n")
    if check:
        files = [r for r in rows if re.match(r"\[\d\d_", r[0])]
        long = [r[0] for r in files if int(r[LINES]) >= 200]
        there = sorted(p.stem for p in HERE.glob("[0-9][0-9]_*.cpp"))
        if long or new != text or there != [r[0].split("]")[0][1:] for r in files]:
            sys.exit(f"README.md differs from what readme.py writes, or these have 200 lines: {long}")
        return
    readme.write_text(new)


main()
