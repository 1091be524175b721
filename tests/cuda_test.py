#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What only a card shows: a failing kernel is told with its operator's name, memory runs out, blocks share long rows, two
streams overlap."""
import os
import subprocess
import tempfile
import unittest

from installed import card_program, clean_environment


@unittest.skipUnless(os.environ.get("DESCEND_DEVICE", "").startswith("cuda"), "needs ./dev test --device cuda")
class Card(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.program = card_program(folder.name)

    def start(self, how, **more):
        environment = clean_environment(ASCEND_GLOBAL_LOG_LEVEL="4", **more)
        ended = subprocess.run([self.program, how], env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        return ended.stdout

    def test_a_failing_kernel_is_told_at_the_synchronisation_with_its_operator(self):
        self.assertRegex(self.start("fault"), r"queued: 0\nsynchronised: 507\d\d\d .*aclnnElu")

    def test_memory_that_runs_out_leaves_everything_usable(self):
        self.assertRegex(self.start("memory"), r"(?s)full: 207001 after some blocks, .*aclrtMalloc.*\nafter: 0, 7\n")

    def test_rows_that_blocks_share_have_the_same_bits_as_on_the_cpu(self):
        lines = self.start("rows").splitlines()
        self.assertEqual(lines, self.start("rows", DESCEND_DEVICE="cpu").splitlines())
        for line, in_place in zip(lines[::2], lines[1::2]):
            self.assertEqual(line, in_place.replace(" in place", ""))

    def test_two_streams_overlap(self):
        self.assertIn("the second began before the first ended", self.start("overlap"))

    def test_the_process_may_end_while_threads_of_streams_do(self):
        for _ in range(20):
            self.start("leave")


if __name__ == "__main__":
    unittest.main()
