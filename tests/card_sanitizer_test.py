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
  *OnHost*) echo "========= Error: Target application terminated before first instrumented API call"; exit 255 ;;
  *silent*) ;;
  *) echo "========= ERROR SUMMARY: 0 errors" ;;
esac
exit $status
"""
PROGRAM = """#!/bin/bash
case "$*" in
  *list_tests*)
    printf '%s\\n' Some. '  one' '  two' OnHost. '  one' MemoryOfCalls. '  million' each/SumOperators. \
      '  reported/x  # of a parameter' '  racing' '  silent' '  failing' '  slow' '  good' ;;
  *failing*) echo '[  FAILED  ] 1 test.'; exit 1 ;;
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

    def watch(self, text, *options):
        """What the script says of runs with the text in their names: how each ended, its last line, its status."""
        command = [sys.executable, "-B", SCRIPT, "memcheck", "--program", self.folder / "program", "--filter", text]
        done = subprocess.run([*command, *options], env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=50)
        endings = dict(re.findall(r"^ +\d+ s  (\S.*?\S) +(\S+)$", done.stdout, re.M))
        return endings, done.stdout.splitlines()[-1], done.returncode

    def test_a_suite_is_a_run_and_what_uses_no_card_is_good(self):
        self.assertEqual(self.watch("Some"), ({"clean": "Some.*"}, "1 passed, 0 failed", 0))
        self.assertEqual(self.watch("OnHost"), ({"uses no card": "OnHost.*"}, "1 passed, 0 failed", 0))

    def test_of_operators_each_test_is_a_run_and_only_a_summary_of_0_is_clean(self):
        for name in ("reported/x", "racing", "silent", "failing"):
            with self.subTest(name):
                self.assertEqual(self.watch(name),
                                 ({"not clean": f"each/SumOperators.{name}"}, "0 passed, 1 failed", 1))
        self.assertEqual(self.watch("good"), ({"clean": "each/SumOperators.good"}, "1 passed, 0 failed", 0))

    def test_what_does_not_end_in_time_is_stopped_and_failed(self):
        self.assertEqual(self.watch("slow", "--seconds", "1"),
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

    def test_nothing_is_no_success(self):
        self.assertEqual(self.watch("MemoryOfCalls"), ({}, "0 passed, 0 failed", 1))


if __name__ == "__main__":
    unittest.main()
