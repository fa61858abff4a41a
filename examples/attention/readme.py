#!/usr/bin/env python3
"""Writes the table in README.md: each step's lines, and TFLOPS and gains from what `bench gemm --ladder --json` wrote.

Usage: readme.py [RESULTS.json]    without results the measured columns stay as they are
       readme.py --check           fails if the lines are not those of the files, or a file has 200 or more
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
BEGIN, END = "<!-- table: written by readme.py -->\n", "<!-- end of table -->"
LINES, TF32, BF16 = 2, 4, 6  # columns; a gain follows each figure


def cells(row):
    return [c.strip() for c in row.strip().strip("|").split("|")]


def table_with(old, results):
    header, rule, *rows = old.splitlines()
    rows = [cells(r) for r in rows]
    for row in rows:
        name = row[0].split("]")[0][1:]
        row[LINES] = str(len((HERE / f"{name}.cpp").read_text().splitlines()))
        for column, type_name in ((TF32, "tf32"), (BF16, "bf16")):
            for r in results:
                if f"{r['step']:02}_{r['name']}" == name and r["type"] == type_name and r["m"] == r["n"] == r["k"] == 4096:
                    row[column] = f"{r['tflops']:.1f}" if r["tflops"] < 100 else f"{r['tflops']:.0f}"
                    row[column + 1] = f"{r['gain']:.2f}x" if r["gain"] else ""
    return rows, "\n".join([header, rule] + ["| " + " | ".join(r) + " |" for r in rows]) + "\n"


def main():
    arguments = sys.argv[1:]
    check = arguments == ["--check"]
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    measured = json.loads(pathlib.Path(arguments[0]).read_text()) if arguments and not check else None
    readme = HERE / "README.md"
    text = readme.read_text()
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    note = ""
    if "\n\n" in old.strip("\n"):
        old, note = old.strip("\n").split("\n\n", 1)
    rows, table = table_with(old, measured["results"] if measured else [])
    if measured:
        peers = {r["type"]: r["cublas_tflops"] for r in measured["results"]}
        note = (f"{measured['device']}, {measured['date']}, PyTorch {measured['torch']}; cuBLAS in the same run: "
                + ", ".join(f"{t} {x:.0f}" for t, x in peers.items()) + " TFLOPS.")
    new = before + BEGIN + table + (f"\n{note.strip()}\n" if note.strip() else "") + END + after
    if check:
        long = [r[0] for r in rows if int(r[LINES]) >= 200]
        steps = sorted(p.stem for p in HERE.glob("[0-9][0-9]_*.cpp"))
        if long or new != text or steps != [r[0].split("]")[0][1:] for r in rows]:
            sys.exit(f"README.md differs from what readme.py writes, or these have 200 lines: {long}")
        return
    readme.write_text(new)


main()
