#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests on a GPU under one of compute-sanitizer's tools, several processes at once, and says what it found.

A process has a suite of tests, or one test where they are operators', which take longest, or the digests of a function.
With --results what was clean is written down, and not run again as long as the program and the plug-in are the same.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from installed import SOURCE, card_program

TOOLS = ("memcheck", "racecheck", "initcheck")
OPTIONS = ["--show-backtrace", "no", "--print-limit", "20"]  # the kernel is named; the host's stack is gtest's
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) ")
NO_CARD = "Target application terminated before first instrumented API call"
GOOD, BAD = ("clean", "uses no card", "known"), ("not clean", "not ended", "not begun")
LEFT_OUT = "MemoryOfCalls"  # a million calls of a process that must not grow: no sanitizer has them
ROWS = "card rows"
# Takes results for unwritten that are right, where threads allocate and free in turn, and what is copied in bulk.
KNOWN = {("initcheck", "ThreadsOfOperators.each_with_its_own_objects_and_stream"), ("initcheck", ROWS)}
running, writing = set(), threading.Lock()


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


def digests_of(program):
    """{name: command}, of the functions that have digests."""
    files = SOURCE.glob("ops/*/*_bits.txt")
    functions = sorted({line.split()[1] for file in files for line in file.read_text().splitlines()})
    return {f"bits {function}": [str(program), "--source", str(SOURCE), "--filter", function + " "]
            for function in functions}


def watched(tool, what, command, seconds):
    """How a command ended under the tool, and what it printed."""
    if seconds <= 0:
        return "not begun", ""
    process = subprocess.Popen(["compute-sanitizer", "--tool", tool, *OPTIONS, *command], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    running.add(process)
    try:
        text, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        stop(process)
        return "not ended", ""
    finally:
        running.discard(process)
    counts = [int(count) for count in SUMMARY.findall(text)]
    if counts:
        ending = "clean" if process.returncode == 0 and not any(counts) else "not clean"
    else:  # of operators each test uses the card
        no_card = NO_CARD in text and re.search(r"\[  PASSED  \] [1-9]", text) and "[  FAILED  ]" not in text
        ending = "uses no card" if no_card and "Operators" not in what else "not clean"
    return "known" if ending == "not clean" and (tool, what) in KNOWN and "[  FAILED  ]" not in text else ending, text


def stop(process):
    """Ends the tool, and the program that it started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="the gtest program")
    parser.add_argument("--filter", default="", help="only what has this in its name")
    parser.add_argument("--jobs", type=int, default=min(15, max(1, (os.cpu_count() or 2) - 1)), help="at once")
    parser.add_argument("--seconds", type=float, default=3600, help="what has not ended by then is stopped")
    parser.add_argument("--results", type=pathlib.Path, help="a file of what was clean")
    options = parser.parse_args()
    if not os.environ.get("DESCEND_DEVICE", "").startswith("cuda"):
        parser.error("DESCEND_DEVICE must name a card, such as cuda: what runs elsewhere the tools do not see")
    program = options.program.resolve()
    built = hashlib.sha256()
    for file in (program, program.parent / "lib64/libdescend_cuda.so"):
        built.update(file.read_bytes() if file.exists() else b"")
    results = json.loads(options.results.read_text()) if options.results and options.results.exists() else {}
    if results.get("built") != built.hexdigest():
        results = {"built": built.hexdigest()}
    known = results.setdefault(options.tool, {})

    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        runs = {ROWS: None, **digests_of(program.parent / "descend_bits"), **runs_of(program)}
        runs = {what: command for what, command in runs.items() if options.filter in what}
        if ROWS in runs:
            runs[ROWS] = [str(card_program(folder)), "rows"]

        def watch(what):
            started = time.monotonic()
            ending, text = watched(options.tool, what, runs[what], options.seconds - (started - began))
            print(f"{time.monotonic() - started:6.0f} s  {ending:12s}  {what}", flush=True)
            if ending == "not clean":
                print("    " + "\n    ".join(text.splitlines()[-60:]), flush=True)
            if ending in GOOD and options.results:
                with writing:
                    known[what] = ending
                    options.results.write_text(json.dumps(results, indent=1))
            return ending

        endings = {what: known[what] for what in runs if what in known}
        others = [what for what in runs if what not in known]
        pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
        try:
            endings.update(zip(others, pool.map(watch, others)))
        finally:  # also when the user has had enough
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(running):
                stop(process)
    counts = {ending: list(endings.values()).count(ending) for ending in GOOD + BAD}
    print(f"{options.tool}: " + ", ".join(f"{count} {ending}" for ending, count in counts.items() if count))
    passed = sum(counts[ending] for ending in GOOD)
    print(f"{passed} passed, {len(endings) - passed} failed", flush=True)
    return 0 if endings and passed == len(endings) else 1


if __name__ == "__main__":
    sys.exit(main())
