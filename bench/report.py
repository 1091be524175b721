#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a run of descend_bench says: a summary for the terminal, and with --write a page with pictures."""
import argparse
import itertools
import pathlib

from results import NOISE, Reasons, Results, bars, geometric_mean, small_calls


def seconds(s):
    if not s:
        return ""
    for unit, size in (("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if s >= size or unit == "ns":
            return f"{s / size:.3g} {unit}" if s < 1000 * size else f"{s / size:.0f} {unit}"


def number(value, form="{:.2f}"):
    return form.format(value) if value else ""


def percent(share):
    return number(share and 100 * share, "{:.0f} %")


def table(head, rows):
    """Markdown; the first column to the left, the others to the right."""
    return ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|",
            *("| " + " | ".join(row) + " |" for row in rows), ""]


def verdicts(results):
    """(what is asked for, what was measured) of the whole run."""
    for library, key, asked in (("PyTorch", "ratio", "; asked for: 2.5"), ("oneDNN", "onednn_ratio", "")):
        ratios = [case[key] for case in results.cases if case[key]]
        if ratios:
            yield (f"times as fast as {library}, in the geometric mean{asked}",
                   f"{geometric_mean(ratios):.2f} over {len(ratios)} points")
    for bar in bars(results):
        if bar.points:
            yield bar.title, bar.text()
    for what, measured, asked, reached in small_calls(results):
        yield f"{what}; asked for: {asked}", measured + ("" if reached else " (not reached)")
    yield "calls that ask for workspace", str(sum(case["workspace"] > 0 for case in results.cases))


def summary(results):
    lines = [f"{what}: {measured}" for what, measured in verdicts(results)]
    for bar in bars(results):
        lines += [f"  {bar.value(case):.2f} of {bar.least:.2f} ({bar.name}): {case['name']}" for case in bar.missed]
    return "\n".join(lines)


def slower(results):
    """The points below PyTorch's bar, the slowest first."""
    missed = next(bar for bar in bars(results) if bar.name == "torch").missed
    if missed:
        yield "Slower than PyTorch:\n"
        yield from (f"- {case['ratio']:.3f} {case['name']}" for case in missed)
        yield ""


def introduction(results):
    report = results.report
    versions = report["libraries"]
    torch = (f"PyTorch {versions['torch']} is called from C++ with the same number of threads, on the same memory, into the same output."
             if versions["torch"] else "PyTorch was not there: its columns are empty.")
    onednn = (f"oneDNN {versions['onednn']} likewise, where it has such a primitive for the dtype and layout."
              if versions["onednn"] else "oneDNN was not there: its columns are missing.")
    made = (f" on {report['date']}" if report.get("date") else "") + (f" from {report['commit']}" if report.get("commit") else "")
    return (
        f"Made{made} by `./dev bench --report` on: {report['machine']}, {report['cores']} cores, {report['threads']} threads, last-level "
        f"cache {report['cache_bytes'] >> 20} MiB, copying {report['copy_gbs']:.0f} GB/s. The numbers are in [cpu.json](cpu.json); "
        f"[the benchmarks](README.md) says how they are made.\n\n"
        f"{torch} {onednn} The limit is one pass over as many bytes as the call must read and write, by as many threads. All are "
        f"timed in turn, several times over; medians count. Ours are queued on a stream, which is waited for after 256 MiB or 256 calls; the "
        f"others return when they are done. A program that waits for each call has 9 to 33 µs more of ours, so that those of less than a millisecond may be slower then."
        f" Ratios above 1 say that we are faster; from {NOISE} on they count as "
        f"no slower, since two runs differ by as much.")


def function_tables(results):
    onednn = results.report["libraries"]["onednn"]
    threads = results.report["threads"]
    for name, cases in results.by_function().items():
        with_onednn = onednn and any(case["onednn"] for case in cases)
        yield f"### {name}\n"
        head = ["call", "ours", "PyTorch", "ratio"] + ["oneDNN", "ratio"] * bool(with_onednn)
        head += ["of the limit", f"{threads} threads : 1", "limit's", "phase one"]
        yield from table(head, [
            [case["label"], seconds(case["ours"]), seconds(case["torch"]), number(case["ratio"])]
            + [seconds(case["onednn"]), number(case["onednn_ratio"])] * bool(with_onednn)
            + [percent(case["share"]), number(case["speedup"]), number(case["limit_speedup"]), seconds(case["phase_one"])]
            for case in cases])


def missed_points(results, reasons):
    """A section a bar, a table a reason."""
    for bar in bars(results):
        if not bar.points:
            continue
        yield f"### {bar.title[0].upper()}{bar.title[1:]}\n"
        if not bar.missed:
            yield f"All {len(bar.points)} points reach it.\n"
            continue
        yield f"{len(bar.missed)} of {len(bar.points)} points do not reach it.\n"
        by_reason = sorted(bar.missed, key=lambda case: reasons.of(bar.name, case) or "")
        for reason, cases in itertools.groupby(by_reason, key=lambda case: reasons.of(bar.name, case)):
            yield f"{reason}\n" if reason else "**No reason is known** for these:\n"
            yield from table(["call", "reached", "GB/s", "GB/s of its like in the cache"],
                             [missed_row(results, bar, case) for case in cases])


def missed_row(results, bar, case):
    like = results.in_cache(case)
    in_cache = f"{like['bytes'] / like['ours'] / 1e9:.1f} ({like['label'].split()[1]})" if like and like is not case else ""
    value = bar.value(case)
    return [case["name"], percent(value) if bar.name == "limit" else number(value),
            f"{case['bytes'] / case['ours'] / 1e9:.1f}", in_cache]


def page(results, reasons):
    lines = ["# Speed on the CPU", "", introduction(results), "", "## Summary", "",
             *table(["asked for", "measured"], verdicts(results)), *slower(results),
             "![Others' time over ours, every point by function](cpu_ratios.svg)", "",
             "![Bandwidth reached, by the size of the call](cpu_roofline.svg)", "",
             "## Points below what is asked for", "",
             "GB/s are the bytes that must move over the time. Where a call reaches no more in the cache than here, it is not the "
             "memory that it waits for.", "",
             *missed_points(results, reasons), "## All points", "", *function_tables(results)]
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path, metavar="FOLDER")
    options = parser.parse_args()
    results = Results(options.json)
    print(summary(results))
    if options.write:
        import pictures
        options.write.mkdir(parents=True, exist_ok=True)
        pictures.draw_ratios(results, options.write / "cpu_ratios.svg")
        pictures.draw_roofline(results, options.write / "cpu_roofline.svg")
        reasons = Reasons()
        (options.write / "cpu.md").write_text(page(results, reasons))
        (options.write / "cpu.json").write_text(options.json.read_text())
        whole = not (results.report["quick"] or results.report["filter"])
        for pattern in reasons.unused() if whole else ():
            print(f"bench/reasons.toml: no point below a bar needs '{pattern}'")
        print(f"Written: {options.write / 'cpu.md'}")


if __name__ == "__main__":
    main()
