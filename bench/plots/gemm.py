#!/usr/bin/env python3
"""Draws the plots of docs/gemm.md from results that `warpfold bench gemm --json` wrote.

Usage: gemm.py ladder RESULTS.json OUT.svg
       gemm.py roofline OUT.svg RESULTS.json...

Ladder: TFLOPS of each step of examples/gemm at 4096 cubed, with cuBLAS as a line. Roofline: TFLOPS over FLOPs for each byte
that a product must move, as measured, ours (filled) joined to cuBLAS's (hollow) of the same shape; the lines are an H200's
data-sheet limits. Of each shape the fastest tile counts. Needs matplotlib.
"""
import json
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt  # noqa: E402

plt.rcParams.update({"svg.hashsalt": "warpfold", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
PEAK = {"bf16": 989.5, "int8": 1979, "e4m3": 1979}  # dense TFLOPS (TOPS) of an H200, by its data sheet
MEMORY = 4.8  # TB/s
COLOURS = {"bf16": "tab:blue", "int8": "tab:orange", "e4m3": "tab:green", "tf32": "tab:purple"}


def load(path):
    results = json.loads(pathlib.Path(path).read_text())
    return results["results"], f"{results['device']}, {results['date']}, {results['data']} data"


def save(figure, path):
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")


def ladder(source, out):
    results, where = load(source)
    figure, panels = plt.subplots(1, 2, figsize=(10, 3.4))
    for axes, kind in zip(panels, ("tf32", "bf16")):
        steps = sorted((r for r in results if r["type"] == kind and r["m"] == r["n"] == r["k"] == 4096), key=lambda r: r["step"])
        bars = axes.bar([f"{r['step']:02}\n{r['name'].replace('_', chr(10))}" for r in steps], [r["tflops"] for r in steps],
                        color=COLOURS[kind])
        axes.bar_label(bars, [f"{r['tflops']:.0f}" if r["tflops"] >= 10 else f"{r['tflops']:.1f}" for r in steps])
        axes.axhline(steps[0]["cublas_tflops"], color="black", linewidth=0.8, linestyle="--", label="cuBLAS")
        axes.set_title(f"{kind}, 4096 cubed")
        axes.set_ylabel("TFLOPS")
        axes.tick_params(axis="x", labelsize=6)
        axes.legend(frameon=False, loc="center left")
    figure.text(0.5, -0.04, where, ha="center", fontsize=7)
    save(figure, out)


def roofline(out, sources):
    figure, axes = plt.subplots(figsize=(8, 4.2))
    best, places = {}, []
    for source in sources:
        results, where = load(source)
        places.append(where)
        for r in results:
            key = (r["type"], r["m"], r["n"], r["k"], r.get("batches", 1))
            if r["type"] in PEAK and r.get("gb_per_s") and r["tflops"] > best.get(key, {"tflops": 0})["tflops"]:
                best[key] = r
    for kind, peak in PEAK.items():
        shown = [r for key, r in sorted(best.items()) if key[0] == kind]
        intensity = [r["tflops"] * 1e3 / r["gb_per_s"] for r in shown]
        axes.plot(intensity, [r["tflops"] for r in shown], "o", color=COLOURS[kind], markersize=4, label=kind)
        for x, r in zip(intensity, shown):
            if r["cublas_tflops"]:
                axes.plot([x, x], [r["cublas_tflops"], r["tflops"]], "-", color=COLOURS[kind], linewidth=0.6)
                axes.plot(x, r["cublas_tflops"], "o", color=COLOURS[kind], markersize=4, markerfacecolor="white")
    for peak in sorted(set(PEAK.values())):
        knee = peak / MEMORY
        axes.plot([1, knee, 1e4], [MEMORY, peak, peak], color="black", linewidth=0.8)
        axes.annotate(f"{peak:.0f}", (1e4, peak), textcoords="offset points", xytext=(-2, 3), ha="right", fontsize=7)
    axes.plot([], [], "o", color="grey", markerfacecolor="white", markersize=4, label="cuBLAS")
    axes.set(xscale="log", yscale="log", xlim=(0.9, 1.1e4), xlabel="FLOPs for each byte of A, B and D", ylabel="TFLOPS (TOPS)")
    axes.legend(frameon=False)
    figure.text(0.5, -0.04, "; ".join(dict.fromkeys(places)), ha="center", fontsize=7)
    save(figure, out)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "ladder":
        ladder(*sys.argv[2:])
    elif len(sys.argv) > 3 and sys.argv[1] == "roofline":
        roofline(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(__doc__)
