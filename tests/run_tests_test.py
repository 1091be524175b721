#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The driver that sums up all tests counts what failed, whichever way it failed."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

DRIVER = pathlib.Path(__file__).resolve().parent / "run_tests.py"
OK = "echo -e '[ RUN      ] Sum.{0}\\n[       OK ] Sum.{0} (0 ms)'"
FAILED = "echo -e '[ RUN      ] Sum.{0}\\n3 is not 4\\n[  FAILED  ] Sum.{0} (0 ms)'"
SCRIPT = """import unittest
class Sums(unittest.TestCase):
    def test_good(self): pass
    def test_bad(self):
        for x in (1, 2):
            with self.subTest(x=x): self.assertEqual(x, 3)
"""


class Driver(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def drive(self, *options):
        done = subprocess.run([sys.executable, DRIVER, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        return done.returncode, done.stdout, done.stdout.splitlines()[-1]

    def drive_program(self, *commands):
        """Runs the driver on a program that is a shell script of these commands."""
        program = self.folder / "program"
        program.write_text("\n".join(["#!/bin/bash", *commands]) + "\n")
        program.chmod(0o755)
        return self.drive("--program", program)

    def test_all_good(self):
        code, _, last = self.drive_program(OK.format("a"), OK.format("b"))
        self.assertEqual((code, last), (0, "2 passed, 0 failed"))

    def test_a_failure_is_shown(self):
        code, output, last = self.drive_program(OK.format("a"), FAILED.format("b"), "exit 1")
        self.assertEqual((code, last), (1, "1 passed, 1 failed"))
        self.assertIn("FAILED Sum.b\n    3 is not 4\n", output)

    def test_a_crash_is_a_failure_of_the_test_that_ran(self):
        code, output, last = self.drive_program(OK.format("a"), "echo '[ RUN      ] Sum.b'", "kill -SEGV $$")
        self.assertEqual((code, last), (1, "1 passed, 1 failed"))
        self.assertIn("FAILED Sum.b\n    The program was ended by SIGSEGV", output)

    def test_a_bad_end_after_good_tests_is_a_failure(self):
        code, output, last = self.drive_program(OK.format("a"), "echo leaked", "exit 23")
        self.assertEqual((code, last), (1, "1 passed, 1 failed"))
        self.assertIn("leaked", output)

    def test_a_report_of_a_sanitizer_is_a_failure_of_the_test_that_ran(self):
        race = OK.format("b").replace("\\n", "\\nWARNING: ThreadSanitizer: data race\\n")
        code, output, last = self.drive_program(OK.format("a"), race, "exit 66")
        self.assertEqual((code, last), (1, "1 passed, 1 failed"))
        self.assertIn("data race", output)

    def test_a_skipped_test_is_a_failure(self):
        skipped = OK.format("a").replace("     OK", "SKIPPED")
        code, _, last = self.drive_program(skipped)
        self.assertEqual((code, last), (1, "0 passed, 1 failed"))

    def test_nothing_that_ran_is_no_success(self):
        code, _, last = self.drive_program("exit 0")
        self.assertEqual((code, last), (1, "0 passed, 0 failed"))

    def test_scripts_are_counted_by_test_and_a_broken_one_is_a_failure(self):
        (self.folder / "sums_test.py").write_text(SCRIPT)
        (self.folder / "broken_test.py").write_text("import nothing_of_this_name\n")
        code, output, last = self.drive("--scripts", self.folder)
        self.assertEqual((code, last), (1, "1 passed, 2 failed"))
        self.assertIn("nothing_of_this_name", output)
        code, _, last = self.drive("--scripts", self.folder, "--filter", "test_good")
        self.assertEqual((code, last), (1, "1 passed, 1 failed"))


if __name__ == "__main__":
    unittest.main()
