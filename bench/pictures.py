# SPDX-License-Identifier: MIT
"""The report's pictures."""
import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "descend"  # the same picture for the same numbers
from matplotlib import pyplot, ticker  # noqa: E402


def short(name):
    return name.removeprefix("aclnn")


def save(figure, path):
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def draw_ratios(results, path):
    functions = results.by_function()
    figure, axes = pyplot.subplots(figsize=(9, 0.35 * len(functions) + 1.4), layout="constrained")
    for library, key, color, offset in (("PyTorch", "ratio", "tab:blue", -0.12), ("oneDNN", "onednn_ratio", "tab:orange", 0.12)):
        points = [(case[key], row + offset) for row, cases in enumerate(functions.values()) for case in cases if case[key]]
        if points:
            axes.scatter(*zip(*points), s=14, alpha=0.6, color=color, edgecolors="none", label=library)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set(xscale="log", yticks=range(len(functions)), yticklabels=map(short, functions),
             xlabel="their time / ours (right of 1: we are faster)")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    axes.invert_yaxis()
    if axes.collections:
        axes.legend(fontsize=7)
    save(figure, path)


def draw_roofline(results, path):
    figure, axes = pyplot.subplots(figsize=(9, 5.5), layout="constrained")
    limits = [(case["bytes"], case["bytes"] / case["limit"] / 1e9) for case in results.cases]
    axes.scatter(*zip(*limits), s=10, color="lightgrey", label="limit: the same bytes, nothing computed")
    for index, (name, cases) in enumerate(results.by_function().items()):
        points = [(case["bytes"], case["bytes"] / case["ours"] / 1e9) for case in cases]
        axes.scatter(*zip(*points), s=16, marker="os^vDP*X<>hpd"[index % 13], color=f"C{index % 10}", label=short(name))
    axes.set(xscale="log", yscale="log", xlabel="bytes that a call must move", ylabel="GB/s")
    if results.report["cache_bytes"]:
        axes.axvline(results.report["cache_bytes"], color="black", linewidth=0.8, linestyle=":")
        axes.text(results.report["cache_bytes"], axes.get_ylim()[0], " last-level cache", fontsize=7, va="bottom")
    figure.legend(fontsize=7, ncols=5, loc="outside lower center")
    save(figure, path)
