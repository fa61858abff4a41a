#!/usr/bin/env python3
"""Differential test against pycute: usage pycute_test.py WARPFOLD [pairs].

Random layouts go to both. Where the answers differ as functions, brute force decides, and Warpfold must be right:
an accepted layout has the function asked for, and a refusal means that no layout refining B's modes has it. Prints
how often and where pycute differs. Exit code 77 (skipped) when pycute, from the package nvidia-cutlass, is absent.
"""
import itertools
import json
import random
import subprocess
import sys
from collections import Counter

try:
    import pycute
except ImportError:
    try:
        from cutlass_library import pycute  # some versions keep it there
    except ImportError:
        print("skipped: pycute is not installed (pip install nvidia-cutlass==4.2.0.0)")
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


def main():
    tool, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    todo = list(cases(count))
    lines = []
    for i, op, a, b in todo:
        line = {"id": i, "op": op, "a": text(*a)}
        line.update({"m": b} if op == "complement" else {"b": text(*b)})
        lines.append(json.dumps(line))
    out = subprocess.run([tool, "layout", "batch"], input="\n".join(lines), capture_output=True, text=True, check=True).stdout
    tally, examples, wrong = Counter(), {}, []
    for (i, op, a, b), line in zip(todo, out.splitlines()):
        answer = json.loads(line)
        ours = read(answer["layout"]) if answer["ok"] else None
        theirs = pycute_answer(op, a, b)
        name = f"{op} {text(*a)} {b if op == 'complement' else text(*b)}"
        if right(op, a, b, ours) is False:
            wrong.append((name, answer))
        if (ours is None) == (theirs is None) and (ours is None or values(ours) == values(theirs)):
            tally[op, "agree"] += 1
            continue
        verdict = right(op, a, b, theirs)
        kind = "pycute refuses a right answer" if theirs is None else (
            "both right, different" if verdict and ours is not None else
            "pycute wrong" if not verdict else "ours refuses, pycute right")
        if op == "divide" and ours is None and theirs is not None and verdict:
            kind = "divide: pycute keeps the offsets, B or its complement is followed otherwise"
        tally[op, kind] += 1
        examples.setdefault((op, kind), f"{name}: pycute {text(*theirs) if theirs else 'refuses'}, ours "
                                        f"{answer.get('layout') or answer['reason']}")
    for (op, kind), n in sorted(tally.items()):
        print(f"{op:14} {kind:45} {n:6}  {examples.get((op, kind), '')}")
    for name, answer in wrong[:10]:
        print("WRONG", name, answer)
    print(f"{count} cases, {len(wrong)} wrong answers of ours")
    return 1 if wrong or tally["compose", "ours refuses, pycute right"] else 0


if __name__ == "__main__":
    sys.exit(main())
