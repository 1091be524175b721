#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What only a card shows: a failing kernel is told with its operator's name, memory runs out, blocks share long rows, two
streams overlap.  Most of it is shown on the emulated card as well; what needs two cards, or one that refuses, only
there."""
import os
import subprocess
import tempfile
import unittest

from installed import EMULATED_CARD, card_program, clean_environment, emulated_card


class OnACard:
    variables = {}

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.program = card_program(folder.name)

    def start(self, how, **more):
        environment = clean_environment(ASCEND_GLOBAL_LOG_LEVEL="4", **{**self.variables, **more})
        ended = subprocess.run([self.program, how], env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        return ended.stdout

    def test_a_failing_kernel_is_told_at_the_synchronisation_with_its_operator(self):
        for how in ("fault", "seen"):
            self.assertRegex(self.start(how), r"queued: 0\nsynchronised: 507\d\d\d .*aclnnElu")

    def test_memory_that_runs_out_leaves_everything_usable(self):
        self.assertRegex(self.start("memory"), r"(?s)full: 207001 after some blocks, .*aclrtMalloc.*\nafter: 0, 7\n")

    def test_the_process_may_end_while_threads_of_streams_do(self):
        for _ in range(20):
            self.start("leave")


@unittest.skipUnless(os.environ.get("DESCEND_DEVICE", "").startswith("cuda"), "needs ./dev test --device cuda")
class Card(OnACard, unittest.TestCase):
    def test_rows_that_blocks_share_have_the_same_bits_as_on_the_cpu(self):
        lines = self.start("rows").splitlines()
        self.assertEqual(lines, self.start("rows", DESCEND_DEVICE="cpu").splitlines())
        for line, in_place in zip(lines[::2], lines[1::2]):
            self.assertEqual(line, in_place.replace(" in place", ""))

    def test_two_streams_overlap(self):
        self.assertIn("the second began before the first ended", self.start("overlap"))


@unittest.skipUnless(EMULATED_CARD.exists(), "CUDA's headers are not here")
class EmulatedCard(OnACard, unittest.TestCase):
    variables = emulated_card()

    def test_a_host_function_may_use_another_card_than_its_streams(self):
        self.assertRegex(self.start("cards"), "the other: 0, this one: 0, 7 ")

    def test_memory_of_the_host_is_given_back_after_what_any_card_has_to_do(self):
        self.assertRegex(self.start("pinned"), "pinned: 0, 7 ")

    def test_an_address_between_two_elements_is_refused(self):
        self.assertRegex(self.start("between"),
                         "first: 161002, .*aclnnElu: self must satisfy: its data address is a multiple of its elements' "
                         "4 bytes on this device; .*, then: 0, 0")

    def test_a_card_that_had_nothing_to_give_may_be_asked_again(self):
        for what in ("device", "stream"):
            with self.subTest(what):
                self.assertRegex(self.start("again", DESCEND_EMULATED_REFUSES=what), "first: 207001, then: 0")

    def test_an_event_that_the_card_does_not_record_is_not_reached(self):
        self.assertRegex(self.start("unrecorded", DESCEND_EMULATED_REFUSES="record 1"),
                         "(?s)recorded: 0, event: 507015 asked: 507015 complete: 0, other stream: 507015, stream: 507015 "
                         ".*the card failed to record an event.*, then: 0, 0")

    def test_a_wait_whose_end_the_card_does_not_record_fails_its_stream(self):
        self.assertRegex(self.start("unwaited", DESCEND_EMULATED_REFUSES="record 2"),
                         "(?s)recorded: 0, event: 0 asked: 0 complete: 1, other stream: 507015, stream: 0 .*, then: 0, 0")

    def test_a_stream_for_which_there_is_no_memory_is_refused_until_there_is(self):
        self.assertRegex(self.start("crowded"),
                         "(?s)first: 207001, .*: aclrtCreateStream: the card has no memory left for .*, then: 0")


if __name__ == "__main__":
    unittest.main()
