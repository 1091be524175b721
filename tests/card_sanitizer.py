#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests on a GPU under one of compute-sanitizer's tools, several processes at once, and says what it found.

A process has a suite of tests, or one test where they are operators', which take longest.  With --seconds what has not
ended by then is stopped and named, and with --results what was clean is written down and not run again.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from installed import CC, SOURCE, prefix, run

TOOLS = ("memcheck", "racecheck", "initcheck")
OPTIONS = ["--show-backtrace", "no", "--print-limit", "20"]  # the kernel is named; the host's stack is gtest's
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) ")
NO_CARD = "Target application terminated before first instrumented API call"
GOOD, BAD = ("clean", "uses no card"), ("not clean", "not ended", "not begun")
LEFT_OUT = "MemoryOfCalls"  # a million calls of a process that must not grow: no sanitizer has them
ROWS = "card rows"


def runs_of(program):
    """{name: command}, of suites, and of operators' tests."""
    listed = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True)
    runs, suite = {}, ""
    for line in listed.stdout.splitlines():
        name = line.split("#")[0].rstrip()
        if not line.startswith(" "):
            suite = name
        elif not suite.startswith(LEFT_OUT):
            what = suite + (name.strip() if "Operators" in suite else "*")
            runs[what] = [str(program), f"--gtest_filter={what}", "--gtest_color=no"]
    return runs


def rows_program(folder):
    """The program of cuda_test.py, for the rows that blocks share."""
    program = pathlib.Path(folder) / "card"
    run(CC, "-std=gnu99", SOURCE / "tests/cuda/card.c", f"-I{SOURCE}", f"-I{prefix()}/include", f"-L{prefix()}/lib64",
        "-lopapi", "-lnnopbase", "-lascendcl", f"-Wl,-rpath,{prefix()}/lib64", "-o", program)
    return program


def watched(tool, command, seconds):
    """How a command ended under the tool, and what it printed."""
    if seconds <= 0:
        return "not begun", ""
    process = subprocess.Popen(["compute-sanitizer", "--tool", tool, *OPTIONS, *command], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    try:
        text, _ = process.communicate(timeout=min(seconds, 1e6))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the tool, and the program that it started
        process.wait()
        return "not ended", ""
    if NO_CARD in text and "[  PASSED  ]" in text:
        return "uses no card", text
    counts = SUMMARY.findall(text)
    return "clean" if process.returncode == 0 and counts and not any(map(int, counts)) else "not clean", text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="the gtest program")
    parser.add_argument("--filter", default="", help="only what has this in its name")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 1), help="processes at once")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for all of it")
    parser.add_argument("--results", type=pathlib.Path, help="a file of what was clean")
    options = parser.parse_args()
    results = json.loads(options.results.read_text()) if options.results and options.results.exists() else {}
    known = results.setdefault(options.tool, {})

    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        runs = {what: command for what, command in {ROWS: None, **runs_of(options.program.resolve())}.items()
                if options.filter in what}
        if ROWS in runs:
            runs[ROWS] = [str(rows_program(folder)), "rows"]

        def watch(what):
            started = time.monotonic()
            ending, text = watched(options.tool, runs[what], options.seconds - (started - began))
            print(f"{time.monotonic() - started:6.0f} s  {ending:12s}  {what}", flush=True)
            if ending == "not clean":
                print("    " + "\n    ".join(text.splitlines()[-60:]), flush=True)
            return ending

        endings = {what: known[what] for what in runs if what in known}
        others = [what for what in runs if what not in known]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            endings.update(zip(others, pool.map(watch, others)))
    known.update((what, ending) for what, ending in endings.items() if ending in GOOD)
    if options.results:
        options.results.write_text(json.dumps(results, indent=1))
    counts = {ending: list(endings.values()).count(ending) for ending in GOOD + BAD}
    print(f"{options.tool}: " + ", ".join(f"{count} {ending}" for ending, count in counts.items() if count))
    passed = sum(counts[ending] for ending in GOOD)
    print(f"{passed} passed, {len(endings) - passed} failed", flush=True)
    return 0 if endings and passed == len(endings) else 1


if __name__ == "__main__":
    sys.exit(main())
