#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every function on the device `reference`, through the same C functions as on any other."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from installed import CC, SOURCE, clean_environment, prefix, run

TESTS = pathlib.Path(os.environ.get("DESCEND_BUILD", "")) / "descend_tests"
# The gradient of the upsampling is held to the bits of sums in float, and the reference adds in double.
CHOSEN = "*Operators.*agree*dtypes*-UpsampleNearest3dOperators.gradient*"


class Reference(unittest.TestCase):
    def test_operators_agree_with_their_formulas(self):
        result = subprocess.run([TESTS, f"--gtest_filter={CHOSEN}"], env=clean_environment(DESCEND_DEVICE="reference"),
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        suites = set(re.findall(r"\[       OK \] (\w+)\.", result.stdout))
        self.assertEqual(len(suites), len(list((SOURCE / "ops").iterdir())), suites)

    def test_the_mode_of_the_threads_changes_nothing(self):
        result = subprocess.run([TESTS, "--gtest_filter=FloatMode.*"], env=clean_environment(DESCEND_DEVICE="reference"),
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"\[  PASSED  \] [1-9]")

    def test_examples_print_what_they_should(self):
        with tempfile.TemporaryDirectory() as folder:
            for source in sorted(SOURCE.glob("ops/*/*_example.c")):
                with self.subTest(source=source.name):
                    program = pathlib.Path(folder, source.stem)
                    run(CC, "-std=c99", "-O2", source, f"-I{prefix()}/include", f"-L{prefix()}/lib64", "-lopapi",
                        "-lnnopbase", "-lascendcl", "-lm", "-o", program)
                    environment = clean_environment(LD_LIBRARY_PATH=f"{prefix()}/lib64", DESCEND_DEVICE="reference")
                    result = subprocess.run([program], env=environment, capture_output=True, text=True)
                    self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                    self.assertIn(" correct ", result.stdout)


if __name__ == "__main__":
    unittest.main()
