#!/usr/bin/env python3
"""Draws the plots of docs/attention.md and writes its measured tables. Needs matplotlib (PyPI).

Usage: attention.py [--ladder LADDER.json] [--prefill ATTENTION.json]

LADDER.json is what `warpfold bench attention --ladder --json` wrote, ATTENTION.json what `warpfold bench attention --json` wrote;
both are kept in bench/results. What is not given stays as it is.
"""
import argparse
import json
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PICTURES = DOCS / "pictures" / "attention"
HEAD_DIMS = (64, 128, 256)
NAMES = {"auto": "Warpfold", "fa3": "FlashAttention-3", "cudnn": "cuDNN", "fa2": "FlashAttention-2"}
COLOURS = {"auto": "#c0392b", "fa3": "#2c6fbb", "cudnn": "#3a9a4a", "fa2": "#888888"}


def save(figure, name):
    figure.savefig(PICTURES / name, metadata={"Date": None}, bbox_inches="tight")


def write(part, text):
    """Replaces a part of docs/attention.md, between its two comments."""
    page = DOCS / "attention.md"
    begin, end = f"<!-- {part}: written by bench/plots/attention.py -->\n", f"<!-- end of {part} -->"
    before, rest = page.read_text().split(begin)
    page.write_text(before + begin + text + end + rest.split(end)[1])


def source(measured, path):
    return (f"{measured['device']}, {measured['date']}, PyTorch {measured['torch']} "
            f"([figures](../bench/results/{path.name})).\n")


def draw_ladder(path):
    measured = json.loads(path.read_text())
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True)
    table = {}
    for d, panel in zip(HEAD_DIMS, panels):
        rows = [r for r in measured["results"] if r["head_dim"] == d and (r["own"] or r["step"] is None)]
        labels = [f"{r['step']} {r['name'].replace('_', '-')}" if r["step"] else r["name"] for r in rows]
        bars = panel.bar(labels, [r["tflops"] for r in rows],
                         color=[COLOURS["auto"] if r["step"] is None else "#e0a899" for r in rows])
        panel.bar_label(bars, fmt="%.0f", fontsize=7)
        for peer in ("fa2", "cudnn"):
            panel.axhline(rows[0][f"{peer}_tflops"], color=COLOURS[peer], linewidth=1, label=NAMES[peer])
        panel.set_title(f"head dim {d}", fontsize=9)
        panel.tick_params(axis="x", rotation=50, labelsize=7)
        for r in rows:
            table.setdefault(r["step"] or 7, {})[d] = r
    panels[0].set_ylabel("TFLOPS")
    panels[0].legend(fontsize=7, frameon=False)
    save(figure, "ladder.svg")
    lines = ["| step | " + " | ".join(f"head dim {d} | gain" for d in HEAD_DIMS) + " |", "|---" * 7 + "|"]
    for step, by_dim in sorted(table.items()):
        r = next(iter(by_dim.values()))
        row = [f"{by_dim[d]['tflops']:.0f} | {by_dim[d]['gain']:.2f}x" if d in by_dim and by_dim[d]["gain"] else
               f"{by_dim[d]['tflops']:.0f} | " if d in by_dim else " | " for d in HEAD_DIMS]
        lines.append(f"| {'the library' if step == 7 else str(step) + ' ' + r['name'].replace('_', '-')} | " + " | ".join(row) + " |")
    write("ladder", "\n".join(lines) + "\n\nTFLOPS at 4 batches of 4096 tokens, 2048 / head dim heads, fp16, no mask. "
          + source(measured, path))


def draw_prefill(path):
    measured = json.loads(path.read_text())
    figure, panels = plt.subplots(2, 3, figsize=(11, 5.6), sharex=True, sharey=True)
    ratios = {}
    for row, mask in zip(panels, ("none", "causal")):
        for d, panel in zip(HEAD_DIMS, row):
            rows = sorted((r for r in measured["results"] if r["head_dim"] == d and r["mask"] == mask), key=lambda r: r["seqlen"])
            for name in (n for n in NAMES if rows and n in rows[0]["tflops"]):
                panel.plot([r["seqlen"] for r in rows], [r["tflops"][name] for r in rows], marker="o", markersize=3,
                           color=COLOURS[name], label=NAMES[name])
            panel.set_title(f"head dim {d}, {'causal' if mask == 'causal' else 'no mask'}", fontsize=9)
            panel.set_xscale("log", base=2)
            panel.grid(alpha=0.3)
            ratios[d, mask] = {r["seqlen"]: r["ratio"] for r in rows}
    panels[0][0].set_ylim(0)  # of all, which share it
    for row in panels:
        row[0].set_ylabel("TFLOPS")
    for panel in panels[1]:
        panel.set_xlabel("keys")
        panel.set_xticks([r for r in ratios[64, "none"]], [f"{s // 1024}k" if s >= 1024 else str(s) for s in ratios[64, "none"]])
    panels[0][0].legend(fontsize=7, frameon=False)
    save(figure, "prefill.svg")
    lengths = list(ratios[64, "none"])
    lines = ["| head dim, mask | " + " | ".join(f"{s // 1024}k" if s >= 1024 else str(s) for s in lengths) + " |",
             "|---" * (len(lengths) + 1) + "|"]
    for (d, mask), by_length in sorted(ratios.items(), key=lambda x: (x[0][0], x[0][1] == "causal")):
        lines.append(f"| {d}, {mask} | " + " | ".join(f"{by_length[s]:.2f}" if s in by_length else "" for s in lengths) + " |")
    write("prefill", "\n".join(lines) + "\n\nRatio to the best peer at 16k tokens in all, 2048 / head dim heads, bf16. "
          + source(measured, path))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--ladder", type=pathlib.Path)
    p.add_argument("--prefill", type=pathlib.Path)
    o = p.parse_args()
    plt.rcParams.update({"svg.hashsalt": "warpfold", "svg.fonttype": "none", "font.size": 8})
    if o.ladder:
        draw_ladder(o.ladder)
    if o.prefill:
        draw_prefill(o.prefill)


if __name__ == "__main__":
    main()
