#!/usr/bin/env python3
"""What the layout suite and an include of the library cost the compiler: compile_cost.py BUILD.

Compiles the files of the suite again as BUILD/compile_commands.json says, without a cache, one at a time, and reports
CPU time and memory of the compiler with all its children, beside what they shall stay under:
  each file                              1.5 GB
  the whole suite                        90 s of CPU time
  #include of algebra.h, beyond an empty translation unit, the best of five: 0.5 s of CPU time
It asserts nothing: a machine that others use stretches CPU time too (caches, shared cores, clock rates). The suite takes
about 55 s on an idle one, the include 0.15 to 0.2 s.
"""
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from compiler_cost import compile_one, without_cache  # noqa: E402


def main():
    here = pathlib.Path(__file__).resolve().parent
    suite = {}  # a file that several targets share is compiled once
    for entry in json.loads(pathlib.Path(sys.argv[1], "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if here in path.parents:
            suite[path] = without_cache(entry["command"]), entry["directory"]
    if not suite:
        sys.exit("no file of the layout suite in compile_commands.json")
    compiler = next(command[0] for path, (command, _) in suite.items() if path.suffix == ".cpp")
    with tempfile.TemporaryDirectory() as scratch:
        def include(text):
            source = pathlib.Path(scratch, "include.cpp")
            source.write_text(text)
            return min(compile_one([compiler, "-std=c++20", "-O2", f"-I{here.parents[1] / 'include'}", "-c", str(source),
                                    "-o", os.devnull], scratch)[0] for _ in range(5))

        total = most = 0.0
        for path, (command, folder) in sorted(suite.items()):
            command[command.index("-o") + 1] = str(pathlib.Path(scratch, "object"))
            seconds, memory = compile_one(command, folder)
            print(f"{path.relative_to(here)!s:36} {seconds:6.2f} s {memory:6.0f} MB", flush=True)
            total, most = total + seconds, max(most, memory)
        cost = include('#include "warpfold/layout/algebra.h"\n') - include("\n")
    bars = [("the whole suite", total, 90, "s"), ("the largest file", most, 1536, "MB"),
            ("#include of algebra.h", cost, 0.5, "s")]
    for name, value, bar, unit in bars:
        print(f"{name:36} {value:6.2f} {unit}, bar {bar:g} {unit}{'' if value < bar else '  above it'}")


if __name__ == "__main__":
    main()
