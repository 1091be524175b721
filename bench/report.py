#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a run of descend_bench says: a summary for the terminal, and with --write a page with pictures."""
import argparse
import collections
import json
import math
import pathlib

LARGE = 64 << 20  # bytes of a call that no cache holds
NOISE = 0.95      # a ratio from here on counts as no slower: two runs differ by as much


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def load(path):
    report = json.loads(path.read_text())
    for case in report["cases"]:
        case["bytes"] = case["bytes_read"] + case["bytes_written"]
        case["ratio"] = case["torch"] / case["ours"] if case["torch"] > 0 else None
        case["share"] = case["limit"] / case["ours"]
    return report


def by_function(cases):
    functions = collections.defaultdict(list)
    for case in cases:
        functions[case["function"]].append(case)
    return dict(sorted(functions.items()))


def seconds(s):
    for unit, size in (("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if s >= size or unit == "ns":
            return f"{s / size:.3g} {unit}"


def summary(report):
    cases = report["cases"]
    ratios = [case["ratio"] for case in cases if case["ratio"]]
    lines = []
    if ratios:
        slower = [case for case in cases if case["ratio"] and case["ratio"] < NOISE]
        lines.append(f"Against PyTorch {report['torch']}: {geometric_mean(ratios):.2f}x in the geometric mean of {len(ratios)} "
                     f"points, slower at {len(slower)}")
        lines += [f"  {case['ratio']:.2f}x {case['function']} {case['label']}"
                  for case in sorted(slower, key=lambda case: case["ratio"])]
    large = [case for case in cases if case["bytes"] >= LARGE]
    if large:
        lines.append(f"Of the memory's limit, at {len(large)} points of {LARGE >> 20} MB and more: "
                     f"{100 * geometric_mean([case['share'] for case in large]):.0f} % in the geometric mean")
    return "\n".join(lines)


def draw(report, folder):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "descend"  # the same picture for the same numbers
    from matplotlib import pyplot
    functions = by_function(report["cases"])
    names = [name.removeprefix("aclnn") for name in functions]

    figure, axes = pyplot.subplots(figsize=(9, 0.35 * len(names) + 1.2), layout="constrained")
    for row, cases in enumerate(functions.values()):
        ratios = [case["ratio"] for case in cases if case["ratio"]]
        axes.scatter(ratios, [row] * len(ratios), s=14, alpha=0.6, color="tab:blue", edgecolors="none")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set(xscale="log", yticks=range(len(names)), yticklabels=names, xlabel="PyTorch's time / ours (right of 1: we are faster)")
    axes.invert_yaxis()
    figure.savefig(folder / "cpu_ratios.svg", metadata={"Date": None})

    figure, axes = pyplot.subplots(figsize=(9, 5), layout="constrained")
    limits = sorted((case["bytes"], case["bytes"] / case["limit"] / 1e9) for case in report["cases"])
    axes.scatter(*zip(*limits), s=10, color="lightgrey", label="limit: the same bytes, nothing computed")
    for index, (name, cases) in enumerate(functions.items()):
        points = sorted((case["bytes"], case["bytes"] / case["ours"] / 1e9) for case in cases)
        axes.scatter(*zip(*points), s=16, marker="os^vDP*X<>hpd"[index % 13], color=f"C{index % 10}", label=name.removeprefix("aclnn"))
    axes.set(xscale="log", yscale="log", xlabel="bytes that a call must move", ylabel="GB/s")
    axes.legend(fontsize=7, ncols=2)
    figure.savefig(folder / "cpu_roofline.svg", metadata={"Date": None})


def page(report):
    lines = ["# Speed on the CPU", "",
             f"Made by `./dev bench --report` on: {report['machine']}, {report['cores']} cores, {report['threads']} threads, "
             f"copying {report['copy_gbs']:.0f} GB/s. PyTorch {report['torch']} is called from C++, with the same number of threads, on the "
             "same memory, into the same output. The limit is one pass over as many bytes as the call must read and write. The three "
             "are timed in turn, several times over; medians count. Ratios above 1 say that we are faster.", "",
             "```text", summary(report), "```", "",
             "![PyTorch's time over ours, every point by function](cpu_ratios.svg)", "",
             "![Bandwidth reached, by the size of the call](cpu_roofline.svg)", ""]
    notes = pathlib.Path(__file__).with_name("notes.md")
    if notes.exists():
        lines += [notes.read_text().strip(), ""]
    for name, cases in by_function(report["cases"]).items():
        lines += [f"## {name}", "", "| call | ours | PyTorch | ratio | of the limit |", "|---|--:|--:|--:|--:|"]
        for case in cases:
            peer, ratio = (seconds(case["torch"]), f"{case['ratio']:.2f}") if case["ratio"] else ("", "")
            lines.append(f"| {case['label']} | {seconds(case['ours'])} | {peer} | {ratio} | {100 * case['share']:.0f} % |")
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path, metavar="FOLDER")
    options = parser.parse_args()
    report = load(options.json)
    print(summary(report))
    if options.write:
        options.write.mkdir(parents=True, exist_ok=True)
        draw(report, options.write)
        (options.write / "cpu.md").write_text(page(report))
        (options.write / "cpu.json").write_text(options.json.read_text())
        print(f"Written: {options.write / 'cpu.md'}")


if __name__ == "__main__":
    main()
