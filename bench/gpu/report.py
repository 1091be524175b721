#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a run of bench/gpu/run.py says: docs/benchmarks/h200.md with its numbers and picture."""
import argparse
import json
import math
import pathlib

NOISE = 0.97  # a ratio from here on counts as no slower
IN_THIS_RUN, EARLIER = "in this run", "in an earlier run"  # when torch.compile was timed, and how that is asked for
COMMAND = {IN_THIS_RUN: "--compile", EARLIER: "--peers docs/benchmarks/h200.json"}


def load(path):
    report = json.loads(path.read_text())
    for row in report["rows"]:
        times = [row[key] for key in ("eager_us", "compile_us") if row.get(key)]
        row["ratio"] = min(times) / row["ours_us"] if times else None
    return report


def bars(rows):
    """A row a bar: how many points of 100 MB and more are next to the limit, a long copy's bandwidth or that of one as long."""
    large = [row for row in rows if row["bytes"] >= 100e6]
    for what, bar, kind in (("contiguous", 0.9, "line"), ("transposed, broadcast and channels-last", 0.8, "other")):
        own = [row for row in large if row["kind"] == kind]
        for copy, share in (("the copy", lambda row: row["share"]), ("a copy of as many bytes", of_equal)):
            yield f"{what}, 100 MB and more: {100 * bar:.0f} % of {copy}", f"{sum(share(row) >= bar for row in own)} of {len(own)} points"


def of_equal(row):
    return row["copy_us"] / row["ours_us"]


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def function_of(row):
    return row["case"].split()[0]


def spread(shares):
    low, high = round(100 * min(shares)), round(100 * max(shares))
    return f"{low} to {high} %" if low < high else f"{low} %"


def by_function(rows):
    lines = ["| function | points | times as fast as the faster PyTorch | at least | of the copy | of one as long |", "|---|--:|--:|--:|--:|--:|"]
    for name in dict.fromkeys(map(function_of, rows)):
        own = [row for row in rows if function_of(row) == name]
        ratios = [row["ratio"] for row in own if row["ratio"]]
        lines.append(f"| {name} | {len(own)} | {geometric_mean(ratios):.2f} | {min(ratios):.2f} | "
                     f"{spread([row['share'] for row in own])} | {spread([of_equal(row) for row in own])} |")
    return lines


def reasons(notes):
    """Of each section of the notebook the heading and the first paragraph."""
    for section in notes.read_text().split("\n## ")[1:]:
        heading, _, text = section.partition("\n")
        yield f"- **{heading}.** {' '.join(text.strip().split(chr(10) * 2)[0].split())}"


def draw(rows, path):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "descend"  # the same picture for the same numbers
    from matplotlib import pyplot
    names = sorted({function_of(row) for row in rows})
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 0.35 * len(names) + 1.4), layout="constrained", sharey=True)
    for at, name in enumerate(names):
        own = [row for row in rows if function_of(row) == name]
        axes[0].scatter([100 * row["share"] for row in own], [at] * len(own), s=14, alpha=0.6, edgecolors="none")
        ratios = [row["ratio"] for row in own if row["ratio"]]
        axes[1].scatter(ratios, [at] * len(ratios), s=14, alpha=0.6, edgecolors="none")
    axes[0].set(yticks=range(len(names)), yticklabels=names, xlim=(0, 110), xlabel="% of the bandwidth of a copy")
    axes[1].set(xscale="log", xlabel="the faster PyTorch's time / ours (right of 1: we are faster)")
    axes[1].axvline(1, color="black", linewidth=0.8)
    axes[0].invert_yaxis()
    figure.savefig(path, metadata={"Date": None})


def page(report, notes):
    rows = report["rows"]
    ratios = [row["ratio"] for row in rows if row["ratio"]]
    slower = sorted((row for row in rows if row["ratio"] and row["ratio"] < NOISE), key=lambda row: row["ratio"])
    compiled = report.get("compile", EARLIER)
    summary = [("times as fast as the faster of PyTorch eager and `torch.compile`, in the geometric mean",
                f"{geometric_mean(ratios):.2f} over {len(ratios)} points"),
               (f"no slower than the faster of them, by more than {100 - 100 * NOISE:.0f} %", f"{len(ratios) - len(slower)} of {len(ratios)} points"),
               *bars(rows),
               *((f"host time of both phases of a small {name}", f"{us:.1f} µs") for name, us in report["small_us"].items())]
    made = "".join([f" on {report['date']}" if report.get("date") else "", f" from {report['commit']}" if report.get("commit") else ""])
    lines = ["# Speed on an NVIDIA H200", "",
             f"Made{made} by `bench/gpu/run.py --prefix build/prefix {COMMAND[compiled]}` and `bench/gpu/report.py` on one "
             f"{report['device']}, PyTorch {report['torch']}, a copy moving {report['copy_tbs']:.2f} TB/s in the same run. "
             "The numbers are in [h200.json](h200.json).", "",
             "Ours and PyTorch work on the same tensors, one after the other, with the cache overwritten before each call; medians of "
             f"device time. `torch.compile`, for each shape by itself, was timed {compiled}{' on such a card' if compiled != IN_THIS_RUN else ''}. "
             "A share is the bytes that must move over our time, against a copy of 8.6 GB, and against one that moves as many bytes: "
             "that has a beginning and an end, too, and writes back what was put into the cache.", "",
             "## Summary", "", "| | |", "|---|--:|", *(f"| {what} | {how} |" for what, how in summary), ""]
    lines += ["Slower:", "", *(f"- {row['ratio']:.2f} {row['case']}" for row in slower), ""] if slower else []
    lines += ["![Share of the copy's bandwidth, and PyTorch's time over ours](h200.svg)", "", *by_function(rows), "",
              "## What is not reached, and why", "", *reasons(notes), "",
              "What was measured and tried for each is in [the notebook](../../bench/gpu/notes.md).", "",
              "## All points", "",
              "| call | MB | ours, µs | eager, µs | compile, µs | ratio | of copy | of one as long |", "|---|--:|--:|--:|--:|--:|--:|--:|"]
    time = lambda us: f"{us:.0f}" if us else ""
    for row in rows:
        ratio = f"{row['ratio']:.2f}" if row["ratio"] else ""
        lines.append(f"| {row['case']} | {row['bytes'] / 1e6:.0f} | {row['ours_us']:.0f} | {time(row.get('eager_us'))} | "
                     f"{time(row.get('compile_us'))} | {ratio} | {100 * row['share']:.0f} % | {100 * of_equal(row):.0f} % |")
    return "\n".join(lines) + "\n"


def write(numbers, folder):
    report = load(numbers)
    folder.mkdir(parents=True, exist_ok=True)
    if numbers != folder / "h200.json":
        (folder / "h200.json").write_text(numbers.read_text())
    (folder / "h200.md").write_text(page(report, pathlib.Path(__file__).with_name("notes.md")))
    draw(report["rows"], folder / "h200.svg")
    print(f"Written: {folder / 'h200.md'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path, metavar="FOLDER", default=pathlib.Path("docs/benchmarks"))
    options = parser.parse_args()
    write(options.json, options.write)


if __name__ == "__main__":
    main()
