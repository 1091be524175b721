#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What runs the tests under compute-sanitizer counts what was clean and nothing else; the tool here is a stand-in."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "card_sanitizer.py"
# Runs the program behind its options and sums up as the name in the filter asks for.
TOOL = """#!/bin/bash
echo "$*" >>"$0.log"
while [[ $1 != */program ]]; do shift; done
"$@"
status=$?
case "$*" in
  *reported*) echo "========= ERROR SUMMARY: 3 errors" ;;
  *racing*) echo "========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)" ;;
  *OnHost* | *nowhere*) echo "========= Error: Target application terminated before first instrumented API call"; exit 255 ;;
  *silent*) ;;
  *) echo "========= ERROR SUMMARY: 0 errors" ;;
esac
exit $status
"""
PROGRAM = """#!/bin/bash
case "$*" in
  *list_tests*)
    printf '%s\\n' Some. '  one' '  two' OnHost. '  one' OnHostBroken. '  one' MemoryOfCalls. '  million' \
      each/SumOperators. '  reported/x  # of a parameter' '  racing' '  silent' '  failing' '  slow' '  nowhere' '  good' \
      ThreadsOfOperators. '  each_with_its_own_objects_and_stream' ;;
  *failing* | *Broken*) printf '%s\\n' '[  PASSED  ] 0 tests.' '[  FAILED  ] 1 test, listed below:'; exit 1 ;;
  *slow*) sleep 60 ;;
  *) echo '[  PASSED  ] 1 test.' ;;
esac
"""


class CardSanitizer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in (("compute-sanitizer", TOOL), ("program", PROGRAM)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)

    def watch(self, text, *options, tool="memcheck", device="cuda"):
        """What the script says of runs with the text in their names: how each ended, its last line, its status."""
        command = [sys.executable, "-B", SCRIPT, tool, "--program", self.folder / "program", "--filter", text]
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "DESCEND_DEVICE": device}
        done = subprocess.run([*command, *options], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=50)
        endings = dict(re.findall(r"^ +\d+ s  (\S.*?\S)  +(\S.*)$", done.stdout, re.M))
        return endings, done.stdout.splitlines()[-1], done.returncode

    def test_a_suite_is_a_run_and_what_uses_no_card_is_good(self):
        self.assertEqual(self.watch("Some"), ({"clean": "Some.*"}, "1 passed, 0 failed", 0))
        self.assertEqual(self.watch("OnHost."), ({"uses no card": "OnHost.*"}, "1 passed, 0 failed", 0))
        self.assertEqual(self.watch("OnHostB"), ({"not clean": "OnHostBroken.*"}, "0 passed, 1 failed", 1))

    def test_of_operators_each_test_is_a_run_and_only_a_summary_of_0_is_clean(self):
        for name in ("reported/x", "racing", "silent", "failing", "nowhere"):
            with self.subTest(name):
                self.assertEqual(self.watch(name),
                                 ({"not clean": f"each/SumOperators.{name}"}, "0 passed, 1 failed", 1))
        self.assertEqual(self.watch("good"), ({"clean": "each/SumOperators.good"}, "1 passed, 0 failed", 0))

    def test_what_does_not_end_in_time_is_stopped_and_failed(self):
        self.assertEqual(self.watch("slow", "--seconds", "4"),
                         ({"not ended": "each/SumOperators.slow"}, "0 passed, 1 failed", 1))
        self.assertEqual(self.watch("good", "--seconds", "0"),
                         ({"not begun": "each/SumOperators.good"}, "0 passed, 1 failed", 1))

    def test_what_was_clean_is_not_run_again(self):
        results = self.folder / "results.json"
        for text in ("good", "reported", "good", "reported"):
            self.watch(text, "--results", results)
        ran = (self.folder / "compute-sanitizer.log").read_text().splitlines()
        self.assertEqual([("good" in line, "reported" in line) for line in ran],
                         [(True, False), (False, True), (False, True)])
        self.assertEqual(self.watch("good", "--results", results)[1:], ("1 passed, 0 failed", 0))

    def test_what_was_clean_of_another_program_is(self):
        results = self.folder / "results.json"
        self.watch("good", "--results", results)
        (self.folder / "program").write_text(PROGRAM + "\n")
        self.watch("good", "--results", results)
        self.assertEqual(len((self.folder / "compute-sanitizer.log").read_text().splitlines()), 2)

    def test_a_known_report_of_initcheck_is_named_and_no_other_tools(self):
        name = "ThreadsOfOperators.each_with_its_own_objects_and_stream"
        reports = TOOL.replace("*reported*", "*objects*")
        (self.folder / "compute-sanitizer").write_text(reports)
        self.assertEqual(self.watch("objects", tool="initcheck"), ({"known": name}, "1 passed, 0 failed", 0))
        self.assertEqual(self.watch("objects"), ({"not clean": name}, "0 passed, 1 failed", 1))

    def test_digests_of_each_function_are_runs(self):
        (self.folder / "descend_bits").write_text("#!/bin/bash\n[[ $* == *'--filter aclnnElu ' ]]\n")
        (self.folder / "descend_bits").chmod(0o755)
        (self.folder / "compute-sanitizer").write_text(TOOL.replace("*/program", "*/descend_bits"))
        endings, last, status = self.watch("bits aclnnElu")
        self.assertEqual((endings, last, status), ({"clean": "bits aclnnElu", "not clean": "bits aclnnEluBackward"},
                                                   "1 passed, 1 failed", 1))

    def test_without_a_card_nothing_is_said(self):
        for device in ("cpu", "emulated", ""):
            self.assertEqual(self.watch("good", device=device)[::2], ({}, 2))

    def test_nothing_is_no_success(self):
        self.assertEqual(self.watch("MemoryOfCalls"), ({}, "0 passed, 0 failed", 1))


if __name__ == "__main__":
    unittest.main()
