#!/usr/bin/env python3
"""Differential test against pycute: pycute_test.py WARPFOLD [CASES] [--page PAGE [--write]] [--all].

Random layouts go to both. Where the answers differ, brute force decides, and Warpfold must be right: an accepted layout
has the function asked for, and a refusal means that no layout refining B's modes has it. --page checks that the part of
PAGE between its two marks is what this script would write there, --write writes it; --all prints every difference.
Exit code 77 (skipped) when pycute, of the package nvidia-cutlass 4.2.0.0, is absent: scripts/setup.sh test fetches it.
"""
import argparse
import itertools
import json
import pathlib
import random
import subprocess
import sys
from collections import Counter, defaultdict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "build" / "pycute"))
try:
    import pycute
except ImportError:
    print("skipped: pycute is not there (scripts/setup.sh test)")
    sys.exit(77)


def text(shape, stride):
    return f"{show(shape)}:{show(stride)}"


def show(t):
    return "(" + ",".join(map(show, t)) + ")" if isinstance(t, tuple) else str(t)


def leaves(t):
    return [x for part in t for x in leaves(part)] if isinstance(t, tuple) else [t]


def read(layout_text):
    shape, stride = layout_text.split(":")
    parse = lambda s: eval(s.replace("()", "tuple()").replace(")", ",)").replace("(,)", "()"))  # noqa: E731
    return parse(shape), parse(stride)


def value(layout, x):
    """The extended function: the last digit is not bounded."""
    shape, stride = leaves(layout[0]), leaves(layout[1])
    total = 0
    for i, (n, d) in enumerate(zip(shape, stride)):
        last = i + 1 == len(shape)
        total += (x if last else x % n) * d
        x //= n
    return total


def size(layout):
    product = 1
    for n in leaves(layout[0]):
        product *= n
    return product


def values(layout):
    return [value(layout, x) for x in range(size(layout))]


def is_layout(f):
    if f[0] != 0:
        return False
    if len(f) == 1:
        return True
    for n in range(2, len(f) + 1):
        if len(f) % n == 0 and all(f[i] == i % n * f[1] + f[i - i % n] for i in range(len(f))) and is_layout(f[::n]):
            return True
    return False


def composable(a, b):
    shape, stride = leaves(b[0]), leaves(b[1])
    along = [[value(a, x * r) for x in range(n)] for n, r in zip(shape, stride)]
    if not all(is_layout(f) for f in along):
        return False
    return all(
        sum(f[x] for f, x in zip(along, at)) == value(a, sum(x * r for x, r in zip(at, stride)))
        for at in itertools.product(*map(range, shape)))


def pick(rank, sizes, strides):
    shape = tuple(random.choice(sizes) for _ in range(rank))
    stride = tuple(random.choice(strides) for _ in range(rank))
    return (shape[0], stride[0]) if rank == 1 else (shape, stride)


def pycute_answer(op, a, b):
    la = pycute.Layout(*a)
    try:
        if op == "compose":
            r = pycute.composition(la, pycute.Layout(*b))
        elif op == "divide":
            r = pycute.logical_divide(la, pycute.Layout(*b))
        elif op == "complement":
            r = pycute.complement(la, b)
        elif op == "coalesce":
            r = pycute.coalesce(la)
        elif op == "right_inverse":
            r = pycute.right_inverse(la)
        else:
            r = pycute.left_inverse(la)
    except Exception:  # asserts, division by zero
        return None
    return r.shape, r.stride


def right(op, a, b, r):
    """Is r (None: refused) a right answer?"""
    if op == "compose":
        exists = composable(a, b)
        return not exists if r is None else exists and size(r) == size(b) and values(r) == [value(a, y) for y in values(b)]
    if op == "coalesce":
        return r is not None and values(r) == values(a)
    if op == "complement":
        if r is None:  # B exists iff the shifts that the smallest uncovered value forces are a layout's image
            covered, shifts, tile = set(), [], values(a)
            for x in range(b):
                if x in covered:
                    continue
                shifts.append(x)
                for y in tile:
                    if x + y >= b or x + y in covered:
                        return True
                    covered.add(x + y)
            return not is_layout(shifts)
        return sorted(x + y for x in values(r) for y in values(a)) == list(range(b))
    if op == "divide":
        if r is None:
            return None  # judged by its parts, complement and composition
        return set(values(a)) <= set(values(r)) and (size(r) > size(a) or sorted(values(r)) == sorted(values(a)))
    if op == "right_inverse":
        return r is not None and all(value(a, y) == i for i, y in enumerate(values(r)))
    return None if r is None else all(value(r, y) == i for i, y in enumerate(values(a)))


def cases(count):
    random.seed(7)
    for i in range(count):
        op = random.choice(["compose"] * 6 + ["divide"] * 2 + ["complement", "coalesce", "right_inverse", "left_inverse"])
        a = pick(random.randint(1, 3), [1, 2, 3, 4, 6, 8], [0, 1, 2, 3, 4, 6, 8, 12, 16, 24])
        b = pick(random.randint(1, 2), [2, 3, 4, 6], [0, 1, 2, 3, 4, 6, 8, 12])
        if op == "complement":
            b = random.choice([8, 12, 16, 24, 36, 48, 96])
        yield i, op, a, b


def some(numbers):
    numbers = sorted(numbers)
    return ", ".join(map(str, numbers[:4])) + (", ..." if len(numbers) > 4 else "")


def covered(have, want):
    """What a list of values misses and repeats of those wanted."""
    have, want = Counter(have), Counter(want)
    missed, extra = want - have, have - want
    words = [f"misses {some(missed.elements())}"] if missed else []
    repeated, outside = [y for y in extra if y in want], [y for y in extra if y not in want]
    words += [f"meets {some(repeated)} too often"] if repeated else []
    words += [f"reaches {some(outside)} outside"] if outside else []
    return "; ".join(words) or "every offset once"


