#!/usr/bin/env python3
"""What compiling each CUDA unit costs: CPU seconds, the largest process in MB, kernels. Usage: unit_cost.py [--only TEXT] [--json FILE]

Compiles by the commands of build/release/compile_commands.json, without a cache, one unit at a time, into a file that goes
away. CPU seconds change little when others use the machine.
"""
import argparse
import json
import pathlib
import tempfile

from compiler_cost import compile_one, without_cache

ROOT = pathlib.Path(__file__).resolve().parents[1]


def cost(entry, folder):
    command = without_cache(entry["command"]) + ["-Xptxas", "-v"]
    command[command.index("-o") + 1] = str(pathlib.Path(folder, "unit.o"))
    with open(pathlib.Path(folder, "said"), "w+", encoding="utf-8") as said:
        seconds, memory = compile_one(command, entry["directory"], said)
        said.seek(0)
        kernels = said.read().count("Compiling entry function")
    return {"unit": pathlib.Path(entry["file"]).stem, "cpu_s": round(seconds, 1), "largest_process_mb": round(memory), "kernels": kernels}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default="")
    p.add_argument("--json")
    options = p.parse_args()
    commands = json.loads((ROOT / "build/release/compile_commands.json").read_text())
    units = [c for c in commands if c["file"].endswith(".cu") and options.only in c["file"] and "/kernels/" in c["file"]]
    print(f"{'unit':32} {'CPU s':>7} {'MB':>6} {'kernels':>8}")
    costs = []
    with tempfile.TemporaryDirectory() as folder:
        for entry in units:
            costs.append(cost(entry, folder))
            print("{unit:32} {cpu_s:7.1f} {largest_process_mb:6} {kernels:8}".format(**costs[-1]), flush=True)
    print(f"{len(costs)} units, {sum(c['kernels'] for c in costs)} kernels, {sum(c['cpu_s'] for c in costs):.0f} CPU seconds, "
          f"at most {max(c['cpu_s'] for c in costs):.1f} s and {max(c['largest_process_mb'] for c in costs)} MB a unit")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"units": costs}, indent=1) + "\n")


main()
