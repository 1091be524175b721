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


def reached(rows):
    """How many points of 100 MB and more are next to the limit: a long copy's bandwidth, or that of one as long."""
    large = [row for row in rows if row["bytes"] >= 100e6]
    said = []
    for what, bar, own in (("contiguous", 0.9, [row for row in large if row["kind"] == "line"]),
                           ("other", 0.8, [row for row in large if row["kind"] == "other"])):
        of_long = sum(row["share"] >= bar for row in own)
        of_equal = sum(row["copy_us"] / row["ours_us"] >= bar for row in own if row.get("copy_us"))
        said.append(f"of {len(own)} {what} points of 100 MB and more {of_long} have {100 * bar:.0f} % of the copy's bandwidth, "
                    f"{of_equal} that of a copy of as many bytes")
    return "; ".join(said)[0].upper() + "; ".join(said)[1:] + "."


def draw(rows, path):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "descend"  # the same picture for the same numbers
    from matplotlib import pyplot
    names = sorted({row["case"].split()[0] for row in rows})
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 0.35 * len(names) + 1.4), layout="constrained", sharey=True)
    for at, name in enumerate(names):
        own = [row for row in rows if row["case"].split()[0] == name]
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
    named = " (" + ", ".join(f"`{row['case']}` {row['ratio']:.2f}" for row in slower) + ")" if slower else ""
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    small = ", ".join(f"{name} {us:.1f} µs" for name, us in report["small_us"].items())
    time = lambda us: f"{us:.0f}" if us else ""
    compiled = report.get("compile", EARLIER)
    made = "".join([f" on {report['date']}" if report.get("date") else "", f" from {report['commit']}" if report.get("commit") else ""])
    lines = ["# Speed on an NVIDIA H200", "",
             f"Made{made} by `bench/gpu/run.py --prefix build/prefix {COMMAND[compiled]}` and `bench/gpu/report.py` on one "
             f"{report['device']}, PyTorch {report['torch']}, a copy moving {report['copy_tbs']:.2f} TB/s in the same run. Ours and "
             "PyTorch work on the same tensors, one after the other, with the cache overwritten before each call; medians of device "
             f"time. `torch.compile` was timed {compiled}{' on such a card' if compiled != IN_THIS_RUN else ''}. The ratio is the "
             "faster PyTorch's time over ours; the share is the bytes that must move over our time, against that copy of 8.6 GB, and against "
             "one that moves as many bytes: it has a beginning and an end, too, and writes back what was put into the cache.", "",
             f"{mean:.2f}x the faster PyTorch in the geometric mean of {len(ratios)} points, slower by more than {100 - 100 * NOISE:.0f} % at {len(slower)}{named}. "
             f"{reached(rows)} Host time of both phases of a small call: {small}.", "",
             "![Share of the copy's bandwidth, and PyTorch's time over ours](h200.svg)", ""]
    lines += [notes.read_text().strip(), ""] if notes.exists() else []
    lines += ["| call | MB | ours, µs | eager, µs | compile, µs | ratio | of copy | of one as long |", "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for row in rows:
        ratio = f"{row['ratio']:.2f}" if row["ratio"] else ""
        lines.append(f"| {row['case']} | {row['bytes'] / 1e6:.0f} | {row['ours_us']:.0f} | {time(row.get('eager_us'))} | "
                     f"{time(row.get('compile_us'))} | {ratio} | {100 * row['share']:.0f} % | "
                     f"{100 * row['copy_us'] / row['ours_us']:.0f} % |")
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