def ruling(op, a, b, theirs):
    """What brute force says about pycute's answer."""
    if op == "compose":
        f = [value(a, y) for y in values(b)]
        if theirs is None:
            return "a layout exists: " + ",".join(map(str, f[:8])) + (",..." if len(f) > 8 else "")
        if size(theirs) != len(f):
            return f"{size(theirs)} values for {len(f)}"
        at = next((i for i, y in enumerate(values(theirs)) if y != f[i]), None)
        if at is None:
            return "right"
        return f"A(B({at})) = {f[at]}, not {values(theirs)[at]}" + ("" if composable(a, b) else "; no layout has A(B)")
    if op == "complement":
        return covered([x + y for x in values(theirs) for y in values(a)], range(b))
    if op == "divide":
        return "a division exists" if theirs is None else covered(values(theirs), values(a))
    if op == "right_inverse":
        return f"right, of {size(theirs)} indices"
    if theirs is None:
        return "a left inverse exists"
    at = next((i for i, y in enumerate(values(a)) if value(theirs, y) != i), None)
    return "right" if at is None else f"offset {values(a)[at]} is index {at}, not {value(theirs, values(a)[at])}"


KINDS = {  # heading, column of the table
    "wrong": "pycute is wrong",
    "refuses": "pycute refuses, an answer exists",
    "both": "both are right, written differently",
    "whole": "only Warpfold refuses",
}
OPS = ["compose", "complement", "divide", "coalesce", "right_inverse", "left_inverse"]
SIGN = {"compose": " o ", "divide": " / ", "complement": " in [0,"}
BEGIN, END = "<!-- pycute: begin -->\n", "<!-- pycute: end -->\n"


def page(tally, differences, count):
    out = [f"Of {count:,} random cases:\n",
           "| operation | agree | " + " | ".join(KINDS.values()) + " |", "|---" * (2 + len(KINDS)) + "|"]
    for op in OPS:
        out.append(f"| {op.replace('_', ' ')} | {tally[op, 'agree']} | "
                   + " | ".join(str(tally[op, kind]) for kind in KINDS) + " |")
    out += ["", "The smallest differences of each kind:", "",
            "| input | pycute | Warpfold | brute force on pycute's answer |", "|---|---|---|---|"]
    for kind, heading in KINDS.items():
        for op in OPS:
            rows = sorted(set(differences[op, kind]), key=lambda row: (row[0], row[1]))[:4]
            if rows:
                out.append(f"| *{op.replace('_', ' ')}: {heading}* | | | |")
            out += [f"| {name} | {theirs} | {ours} | {verdict} |" for _, name, theirs, ours, verdict in rows]
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("cases", nargs="?", type=int, default=20000)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    todo = list(cases(args.cases))
    lines = []
    for i, op, a, b in todo:
        line = {"id": i, "op": op, "a": text(*a)}
        if op == "complement":
            line["m"] = b
        elif op in ("compose", "divide"):
            line["b"] = text(*b)
        lines.append(json.dumps(line))
    run = subprocess.run([args.tool, "layout", "batch"], input="\n".join(lines), capture_output=True, text=True, check=True)
    tally, differences, wrong = Counter(), defaultdict(list), []
    for (i, op, a, b), line in zip(todo, run.stdout.splitlines()):
        answer = json.loads(line)
        ours = read(answer["layout"]) if answer["ok"] else None
        theirs = pycute_answer(op, a, b)
        name = f"{text(*a)}{SIGN[op]}{b if op == 'complement' else text(*b)}" if op in SIGN else text(*a)
        name += ")" if op == "complement" else ""
        if right(op, a, b, ours) is False:
            wrong.append((op, name, answer))
        if (ours is None) == (theirs is None) and (ours is None or values(ours) == values(theirs)):
            tally[op, "agree"] += 1
            continue
        verdict = right(op, a, b, theirs)
        kind = "refuses" if theirs is None else "wrong" if not verdict else "both" if ours is not None else "whole"
        tally[op, kind] += 1
        plain = all(n > 1 for n in leaves(a[0])) and 0 not in leaves(a[1]) + (leaves(b[1]) if op in ("compose", "divide") else [])
        weight = (0 if plain else 1000) + size(a) * (b if op == "complement" else size(b) if op in SIGN else 1)
        words = "every offset of A; the padding differs" if (op, kind) == ("divide", "both") else ruling(op, a, b, theirs)
        differences[op, kind].append((weight, name, text(*theirs) if theirs else "refuses",
                                      answer["layout"] if answer["ok"] else answer["reason"].split(":")[0], words))
    print("\n".join(f"{op:14} {kind:8} {n:6}" for (op, kind), n in sorted(tally.items())))
    if args.all:
        for (op, kind), rows in differences.items():
            print("\n".join(f"{op}\t{kind}\t" + "\t".join(row[1:]) for row in sorted(set(rows))))
    for case in wrong[:10]:
        print("WRONG", *case)
    print(f"{args.cases} cases, {len(wrong)} wrong answers of ours")
    stale = False
    if args.page:
        before, rest = args.page.read_text().split(BEGIN)
        old, after = rest.split(END)
        new = page(tally, differences, args.cases)
        stale = old != new
        if stale and args.write:
            args.page.write_text(before + BEGIN + new + END + after)
        elif stale:
            print(f"{args.page} is not current: run this with --write")
    return 1 if wrong or tally["compose", "whole"] or (stale and not args.write) else 0


if __name__ == "__main__":
    sys.exit(main())
