#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the gtest program and the test scripts, shows what failed, and ends in one line: N passed, N failed."""
import argparse
import importlib.util
import os
import pathlib
import platform
import re
import selectors
import signal
import subprocess
import sys
import time
import unittest

SILENCE = 600  # seconds without a line of output after which a program counts as hanging
SCRIPT_RESULT = "RESULT"


class Totals:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, 0, 0

    def add(self, passed, failed, skipped=0):
        self.passed, self.failed, self.skipped = self.passed + passed, self.failed + failed, self.skipped + skipped


def lines_of(command, **options):
    """Yields the output lines of a command, then its exit status.  A command that hangs is killed: status "hangs"."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                               **options)
    waiting = selectors.DefaultSelector()
    waiting.register(process.stdout, selectors.EVENT_READ)
    rest = b""
    try:
        while True:
            if not waiting.select(SILENCE):
                yield "hangs"
                return
            block = os.read(process.stdout.fileno(), 65536)
            if not block:
                break
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace")
        if rest:
            yield rest.decode(errors="replace")
        yield process.wait(SILENCE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def ending(status):
    """An exit status in words."""
    if status == "hangs":
        return f"printed nothing for {SILENCE} s and was stopped"
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def indented(text):
    """What a test printed, without the middle if it is very long."""
    if len(text) > 120:
        text = text[:80] + [f"... {len(text) - 120} lines ..."] + text[-40:]
    return ["    " + line for line in text]


def gtest_filter(suites, text):
    """Tests of suites whose names begin so, and whose full names contain the text."""
    names = f"*{text}*" if text else "*"
    # Parameterised suites have their instance's name and a slash before their own.
    return ":".join(f"{suite}{names}:*/{suite}{names}" for suite in suites) or names


def fixed_addresses():
    """ThreadSanitizer needs a layout that newer kernels' address randomisation may not give it."""
    prefix = ["setarch", platform.machine(), "-R"]
    try:
        works = subprocess.run(prefix + ["true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        works = False
    return prefix if works else []


def run_gtest(program, pattern, prefix, totals, **variables):
    command = prefix + [str(program), f"--gtest_filter={pattern}", "--gtest_color=no"]
    running, text, status = None, [], None
    suite, counts, began = None, [0, 0], 0.0
    passed = failed = 0

    def close_suite():
        if suite:
            seconds = time.monotonic() - began
            print(f"  {suite}: {counts[0]} passed" + (f", {counts[1]} failed" if counts[1] else "") +
                  (f" ({seconds:.0f} s)" if seconds >= 5 else ""), flush=True)

    for line in lines_of(command, env={**os.environ, **variables}):
        if isinstance(line, int) or line == "hangs":
            status = line
            break
        begin = re.match(r"\[ RUN      \] (\S+)", line)
        end = re.search(r"\[  (     OK|FAILED |SKIPPED) \] (\S+?),?( |$)", line)
        if begin:
            running, text = begin[1], []
            if running.split(".")[0] != suite:
                close_suite()
                suite, counts, began = running.split(".")[0], [0, 0], time.monotonic()
        elif end and end[2] == running:
            # ThreadSanitizer reports and goes on; the test that ran then has failed.
            good = "OK" in end[1] and not any("Sanitizer: " in each for each in text)
            counts[0 if good else 1] += 1
            passed, failed = passed + good, failed + (not good)
            if not good:
                print("\n".join([f"FAILED {running}"] + indented(text)), flush=True)
            running, text = None, []
        else:
            text.append(line)
    close_suite()
    if running or (status != 0 and failed == 0):
        failed += 1
        print("\n".join([f"FAILED {running or program.name}"] + indented(text)))
        print(f"    The program {ending(status)}" + ("; what comes after did not run." if running else "."), flush=True)
    totals.add(passed, failed)


class CountingResult(unittest.TextTestResult):
    passed = 0

    def addSuccess(self, test):
        self.passed += 1
        super().addSuccess(test)


def run_script_here(script, text):
    """Runs one unittest script in this process and prints its counts last."""
    sys.path.insert(0, str(script.parent))
    specification = importlib.util.spec_from_file_location(script.stem, script)
    module = importlib.util.module_from_spec(specification)
    sys.modules[script.stem] = module
    specification.loader.exec_module(module)
    loader = unittest.TestLoader()
    if text:
        loader.testNamePatterns = [f"*{text}*"]
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=CountingResult)
    result = runner.run(loader.loadTestsFromModule(module))
    # A test with several failing subtests is one failed test.
    failed = {case.id().split(" (")[0] for case, _ in result.failures + result.errors}
    failed |= {case.id() for case in result.unexpectedSuccesses}
    print(SCRIPT_RESULT, result.passed, len(failed), len(result.skipped))


def run_script(script, text, totals):
    command = [sys.executable, "-B", __file__, "--one-script", str(script)] + (["--filter", text] if text else [])
    output, status = [], None
    for line in lines_of(command):
        if isinstance(line, int) or line == "hangs":
            status = line
        else:
            output.append(line)
    found = re.fullmatch(SCRIPT_RESULT + r" (\d+) (\d+) (\d+)", output[-1]) if output and status == 0 else None
    counts = [int(each) for each in found.groups()] if found else [0, 1, 0]
    if counts[1]:
        print("\n".join([f"FAILED {script.name}"] + indented(output)))
        if not found:
            print(f"    The script {ending(status)}.")
    if sum(counts):
        print(f"  {script.name}: {counts[0]} passed" + (f", {counts[1]} failed" if counts[1] else "") +
              (f", {counts[2]} skipped" if counts[2] else ""), flush=True)
    totals.add(*counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=pathlib.Path, help="the gtest program")
    parser.add_argument("--scripts", type=pathlib.Path, help="the folder of *_test.py")
    parser.add_argument("--filter", default="", help="only tests whose name contains this")
    parser.add_argument("--suites", default="", help="only gtest suites whose names begin so, comma-separated")
    parser.add_argument("--checked", default="", help="then these suites once more, with DESCEND_CHECK=1")
    parser.add_argument("--emulated", default="", help="then these suites once more, on the emulated card if it is built")
    parser.add_argument("--fixed-addresses", action="store_true", help="run without address randomisation")
    parser.add_argument("--one-script", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_script:
        run_script_here(options.one_script.resolve(), options.filter)
        return 0

    totals, began = Totals(), time.monotonic()
    if options.program:
        suites = [suite for suite in options.suites.split(",") if suite]
        print(f"{options.program.name}:", flush=True)
        prefix = fixed_addresses() if options.fixed_addresses else []
        run_gtest(options.program.resolve(), gtest_filter(suites, options.filter), prefix, totals)
        if options.checked:
            # Everything the checker does but speak: what the tests do wrong on purpose is not the question here.
            print(f"{options.program.name}, under the checker:", flush=True)
            run_gtest(options.program.resolve(), gtest_filter(options.checked.split(","), options.filter),
                      prefix, totals, DESCEND_CHECK="1", DESCEND_CHECK_SUPPRESS="DSC-*")
        plugins = options.program.resolve().parent / "test_plugins"
        if options.emulated and (plugins / "libdescend_emulated.so").exists():
            print(f"{options.program.name}, on the emulated card:", flush=True)
            run_gtest(options.program.resolve(), gtest_filter(options.emulated.split(","), options.filter),
                      prefix, totals, DESCEND_DEVICE="emulated", DESCEND_BACKEND_PATH=str(plugins))
    if options.scripts:
        print("scripts:", flush=True)
        for script in sorted(options.scripts.glob("*_test.py")):
            run_script(script.resolve(), options.filter, totals)
    print(f"{time.monotonic() - began:.0f} s" + (f", {totals.skipped} skipped" if totals.skipped else ""))
    if totals.passed + totals.failed == 0:
        print("No test has such a name.")
    print(f"{totals.passed} passed, {totals.failed} failed", flush=True)
    return 0 if totals.failed == 0 and totals.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
