#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The results' bits are those written down in ops/*/*_bits.txt, on every SIMD target of this processor."""
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from installed import EMULATED_CARD, SOURCE, clean_environment, emulated_card

PROGRAM = pathlib.Path(os.environ.get("DESCEND_BUILD", "")) / "descend_bits"


def run(*options, **variables):
    environment = clean_environment(**{"DESCEND_DEVICE": "cpu", **variables})
    result = subprocess.run([PROGRAM, *map(str, options)], env=environment, capture_output=True, text=True)
    print(*options, *(f"{name}={value}" for name, value in variables.items()), "ended", flush=True)  # it goes on
    return result


def functions():
    """Those that have digests, the ones with most first."""
    lines = [line for path in SOURCE.glob("ops/*/*_bits.txt") for line in path.read_text().splitlines()]
    return [name for name, _ in collections.Counter(line.split()[1] for line in lines).most_common()]


TESTED_DEVICE = os.environ.get("DESCEND_DEVICE", "cpu")


class Bits(unittest.TestCase):
    """Most of its time a run has one thread: as many run at once as there are cores, the longest first."""

    @classmethod
    def setUpClass(cls):
        cls.pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
        start = lambda *options, **variables: cls.pool.submit(run, *options, **variables)
        cls.on_emulated_card, cls.on_tested_device = [], []
        if EMULATED_CARD.exists():
            any_order, less_memory = ({**emulated_card(), "DESCEND_EMULATED_ORDER": order} for order in "21")
            cls.on_emulated_card = [
                *(start("--filter", name + " ", **any_order) for name in functions()),
                start("--exact", "--filter", "aclnnCrossEntropyLossGrad", **any_order),
                *(start("--exact", "--filter", what, **less_memory)
                  for what in ("SmoothL1Loss", "NLLLoss", "aclnnCrossEntropyLoss FLOAT16 [1109,",
                               "aclnnCrossEntropyLoss FLOAT16 [2100,1301]", "aclnnCrossEntropyLoss FLOAT [2100,601]"))]
        cls.on_every_target = start()
        if TESTED_DEVICE != "cpu":
            cls.on_tested_device = [start(DESCEND_DEVICE=TESTED_DEVICE)]
        cls.twice = start("--twice", "--exact")
        cls.by_threads = [start("--targets", "SCALAR", DESCEND_THREADS=threads) for threads in ("1", "2", "3", "7")]

    @classmethod
    def tearDownClass(cls):
        cls.pool.shutdown(cancel_futures=True)

    def all_pass(self, *runs):
        for result in (each.result() for each in runs):
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_are_those_written_down(self):
        self.all_pass(self.on_every_target)
        targets = re.findall(r"^  \w+: ", self.on_every_target.result().stdout, re.M)
        self.assertGreaterEqual(len(targets), 2, "SCALAR is always there too")

    def test_are_the_same_on_the_device_that_is_tested(self):
        self.all_pass(*self.on_tested_device or [self.on_every_target])

    @unittest.skipUnless(EMULATED_CARD.exists(), "CUDA's headers are not here")
    def test_are_the_same_of_cuda_kernels_on_the_host(self):
        self.all_pass(*self.on_emulated_card)

    @unittest.skipUnless(EMULATED_CARD.exists(), "CUDA's headers are not here")
    def test_cuda_kernels_on_the_host_agree_with_the_reference_where_digests_do_not_look(self):
        # NaN, infinities and the ends of the range.
        tests = ":".join(f"*Operators.*{name}*" for name in ("nan", "infinit", "number", "landmarks"))
        environment = clean_environment(DESCEND_EMULATED_ORDER="2", **emulated_card())
        result = subprocess.run([PROGRAM.parent / "descend_tests", f"--gtest_filter={tests}", "--gtest_brief=1"],
                                env=environment, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout[-4000:] + result.stderr[-4000:])
        self.assertGreater(int(re.search(r"PASSED  \] (\d+) test", result.stdout)[1]), 20)

    def test_do_not_depend_on_the_number_of_threads(self):
        self.all_pass(*self.by_threads)

    def test_need_no_workspace_and_no_memory_after_the_first_call(self):
        self.all_pass(self.twice)

    def test_every_operator_has_some(self):
        for folder in sorted((SOURCE / "ops").iterdir()):
            digests = (folder / f"{folder.name}_bits.txt").read_text()
            for header in folder.glob("include/aclnnop/*.h"):
                for function in re.findall(r"(aclnn\w+)GetWorkspaceSize\(", header.read_text()):
                    # What works in place gives the bits of what does not.
                    self.assertIn(f"  {function.replace('Inplace', '')} ", digests)

    def test_another_bit_is_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(SOURCE / "ops", f"{folder}/ops", ignore=lambda _, names: [
                name for name in names if "." in name and not name.endswith("_bits.txt")])
            path = pathlib.Path(folder, "ops", "elu", "elu_bits.txt")
            lines = path.read_text().splitlines()
            changed = lines[0].translate(str.maketrans("0123456789abcdef", "1032547698badcfe"))[:16] + lines[0][16:]
            for what, others in [("is", [changed] + lines[1:]), ("not written down", lines[1:]),
                                 ("no such case", lines + ["0123456789abcdef  aclnnElu of nothing"])]:
                path.write_text("\n".join(others) + "\n")
                result = run("--source", folder, "--filter", "aclnnElu ", "--targets", "SCALAR")
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertRegex(result.stdout, f"FAILED aclnnElu .*{what}")
                self.assertRegex(result.stdout, r"\n[1-9]\d* passed, [1-9]\d* failed\n$")


if __name__ == "__main__":
    unittest.main()
