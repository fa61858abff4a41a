#!/usr/bin/env python3
"""Warpfold beside llama.cpp on this machine: same files, same numbers of threads, runs in turn.

    llama_cpp.py --warpfold build/release/warpfold --peer-python VENV/bin/python MODEL.gguf...

VENV holds llama-cpp-python, built from source on this machine (its default build uses the machine's instructions).
Each round starts, one after the other, `warpfold bench cpu`, the peer without and the peer with flash attention; each
is a process of its own that warms up and then repeats its two measurements:
  prefill  P tokens in one batch into an empty cache, logits of the last token
  decode   D single tokens into an empty cache, logits of each; sampling is left out on both sides
The peer runs llama_decode in a bare loop with batches of P, an fp16 cache as Warpfold's, and the file mapped. Its
figure is that of the faster of its two attention settings, for each measurement. The ratio is that of the medians
over all rounds; that of the best runs stands beside it, since load of other processes only ever slows a run down."""
import argparse
import datetime
import json
import os
import statistics

from runs import processor, run_json

HERE = os.path.dirname(os.path.abspath(__file__))
MEASUREMENTS = ("decode", "prefill")


def run_warpfold(args, model, threads):
    report = run_json([args.warpfold, "bench", "cpu", model, "--threads", str(threads), "--prompt", str(args.prefill),
                       "--tokens", str(args.decode), "--repeat", str(args.repeat), "--json"])
    return {what: report[f"{what}_tokens_per_second"]["runs"] for what in MEASUREMENTS}


def run_peer(args, model, threads, flash):
    return run_json([args.peer_python, os.path.join(HERE, "llama", "worker.py"), model, "--threads", str(threads),
                     "--prefill", str(args.prefill), "--decode", str(args.decode), "--repeat", str(args.repeat),
                     "--flash", str(flash)])


def compare(args, model, threads):
    runs = {side: {what: [] for what in MEASUREMENTS} for side in ("warpfold", "plain", "flash")}
    peer = {}
    for _ in range(args.rounds):
        for side in runs:
            if side == "warpfold":
                report = run_warpfold(args, model, threads)
            else:
                report = peer = run_peer(args, model, threads, int(side == "flash"))
            for what in MEASUREMENTS:
                runs[side][what] += report[what]
    rows = []
    for what in MEASUREMENTS:
        best_peer = max(("plain", "flash"), key=lambda side: statistics.median(runs[side][what]))
        ours, theirs = runs["warpfold"][what], runs[best_peer][what]
        rows.append({"model": os.path.basename(model), "threads": threads, "measurement": what,
                     "tokens": getattr(args, what), "warpfold": ours, "peer": theirs,
                     "peer_attention": best_peer, "ratio": statistics.median(ours) / statistics.median(theirs),
                     "ratio_of_best": max(ours) / max(theirs)})
    return rows, peer


def print_row(row):
    ours, theirs = row["warpfold"], row["peer"]
    print(f"{row['model'][:30]:<30} {row['threads']:>7} {row['measurement']:>8} {statistics.median(ours):>9.1f} "
          f"{max(ours):>8.1f} {statistics.median(theirs):>10.1f} {max(theirs):>8.1f} {row['ratio']:>7.2f} "
          f"{row['ratio_of_best']:>8.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Warpfold beside llama.cpp: tokens a second and their ratio")
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--warpfold", required=True, help="the warpfold program")
    parser.add_argument("--peer-python", required=True, help="interpreter of the environment with llama-cpp-python")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--decode", type=int, default=128)
    parser.add_argument("--prefill", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=3, help="measurements in each process")
    parser.add_argument("--output", default=os.path.join(HERE, "..", "results", "llama_cpp.json"))
    args = parser.parse_args()

    print(f"{processor()}; tokens a second, decode of {args.decode}, prefill of {args.prefill}; "
          f"{args.rounds} rounds of {args.repeat}")
    print(f"{'model':<30} {'threads':>7} {'':>8} {'warpfold':>9} {'best':>8} {'llama.cpp':>10} {'best':>8} "
          f"{'ratio':>7} {'of best':>8}")
    rows, peer = [], {}
    for model in args.models:
        for threads in args.threads:
            found, peer = compare(args, model, threads)
            for row in found:
                print_row(row)
            rows += found
    report = {"date": datetime.date.today().isoformat(), "processor": processor(), "processors": os.cpu_count(),
              "peer": {"name": "llama-cpp-python", "version": peer["version"], "system": peer["system"]},
              "results": rows}
    os.makedirs(os.path.dirname(args.output), exist_ok=True)
    with open(args.output, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
